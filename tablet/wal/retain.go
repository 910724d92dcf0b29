package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
)

// Flushed says that a tablet's entries of all sessions up to that one are in files, and that the manifest says so on
// stable storage.
func (l *Log) Flushed(tablet, session uint64) {
	for _, s := range l.segments {
		if s.sessions[tablet] <= session {
			delete(s.sessions, tablet)
		}
	}
	for i := range l.pending {
		if p := &l.pending[i]; p.of.Tablet == tablet && p.of.Session <= session {
			p.filed = true
		}
	}
}

// Dropped says that a tablet is gone, and that the manifest says so on stable storage.
func (l *Log) Dropped(tablet uint64) { l.Flushed(tablet, math.MaxUint64) }

// Obsolete lists the oldest segments that nobody needs, ascending: those before the first that is needed or current.
func (l *Log) Obsolete() (numbers []uint64) {
	for _, s := range l.segments {
		if s.keptFor(l.current) {
			break
		}
		if !s.removed {
			numbers = append(numbers, s.number)
		}
	}
	return numbers
}

func (s *segment) keptFor(current *segment) bool {
	return s == current || s.loose || len(s.sessions) > 0
}

// Trim removes the obsolete segments and returns their numbers. On an error some may be gone; the next call goes on.
func (l *Log) Trim() (removed []uint64, err error) {
	for _, s := range l.segments {
		if s.keptFor(l.current) {
			break
		}
		if err := l.fs.Remove(Name(s.number)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("remove log segment: %w", err)
		}
		s.removed = true
		removed = append(removed, s.number)
	}
	if len(removed) == 0 {
		return nil, nil
	}
	if err := l.syncDir(); err != nil {
		return nil, err
	}
	return removed, nil
}

// Referenced lists the tablets, ascending, that need a segment older than the newest MaxReferenced: once they are flushed,
// Trim leaves no more than that.
func (l *Log) Referenced() []uint64 {
	there := 0
	for _, s := range l.segments {
		if !s.removed {
			there++
		}
	}
	tablets := map[uint64]bool{}
	for _, s := range l.segments {
		if there <= l.opts.MaxReferenced {
			break
		}
		for t := range s.sessions {
			tablets[t] = true
		}
		if !s.removed {
			there--
		}
	}
	return slices.Sorted(maps.Keys(tablets))
}

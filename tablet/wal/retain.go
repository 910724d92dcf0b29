package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
}

// Dropped says that a tablet is gone, and that the manifest says so on stable storage.
func (l *Log) Dropped(tablet uint64) {
	for _, s := range l.segments {
		delete(s.sessions, tablet)
	}
}

// Obsolete lists the oldest segments that nobody needs, ascending: those before the first that is needed or current.
func (l *Log) Obsolete() (numbers []uint64) {
	for _, s := range l.segments {
		if s == l.current || len(s.sessions) > 0 {
			break
		}
		if !s.removed {
			numbers = append(numbers, s.number)
		}
	}
	return numbers
}

// Trim removes the obsolete segments and returns their numbers. On an error some may be gone; the next call goes on.
func (l *Log) Trim() (removed []uint64, err error) {
	obsolete := l.Obsolete()
	if len(obsolete) == 0 {
		return nil, nil
	}
	for _, s := range l.segments {
		if !slices.Contains(obsolete, s.number) {
			continue
		}
		if err := l.fs.Remove(Name(s.number)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("remove log segment: %w", err)
		}
		s.removed = true
	}
	if err := l.syncDir(); err != nil {
		return nil, err
	}
	return obsolete, nil
}

// Referenced lists the tablets, ascending, that need a segment older than the newest MaxReferenced: once they are flushed,
// Trim leaves no more than that.
func (l *Log) Referenced() []uint64 {
	old := len(l.segments) - l.opts.MaxReferenced
	tablets := map[uint64]bool{}
	for i := 0; i < old; i++ {
		for t := range l.segments[i].sessions {
			tablets[t] = true
		}
	}
	return slices.Sorted(maps.Keys(tablets))
}

package wal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"millrace/internal/record"
	"millrace/internal/vfs"
)

// segment is one file of the log, from its first byte to its removal.
type segment struct {
	earlier // synced, end, needed: as told once it is not the current one any more

	// sessions are the highest of each tablet that is in no file and, in this segment, on stable storage.
	sessions map[uint64]uint64
	used     bool // something in it was acknowledged, or may have been
	loose    bool // given up, and what is pending may stand nowhere else yet
	removed  bool // its name was removed, though perhaps not on stable storage

	// Of the current segment only:
	file    vfs.File
	w       *record.Writer
	began   time.Time
	started int64 // bytes that are on their way to stable storage, or there
}

// startBytes is how much is written before it is started on its way to stable storage, unless a sync comes first.
const startBytes = 1 << 20

// start has the system begin with what was written, so that the sync to come, when too much is not on stable storage, is
// short: all who write wait for it. It stops at the end of a page, since the rest of one that is on its way is written again.
func (s *segment) start() {
	if end := s.w.Size() &^ 4095; end-s.started >= startBytes {
		vfs.StartSync(s.file, s.started, end-s.started)
		s.started = end
	}
}

func (s *segment) needs(t TabletSession) {
	s.sessions[t.Tablet] = max(s.sessions[t.Tablet], t.Session)
}

// begin creates the next segment. Its first record waits to be written with what is pending.
func (l *Log) begin(now time.Time) error {
	s := &segment{earlier: earlier{number: l.opts.NextNumber()}, sessions: map[uint64]uint64{}, began: now}
	name := Name(s.number)
	f, err := l.fs.Create(name)
	if err != nil {
		if !errors.Is(err, fs.ErrExist) {
			l.fs.Remove(name) // it may be there nevertheless, and the number is ours alone
		}
		return fmt.Errorf("begin log segment: %w", err)
	}
	s.file, s.w = f, record.NewWriter(f, record.Header{Kind: record.Log, Version: version, Number: s.number})
	if _, err := s.w.Append(appendBegin(nil, l.beginRecord(s.number))); err != nil {
		f.Close()
		l.fs.Remove(name)
		return fmt.Errorf("begin log segment: %w", err)
	}
	l.segments = append(l.segments, s)
	l.current, l.written = s, 0
	return nil
}

// beginRecord is what the segment of that number says first.
func (l *Log) beginRecord(number uint64) *begin {
	b := &begin{}
	for _, s := range l.segments {
		if s.removed {
			continue
		}
		e := s.earlier
		e.needed = sorted(s.sessions)
		b.earlier = append(b.earlier, e)
	}
	for i := range l.voids {
		if l.voids[i].told == 0 {
			l.voids[i].told = number
		}
		b.voids = append(b.voids, l.voids[i].Void)
	}
	return b
}

func sorted(sessions map[uint64]uint64) []TabletSession {
	var all []TabletSession
	for t, s := range sessions {
		all = append(all, TabletSession{t, s})
	}
	slices.SortFunc(all, func(a, b TabletSession) int { return cmp.Compare(a.Tablet, b.Tablet) })
	return all
}

// abandon gives up the current segment after a failed write or sync. One in which nothing counts is removed.
func (l *Log) abandon() {
	s := l.current
	l.current, l.written = nil, 0
	s.synced = s.w.Synced()
	s.leave()
	if s.used {
		s.loose = true
		return
	}
	s.synced = 0
	err := l.fs.Remove(Name(s.number))
	s.removed = err == nil
}

// leave closes the file. Its content is what Write and Sync said it is.
func (s *segment) leave() {
	s.file.Close()
	s.file, s.w = nil, nil
}

// roll seals the current segment if it is full or old, and leaves it to the next write to begin another. If that fails,
// what is not on stable storage is pending again.
func (l *Log) roll(now time.Time) {
	s := l.current
	if s == nil {
		return
	}
	if s.began.IsZero() { // New was not told the time
		s.began = now
	}
	if s.w.Size() >= l.opts.MaxBytes || now.Sub(s.began) >= l.opts.MaxAge {
		l.seal()
	}
}

func (l *Log) seal() error {
	s := l.current
	l.syncs++
	if err := s.w.Seal(); err != nil {
		l.abandon()
		return fmt.Errorf("seal log segment: %w", err)
	}
	s.synced = s.w.Size()
	l.firm(l.written)
	l.current = nil
	s.leave()
	return nil
}

// syncDir makes names durable: of segments begun, and that others are gone.
func (l *Log) syncDir() error {
	if err := l.fs.SyncDir(Dir); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	l.segments = slices.DeleteFunc(l.segments, func(s *segment) bool { return s.removed })
	l.dropVoids()
	return nil
}

// dropVoids drops the voids told by a segment that is older than all others: what they name can be in none.
func (l *Log) dropVoids() {
	l.voids = slices.DeleteFunc(l.voids, func(v voided) bool {
		return v.told != 0 && (len(l.segments) == 0 || v.told <= l.segments[0].number)
	})
}

// makeDir makes the directory of the segments.
func (l *Log) makeDir() error {
	_, err := l.fs.Stat(Dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := l.fs.MkdirAll(Dir); err != nil {
		return err
	}
	return l.fs.SyncDir(".")
}

// adopt takes over the segments of a log that was replayed. What may not be on stable storage in them is pending, since a
// file of an earlier process cannot be trusted to become so.
func (l *Log) adopt(r *Report) {
	l.nextLSN = max(l.nextLSN, r.NextLSN)
	for i := range r.Segments {
		from := &r.Segments[i]
		sessions := map[uint64]uint64{}
		for _, t := range from.Needed {
			sessions[t.Tablet] = t.Session
		}
		s := &segment{sessions: sessions, used: true, loose: len(r.tail) > 0,
			earlier: earlier{number: from.Number, synced: from.Synced}}
		if !from.Sealed {
			s.end = from.End
		}
		l.segments = append(l.segments, s)
	}
	for _, v := range r.Voids {
		l.voids = append(l.voids, voided{Void: v})
	}
	for _, t := range r.tail {
		start := len(l.bytes)
		l.bytes = append(l.bytes, t.record...)
		l.pending = append(l.pending, pending{start: start, end: len(l.bytes), lsn: t.lsn, of: t.of, acknowledged: true})
	}
}

// settleIn puts on stable storage what was taken over: the records that may not be, and that segments are gone which
// Replay did not find.
func (l *Log) settleIn(now time.Time) {
	var err error
	if len(l.pending) > 0 {
		err = l.write(now)
	} else {
		err = l.syncDir()
	}
	if err != nil {
		l.refusal = &RefusedError{Err: err}
	}
}

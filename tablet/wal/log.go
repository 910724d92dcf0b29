package wal

import (
	"fmt"
	"slices"
	"time"

	"millrace/internal/record"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// version is of the records of a segment.
//
//	1  the first
const version = 1

// Log appends entries. One goroutine owns it.
//
// What is not known to be on stable storage stays in memory, so that it can be written again when a write or a sync of a
// segment fails. So an entry may stand in two segments; by its LSN it counts once.
type Log struct {
	fs   vfs.FS
	opts Options

	nextLSN uint64
	// pending are the records not on stable storage, by LSN; the first written of them are in the current segment.
	pending []pending
	bytes   []byte // of the pending records, one behind the other
	written int

	current  *segment // nil until something is to be written
	segments []*segment
	voids    []voided
	refusal  error // why nothing is taken
	closed   bool

	syncs, writes int64
}

// pending is one record not on stable storage.
type pending struct {
	start, end int // in Log.bytes
	lsn        uint64
	of         TabletSession
	level      tablet.Durability
	// acknowledged says that the caller relies on it: at level log from the start, else since its commit.
	acknowledged bool
	filed        bool // in a file meanwhile: it makes no segment needed
}

// voided is a void, and the segment whose first record told it first; 0 if none has.
type voided struct {
	Void
	told uint64
}

// New makes a log that goes on where Recovered ends. It makes the directory if need be. What Replay gave and what may not be
// on stable storage is written into a new segment, so that nobody sees anything that a power cut can take away; should
// that fail, the log refuses entries until Heal succeeds.
func New(fsys vfs.FS, o Options) (*Log, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	l := &Log{fs: fsys, opts: o.withDefaults()}
	l.nextLSN = l.opts.NextLSN
	if err := l.makeDir(); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	if o.Recovered != nil {
		l.adopt(o.Recovered)
	}
	l.settleIn(o.Now)
	return l, nil
}

// growBytes is from what length on the buffer of pending records is doubled.
const growBytes = 256 << 10

// Append takes an entry into the log's memory and gives it its LSN. The mutations are copied. At level log the entry is
// acknowledged with that; at flush and sync by the next Commit. The level is one of these three. While the log refuses,
// the error is a *RefusedError.
func (l *Log) Append(e *Entry, level tablet.Durability) error {
	switch {
	case l.closed:
		return fmt.Errorf("log: %w", tablet.ErrClosed)
	case l.refusal != nil:
		return l.refusal
	case level < tablet.DurabilityLog || level > tablet.DurabilitySync:
		return fmt.Errorf("log: level %v cannot be logged: %w", level, tablet.ErrUsage)
	}
	e.LSN = l.nextLSN
	start := len(l.bytes)
	if start == cap(l.bytes) || start > growBytes && cap(l.bytes)-start < growBytes {
		l.bytes = slices.Grow(l.bytes, max(start, 4<<10)) // twice as much: append would grow, and copy, by quarters
	}
	l.bytes = appendEntry(l.bytes, e)
	if n := len(l.bytes) - start; int64(n) > record.MaxPayload {
		l.bytes = l.bytes[:start]
		return fmt.Errorf("log: entry of %d bytes: %w", n, tablet.ErrUsage)
	}
	l.nextLSN++
	l.pending = append(l.pending, pending{start: start, end: len(l.bytes), lsn: e.LSN,
		of: TabletSession{e.Tablet, e.Session}, level: level, acknowledged: level == tablet.DurabilityLog})
	return nil
}

// Commit writes what was appended since the last one and syncs if an entry of the group wants it. From a nil error on
// each entry of the group is as safe as its level says. On an error a new segment was tried as well: no entry of the group
// at level flush or sync is acknowledged, and none comes back once Heal succeeds; the error is a *RefusedError. Before
// that, a full or old segment is sealed. now is the time; it only matters for a segment's age.
func (l *Log) Commit(now time.Time) error {
	switch {
	case l.closed:
		return fmt.Errorf("log: %w", tablet.ErrClosed)
	case l.refusal != nil:
		return l.refusal
	}
	l.roll(now)
	if l.written == len(l.pending) {
		return nil
	}
	first := l.write(now)
	if first == nil {
		return nil
	}
	if again := l.write(now); again != nil {
		return l.refuse(first, again)
	}
	return nil
}

// Heal tries once to begin a segment that says what was refused, if something was; from a nil error on Append takes
// entries again.
func (l *Log) Heal(now time.Time) error {
	switch {
	case l.closed:
		return fmt.Errorf("log: %w", tablet.ErrClosed)
	case l.refusal == nil:
		return nil
	}
	if err := l.write(now); err != nil {
		return &RefusedError{Err: err}
	}
	l.refusal = nil
	return nil
}

// Close commits and seals. Nothing is taken any more, whatever the error: it says that entries at level log or flush may
// not be on stable storage.
func (l *Log) Close(now time.Time) error {
	if l.closed {
		return nil
	}
	err := l.Heal(now)
	if err == nil {
		err = l.Commit(now)
	}
	if err == nil && l.current != nil && l.seal() != nil && len(l.pending) > 0 {
		err = l.write(now) // once more, in a new segment, which is synced
	}
	if l.current != nil {
		l.current.leave()
		l.current = nil
	}
	l.closed = true
	return err
}

// RefusedError is why a log takes nothing. It wraps tablet.ErrBusy: what was refused may be tried again.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("log takes no entries until a segment can be written: %v", e.Err)
}

// Unwrap is ErrBusy and the cause.
func (e *RefusedError) Unwrap() []error { return []error{tablet.ErrBusy, e.Err} }

// Stats are figures of a log.
type Stats struct {
	Segments      int   // that are there, the current one too
	SegmentBytes  int64 // of the current one
	Buffered      int   // bytes appended and not handed to the operating system
	Unsynced      int   // bytes kept in memory because they are not on stable storage
	Writes, Syncs int64 // made so far on segments; syncs of the directory are not among them
	NextLSN       uint64
}

// Stats returns the figures of now.
func (l *Log) Stats() Stats {
	s := Stats{Segments: len(l.segments), Unsynced: len(l.bytes), Writes: l.writes, Syncs: l.syncs, NextLSN: l.nextLSN}
	if l.current != nil {
		s.SegmentBytes = l.current.w.Size()
	}
	s.Buffered = l.Buffered()
	return s
}

// Buffered is Stats' figure of that name.
func (l *Log) Buffered() int {
	if l.written == len(l.pending) {
		return 0
	}
	return len(l.bytes) - l.pending[l.written].start
}

// Refusal is why nothing is taken, a *RefusedError; nil if entries are.
func (l *Log) Refusal() error { return l.refusal }

// Voids are the LSNs refused so far that a segment may still hold.
func (l *Log) Voids() []Void {
	all := make([]Void, 0, len(l.voids))
	for _, v := range l.voids {
		all = append(all, v.Void)
	}
	return all
}

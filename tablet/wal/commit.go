package wal

import (
	"errors"
	"fmt"
	"time"

	"millrace/tablet"
)

// write hands over what is pending, in the current segment or a new one. After an error there is no current segment, and
// everything pending is to be written again.
func (l *Log) write(now time.Time) error {
	fresh := l.current == nil
	if fresh {
		if err := l.begin(now); err != nil {
			return err
		}
	}
	synced, err := l.push(fresh)
	if err != nil {
		l.abandon()
		return err
	}
	l.settle(synced)
	return nil
}

// push is one write and at most one sync. A new segment is always synced, and its name too, before anything in it counts.
func (l *Log) push(fresh bool) (synced bool, err error) {
	s := l.current
	synced = fresh || int64(len(l.bytes)) > l.opts.MaxUnsynced
	for i := l.written; i < len(l.pending); i++ {
		p := &l.pending[i]
		if _, err := s.w.Append(l.bytes[p.start:p.end]); err != nil {
			return false, fmt.Errorf("log: %w", err)
		}
		synced = synced || p.level == tablet.DurabilitySync && !p.acknowledged
	}
	l.writes++
	if err := s.w.Write(); err != nil {
		return false, fmt.Errorf("log: %w", err)
	}
	if synced {
		l.syncs++
		if err := s.w.Sync(); err != nil {
			return false, fmt.Errorf("log: %w", err)
		}
		s.started = s.w.Size() &^ 4095
	} else {
		s.start()
	}
	if fresh {
		if err := l.syncDir(); err != nil {
			return false, err
		}
	}
	return synced, nil
}

// settle notes that what is pending is in the current segment, and lets go of it if it is on stable storage.
func (l *Log) settle(synced bool) {
	for i := l.written; i < len(l.pending); i++ {
		l.pending[i].acknowledged = true
	}
	l.current.used = true
	l.written = len(l.pending)
	if synced {
		l.firm(l.written)
	}
}

// firm notes that the first n pending records are on stable storage in the current segment.
func (l *Log) firm(n int) {
	for i := range l.pending[:n] {
		if p := &l.pending[i]; !p.filed {
			l.current.needs(p.of)
		}
	}
	for _, s := range l.segments {
		s.loose = false
	}
	l.forget(n)
}

// forget drops the first n pending records.
func (l *Log) forget(n int) {
	if n == len(l.pending) {
		l.pending, l.bytes, l.written = l.pending[:0], l.bytes[:0], 0
		if int64(cap(l.bytes)) > 4*l.opts.MaxUnsynced {
			l.bytes = nil
		}
		return
	}
	start := l.pending[n].start
	l.bytes = l.bytes[:copy(l.bytes, l.bytes[start:])]
	l.pending = l.pending[:copy(l.pending, l.pending[n:])]
	for i := range l.pending {
		l.pending[i].start -= start
		l.pending[i].end -= start
	}
	l.written -= n
}

// refuse voids the group that could not be written. What is acknowledged stays pending.
func (l *Log) refuse(first, again error) error {
	kept, bytes := l.pending[:0], l.bytes[:0]
	for _, p := range l.pending {
		if !p.acknowledged {
			l.void(p.lsn)
			continue
		}
		bytes = append(bytes, l.bytes[p.start:p.end]...) // moves towards the front, if at all
		p.start, p.end = len(bytes)-(p.end-p.start), len(bytes)
		kept = append(kept, p)
	}
	l.pending, l.bytes = kept, bytes
	err := first
	if first.Error() != again.Error() {
		err = errors.Join(first, again)
	}
	l.refusal = &RefusedError{Err: err}
	return l.refusal
}

// void adds an LSN above all voided before.
func (l *Log) void(lsn uint64) {
	if n := len(l.voids); n > 0 && l.voids[n-1].told == 0 && l.voids[n-1].To+1 == lsn {
		l.voids[n-1].To = lsn
		return
	}
	l.voids = append(l.voids, voided{Void: Void{From: lsn, To: lsn}})
}

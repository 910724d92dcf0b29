package writer

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// memory bounds the estimated bytes of mutations that were added and are not settled. As in Accumulo one more is let in
// while the bound is not passed, whatever its size; so no mutation is too large, and it is passed by one mutation at most.
// Who waits first goes first, and all together once a quarter is free: to wake sixteen for each small acknowledgement costs
// more than all that they then add. It comes to that, as half of the memory at most is in buffers and the rest is on its way.
type memory struct {
	max           int64
	used, largest atomic.Int64
	waiting       atomic.Int32 // length of queue, or more for a moment

	mu     sync.Mutex
	queue  []*entrant
	closed error // why nobody is let in any more
}

type entrant struct {
	bytes int64
	in    chan struct{} // closed when let in, or turned away
	err   error
}

func (e *entrant) ready() bool {
	select {
	case <-e.in:
		return true
	default:
		return false
	}
}

// try lets in without waiting, unless somebody waits.
func (m *memory) try(bytes int64) bool { return m.waiting.Load() == 0 && m.take(bytes) }

func (m *memory) take(bytes int64) bool {
	for {
		used := m.used.Load()
		if used > m.max {
			return false
		}
		if m.used.CompareAndSwap(used, used+bytes) {
			m.note(used + bytes)
			return true
		}
	}
}

// roomy says whether a quarter is free.
func (m *memory) roomy() bool { return m.used.Load() <= m.max-m.max/4 }

func (m *memory) note(used int64) {
	for {
		old := m.largest.Load()
		if used <= old || m.largest.CompareAndSwap(old, used) {
			return
		}
	}
}

// enter gets in line.
func (m *memory) enter(ctx context.Context, h Host, bytes int64) error {
	e := &entrant{bytes: bytes, in: make(chan struct{})}
	m.mu.Lock()
	if m.closed != nil {
		m.mu.Unlock()
		return m.closed
	}
	m.queue = append(m.queue, e)
	m.waiting.Store(int32(len(m.queue))) // from now on whoever gives back looks here
	if len(m.queue) == 1 || m.roomy() {
		m.admit()
	}
	m.mu.Unlock()
	ctx = h.Settle(ctx, "memory of a batch writer", e.ready)
	select {
	case <-e.in:
		return e.err
	case <-ctx.Done():
	}
	if m.leave(e) {
		return context.Cause(ctx)
	}
	<-e.in // let in meanwhile
	return e.err
}

// leave gets out of line; false if it is too late.
func (m *memory) leave(e *entrant) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.Index(m.queue, e)
	if i < 0 {
		return false
	}
	m.queue = slices.Delete(m.queue, i, i+1)
	m.waiting.Store(int32(len(m.queue)))
	return true
}

// admit lets in whoever is first, while there is room. It wants the lock.
func (m *memory) admit() {
	n := 0
	for n < len(m.queue) && m.take(m.queue[n].bytes) {
		close(m.queue[n].in)
		n++
	}
	m.queue = slices.Delete(m.queue, 0, n)
	m.waiting.Store(int32(len(m.queue)))
}

func (m *memory) release(bytes int64) {
	m.used.Add(-bytes)
	if m.waiting.Load() > 0 && m.roomy() {
		m.mu.Lock()
		m.admit()
		m.mu.Unlock()
	}
}

// turnAway lets nobody in any more, those in line included. The first reason counts.
func (m *memory) turnAway(why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed == nil {
		m.closed = why
	}
	for _, e := range m.queue {
		e.err = m.closed
		close(e.in)
	}
	m.queue = nil
	m.waiting.Store(0)
}

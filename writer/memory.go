package writer

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// memory bounds the estimated bytes of mutations that were added and are not settled. As in Accumulo one more is let in
// while the bound is not passed, whatever its size; so no mutation is too large, and it is passed by one mutation at most.
// Buffers take pieces for mutations to come, which count as used and never pass the bound.
//
// Who waits first goes first, once a quarter is free, and when he runs he lets in the next if that much is still free: to wake
// sixteen for each small acknowledgement, or together for what one of them will have taken by the time the second runs, costs
// more than all that they then add. Whoever comes meanwhile need not get in line before a quarter of the memory has gone to
// such. A quarter comes to be free: half of the memory at most is in buffers, an eighth in pieces, and the rest is on its way.
type memory struct {
	max, piece    int64
	used, largest atomic.Int64
	waiting       atomic.Int32 // length of queue, or more for a moment
	ahead         atomic.Int64 // what may still be taken past those who wait

	mu     sync.Mutex
	queue  []*entrant
	closed error // why nobody is let in any more
}

// pieceMax is what some hundred mutations need: so often threads meet at the writer's memory, and not at each Add.
const pieceMax = 64 << 10

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

// try takes memory without waiting: for one mutation, or a piece for those that follow it too. It says how much; 0 if there is
// none, or others wait for it.
func (m *memory) try(bytes int64) (taken int64) {
	waiting := m.waiting.Load() > 0
	switch {
	case waiting && m.ahead.Load() <= 0:
		return 0
	case bytes < m.piece && m.takePiece():
		taken = m.piece
	case m.take(bytes):
		taken = bytes
	}
	switch {
	case taken == 0:
		m.ahead.Store(0)
	case waiting:
		m.ahead.Add(-taken)
	}
	return taken
}

func (m *memory) takePiece() bool {
	for {
		used := m.used.Load()
		if used > m.max-m.piece {
			return false
		}
		if m.used.CompareAndSwap(used, used+m.piece) {
			m.note(used + m.piece)
			return true
		}
	}
}

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
	case <-ctx.Done():
		if m.leave(e) {
			return context.Cause(ctx)
		}
		<-e.in // let in meanwhile
	}
	if e.err == nil {
		m.next()
	}
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

// admit lets in whoever is first, if there is room. It wants the lock.
func (m *memory) admit() {
	if len(m.queue) == 0 || !m.take(m.queue[0].bytes) {
		return
	}
	close(m.queue[0].in)
	m.queue = slices.Delete(m.queue, 0, 1)
	m.waiting.Store(int32(len(m.queue)))
	m.ahead.Store(m.max / 4)
}

func (m *memory) release(bytes int64) {
	m.used.Add(-bytes)
	m.next()
}

// next lets in whoever is first, if a quarter is free. It is called by whoever gives back, and by whoever was let in: so all get
// in one after the other as long as there is room.
func (m *memory) next() {
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

package writer

import (
	"slices"
	"sync"
)

// tracker numbers sets and knows which are not settled, so that a flush can wait for those before it and no others.
type tracker struct {
	mu    sync.Mutex
	first uint64 // number of open[0]: all before it are settled
	open  []*Set // nil for those that are settled
	waits []*barrier
}

// barrier is a wait for all sets up to one.
type barrier struct {
	last uint64
	done chan struct{}
}

func (b *barrier) ready() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}

// begin numbers a set.
func (t *tracker) begin(s *Set) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.number = t.first + uint64(len(t.open))
	t.open = append(t.open, s)
}

func (t *tracker) settled(s *Set) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open[s.number-t.first] = nil
	n := 0
	for n < len(t.open) && t.open[n] == nil {
		n++
	}
	t.open = t.open[n:]
	t.first += uint64(n)
	t.waits = slices.DeleteFunc(t.waits, func(b *barrier) bool {
		over := b.last < t.first
		if over {
			close(b.done)
		}
		return over
	})
}

// barrier waits for all sets that were begun.
func (t *tracker) barrier() *barrier {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := &barrier{last: t.first + uint64(len(t.open)) - 1, done: make(chan struct{})}
	if len(t.open) == 0 {
		close(b.done)
	} else {
		t.waits = append(t.waits, b)
	}
	return b
}

// forget takes back a barrier that nobody waits for any more.
func (t *tracker) forget(b *barrier) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waits = slices.DeleteFunc(t.waits, func(o *barrier) bool { return o == b })
}

// unsettled are the sets that are not settled, in order.
func (t *tracker) unsettled() (all []*Set) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.open {
		if s != nil {
			all = append(all, s)
		}
	}
	return all
}

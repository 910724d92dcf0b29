package actors

import (
	"context"
	"sync"
	"sync/atomic"

	"millrace/actors/protocol"
)

// admission bounds what is on its way into the actors: the bytes of mutations, or requests. Callers wait here, outside the
// actors, with their own contexts; inside, nothing waits for room. Who came first goes first.
type admission struct {
	rt      *Runtime
	of      string // what it admits
	mu      sync.Mutex
	size    int64
	used    int64
	waiting []*admit
	closed  error // why nobody is let in any more
}

type admit struct {
	size int64
	in   chan struct{} // closed when admitted, or when the admission has closed
	err  error
}

// ticket is one admitted share.
type ticket struct {
	a     *admission
	size  int64
	given atomic.Bool
}

var _ protocol.Ticket = (*ticket)(nil)

// Return implements protocol.Ticket.
func (t *ticket) Return() {
	if t.given.CompareAndSwap(false, true) {
		t.a.release(t.size)
	}
}

func newAdmission(rt *Runtime, of string, size int64) *admission {
	return &admission{rt: rt, of: of, size: size}
}

// ready implements waitable.
func (w *admit) ready() bool { return isClosed(w.in) }

// enter waits until so much may go in. What is larger than everything is let in alone.
func (a *admission) enter(ctx context.Context, size int64) (*ticket, error) {
	size = min(size, a.size)
	w, err := a.queue(size)
	if err != nil {
		return nil, err
	}
	if w != nil {
		ctx = a.rt.settle(ctx, "admission of "+a.of, nil, w)
		select {
		case <-w.in:
		case <-ctx.Done():
			if !a.leave(w) { // let in meanwhile
				<-w.in
				a.release(size)
			}
			return nil, context.Cause(ctx)
		}
		if w.err != nil {
			return nil, w.err
		}
	}
	return &ticket{a: a, size: size}, nil
}

// queue admits at once, which returns nil, or gets in line.
func (a *admission) queue(size int64) (*admit, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed != nil {
		return nil, a.closed
	}
	if len(a.waiting) == 0 && a.used+size <= a.size {
		a.used += size
		return nil, nil
	}
	w := &admit{size: size, in: make(chan struct{})}
	a.waiting = append(a.waiting, w)
	return w, nil
}

// leave gets out of line; false when there was no need to.
func (a *admission) leave(w *admit) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, other := range a.waiting {
		if other == w {
			a.waiting = append(a.waiting[:i], a.waiting[i+1:]...)
			a.admit() // who stood behind may fit
			return true
		}
	}
	return w.err != nil
}

func (a *admission) release(size int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used -= size
	a.admit()
}

// admit lets in whoever is first and fits. It wants the lock.
func (a *admission) admit() {
	for len(a.waiting) > 0 && a.used+a.waiting[0].size <= a.size {
		w := a.waiting[0]
		a.waiting[0] = nil
		a.waiting = a.waiting[1:]
		a.used += w.size
		close(w.in)
	}
}

// close turns everybody away, those in line included.
func (a *admission) close(why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed != nil {
		return
	}
	a.closed = why
	for _, w := range a.waiting {
		w.err = why
		close(w.in)
	}
	a.waiting = nil
}

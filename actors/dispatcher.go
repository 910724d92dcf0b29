package actors

import (
	"context"
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// dispatcher runs mailboxes on goroutines that it keeps. Waking an idle actor on a fresh goroutine costs about 3 µs,
// most of it growing the stack; a parked goroutine has a grown one. It never queues: when none is parked it starts
// one, so that a blocked actor starves nobody.
type dispatcher struct {
	mu      sync.Mutex
	parked  []*worker // the last one parked is the first to go: its stack is warm
	live    int       // goroutines, busy or parked
	busy    int
	closing bool
	empty   chan struct{} // closed when closing and none is left
}

// parkedMax bounds the goroutines that wait for work; what a burst started beyond it ends with its work.
const parkedMax = 64

type worker struct{ work chan func() }

var _ actor.Dispatcher = (*dispatcher)(nil)

func newDispatcher() *dispatcher { return &dispatcher{empty: make(chan struct{})} }

// Throughput is unused: our mailbox decides itself when to give way.
func (d *dispatcher) Throughput() int { return turnMessages }

// Schedule runs f soon, on some goroutine of the dispatcher.
func (d *dispatcher) Schedule(f func()) {
	d.mu.Lock()
	d.busy++
	if n := len(d.parked); n > 0 {
		w := d.parked[n-1]
		d.parked[n-1] = nil
		d.parked = d.parked[:n-1]
		d.mu.Unlock()
		w.work <- f
		return
	}
	d.live++
	d.mu.Unlock()
	go d.loop(f)
}

func (d *dispatcher) loop(f func()) {
	w := &worker{work: make(chan func(), 1)}
	working := true
	defer func() { d.leave(working) }() // also when f left by runtime.Goexit
	for f != nil {
		f()
		if !d.park(w) {
			return
		}
		working = false
		f = <-w.work
		working = f != nil
	}
}

// park makes the worker wait for work. It returns false when the worker is not wanted any more.
func (d *dispatcher) park(w *worker) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing || len(d.parked) >= parkedMax {
		return false
	}
	d.busy--
	d.parked = append(d.parked, w)
	return true
}

func (d *dispatcher) leave(working bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if working {
		d.busy--
	}
	d.live--
	if d.closing && d.live == 0 {
		close(d.empty)
		d.empty = make(chan struct{}) // work that comes even later has one of its own
	}
}

// counts are the goroutines that work and that wait.
func (d *dispatcher) counts() (busy, parked int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.busy, len(d.parked)
}

// Close ends the parked goroutines and waits until the busy ones are done. Work may still be scheduled; it runs on
// goroutines that end with it.
func (d *dispatcher) Close(ctx context.Context) error {
	d.mu.Lock()
	d.closing = true
	for _, w := range d.parked {
		w.work <- nil // never blocks: a parked worker's channel is empty
	}
	d.parked = nil
	empty, live := d.empty, d.live
	d.mu.Unlock()
	if live == 0 {
		return nil
	}
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

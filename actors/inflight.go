package actors

import (
	"context"
	"sync/atomic"
)

// inFlight counts calls that work on the caller's goroutine, where no actor knows of them, so that a close can wait for
// them.
type inFlight struct {
	n       atomic.Int64
	waiting atomic.Bool
	idle    chan struct{} // has something to receive, now and then, when there is none
}

func newInFlight() *inFlight { return &inFlight{idle: make(chan struct{}, 1)} }

func (f *inFlight) enter() { f.n.Add(1) }

func (f *inFlight) leave() {
	if f.n.Add(-1) == 0 && f.waiting.Load() {
		select {
		case f.idle <- struct{}{}:
		default:
		}
	}
}

// ready implements waitable.
func (f *inFlight) ready() bool { return f.n.Load() == 0 }

// wait waits until there is none, or for the context's end. New ones must fail by themselves from now on.
func (f *inFlight) wait(ctx context.Context, rt *Runtime) error {
	f.waiting.Store(true)
	ctx = rt.settle(ctx, "reads", nil, f)
	for !f.ready() {
		select {
		case <-f.idle:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

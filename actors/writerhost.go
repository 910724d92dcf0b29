package actors

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/internal/clock"
	"millrace/internal/invariant"
	"millrace/writer"
)

// writerHost is what a batch writer needs of the world: its workers are actors.
type writerHost struct {
	rt      *Runtime
	name    string
	stopped func() // called once the writer needs its host no more; may be nil

	mu      sync.Mutex
	workers []*actor.PID
	ending  bool
}

var _ writer.Host = (*writerHost)(nil)

// writerMailbox bounds what waits for a worker: its next turn and its end.
const writerMailbox = 2

// NewWriter returns a batch writer to a destination of the caller's, whose workers live in a runtime. Close ends it.
// Store.NewWriter writes to a table.
func NewWriter(rt *Runtime, d writer.Destination, o writer.Options) (*writer.BatchWriter, error) {
	return newWriter(&writerHost{rt: rt}, d, o)
}

func newWriter(h *writerHost, d writer.Destination, o writer.Options) (*writer.BatchWriter, error) {
	number := h.rt.writers.Add(1)
	if h.rt.sched != nil && o.Binners == 0 {
		o.Binners = []int{2, 5}[number%2] // the same on every machine: a few, which share a buffer, or many, which do not
	}
	h.name = nameWriter(number)
	w, err := writer.New(h, d, o)
	if err != nil {
		return nil, errors.Join(err, h.Stop(context.Background()))
	}
	return w, nil
}

// Clock implements writer.Host.
func (h *writerHost) Clock() clock.Clock { return h.rt.clock }

// Start implements writer.Host.
func (h *writerHost) Start(w *writer.BatchWriter, n int) error {
	for i := range n {
		pid, err := h.rt.Spawn(fmt.Sprintf("%s.%d", h.name, i), Spec{
			Kind: "writer", Bound: writerMailbox, Last: true, New: func() actor.Actor { return &writerActor{w: w, worker: i} },
		})
		if err != nil {
			return err
		}
		h.mu.Lock()
		h.workers = append(h.workers, pid)
		h.mu.Unlock()
	}
	return nil
}

// Wake implements writer.Host. Workers are there before the first set, and do not change.
func (h *writerHost) Wake(worker int) { h.rt.Send(h.workers[worker], &protocol.Bin{}) }

// Settle implements writer.Host.
func (h *writerHost) Settle(ctx context.Context, on string, ready func() bool) context.Context {
	return h.rt.settle(ctx, on, nil, readyFunc(ready))
}

// readyFunc is a function as a waitable.
type readyFunc func() bool

func (f readyFunc) ready() bool { return f() }

// Stop implements writer.Host.
func (h *writerHost) Stop(ctx context.Context) error {
	h.mu.Lock()
	first := !h.ending
	h.ending = true
	h.mu.Unlock()
	if first {
		for _, pid := range h.workers {
			h.rt.Send(pid, &protocol.EndBins{})
		}
	}
	for _, pid := range h.workers {
		if err := h.rt.ended(ctx, pid); err != nil {
			return err
		}
	}
	if h.stopped != nil {
		h.stopped()
	}
	return nil
}

// ended waits until an actor is gone.
func (rt *Runtime) ended(ctx context.Context, pid *actor.PID) error {
	rt.mu.Lock()
	c := rt.alive[pid.Id]
	rt.mu.Unlock()
	if c == nil {
		return nil
	}
	ctx = rt.settle(ctx, pid.Id, nil, c)
	select {
	case <-c.gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("end of %s: %w", pid.Id, context.Cause(ctx))
	}
}

// writerActor is a worker of a batch writer: it bins sets, or hands them to a destination that blocks, one a message.
type writerActor struct {
	w      *writer.BatchWriter
	worker int
	again  bool // a message to itself is on its way
	over   bool
}

// Receive routes the worker's messages.
func (a *writerActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *protocol.Bin:
		if a.again = a.w.Work(a.worker); a.again {
			c.Send(c.Self(), m)
		}
	case *protocol.EndBins:
		if a.again { // first what comes before
			c.Send(c.Self(), m)
			return
		}
		a.over = true
		c.Stop(c.Self())
	case *actor.Stopping:
		if !a.over {
			a.w.Ended(a.worker, ErrStopped)
		}
	case *actor.Started, *actor.Stopped, *actor.Restarting:
	default:
		invariant.Unexpected("writer", m)
	}
}

package writer

import (
	"context"
	"fmt"

	"millrace/internal/clock"
)

// Flush returns when all that was added before it is written and can be read, or has failed; then the error is a
// *RejectedError. It keeps nobody from adding. When the context ends, what was added is on its way all the same.
func (w *BatchWriter) Flush(ctx context.Context) error {
	if w.closed.Load() {
		if err := w.rejection(); err != nil {
			return err
		}
		return errClosed
	}
	return w.finish(ctx, "flush", false)
}

// Close sends what was added, returns when all of it is written or has failed, and ends the writer's actors. Whatever Add
// has taken is settled then; the error, if any, is a *RejectedError that names all that failed. When the context ends first,
// what was added stays on its way, and the error says so. Close may be called again, and then says the same.
func (w *BatchWriter) Close(ctx context.Context) error {
	w.closed.Store(true)
	w.memory.turnAway(errClosed)
	err := w.finish(ctx, "close", true)
	w.stopTimers()
	if e := w.host.Stop(ctx); e != nil && err == nil {
		err = fmt.Errorf("close batch writer: %w", e)
	}
	return err
}

// finish sends what is buffered and waits for all that was sent.
func (w *BatchWriter) finish(ctx context.Context, what string, last bool) error {
	w.stage.push(last)
	b := w.tracker.barrier()
	ctx = w.host.Settle(ctx, "sets of a batch writer", b.ready)
	select {
	case <-b.done:
		return w.rejection()
	case <-ctx.Done():
	}
	w.tracker.forget(b)
	if b.ready() {
		return w.rejection()
	}
	return fmt.Errorf("%s batch writer: %w", what, context.Cause(ctx))
}

// armLatency has what is buffered sent in time. One timer serves all buffers: it is set by the first mutation in one, and is
// then early for those that come later.
func (w *BatchWriter) armLatency() {
	if w.opts.Latency == NoLatency || w.armed.Load() || !w.armed.CompareAndSwap(false, true) {
		return
	}
	w.timers.Lock()
	w.latency = w.clock.AfterFunc(w.opts.Latency, w.onLatency)
	w.timers.Unlock()
}

func (w *BatchWriter) onLatency() {
	w.armed.Store(false) // first: whoever adds after the push sets it again
	w.stage.push(false)
}

// armWatch looks after sets that make no progress.
func (w *BatchWriter) armWatch() {
	if w.watching.Load() || !w.watching.CompareAndSwap(false, true) {
		return
	}
	w.timers.Lock()
	w.watch = w.clock.AfterFunc(max(w.opts.Timeout/4, 1), w.onWatch)
	w.timers.Unlock()
}

func (w *BatchWriter) onWatch() {
	w.watching.Store(false)
	open := w.tracker.unsettled()
	now := w.clock.Now()
	for _, s := range open {
		if at := s.sent.Load(); at != 0 && now.UnixNano()-at >= int64(w.opts.Timeout) {
			w.dest.GiveUp(s)
		}
	}
	if len(open) > 0 {
		w.armWatch()
	}
}

// stopTimers takes back what nobody needs any more. The watch goes on while something is left to give up.
func (w *BatchWriter) stopTimers() {
	w.timers.Lock()
	defer w.timers.Unlock()
	stop := func(t clock.Timer) {
		if t != nil {
			t.Stop()
		}
	}
	stop(w.latency)
	if len(w.tracker.unsettled()) == 0 {
		stop(w.watch)
	}
}

package actors

import (
	"context"
	"fmt"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/internal/invariant"
	"millrace/tablet"
)

// Inbox is an address outside the actors: what is sent to it waits for a goroutine that calls Receive. Whoever makes
// one grants no more credit than its capacity. A sender that overruns it has broken the protocol: the message is lost,
// and Receive says so once it comes to that place.
type Inbox struct {
	rt  *Runtime
	pid *actor.PID
	ch  chan any

	mu      sync.Mutex
	closed  bool
	overrun error // set when a message found no place
}

var _ actor.Process = (*inboxProcess)(nil)

// inboxProcess is what the library sees of an inbox, so that its methods are not the inbox's.
type inboxProcess struct{ in *Inbox }

// NewInbox returns an inbox for so many messages; what the library itself sends, the end of a watched actor, needs a
// place too.
func (rt *Runtime) NewInbox(capacity int) *Inbox {
	in := &Inbox{rt: rt, ch: make(chan any, capacity)}
	pid, fresh := rt.system.ProcessRegistry.Add(&inboxProcess{in}, rt.name+"/"+nameInbox(rt.inboxes.Add(1)))
	invariant.That(fresh, "name of an inbox is taken")
	in.pid = pid
	rt.mu.Lock()
	rt.open[in] = struct{}{}
	rt.mu.Unlock()
	return in
}

// ready implements waitable: there is a message, or there will be none.
func (in *Inbox) ready() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.ch) > 0 || in.closed || in.overrun != nil
}

// PID is the inbox's address.
func (in *Inbox) PID() *actor.PID { return in.pid }

// Receive waits for the next message, or the context's end.
func (in *Inbox) Receive(ctx context.Context) (any, error) {
	ctx = in.rt.settle(ctx, in.pid.Id, nil, in)
	select {
	case msg, ok := <-in.ch:
		if !ok {
			return nil, in.ended()
		}
		return msg, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Close takes the address away. What waits, and what still comes, is dropped: requests are refused, buffers released.
func (in *Inbox) Close() {
	in.mu.Lock()
	if in.closed {
		in.mu.Unlock()
		return
	}
	in.closed = true
	if in.overrun == nil {
		close(in.ch)
	}
	in.mu.Unlock()
	in.rt.system.ProcessRegistry.Remove(in.pid)
	in.rt.mu.Lock()
	delete(in.rt.open, in)
	in.rt.mu.Unlock()
	for msg := range in.ch {
		in.rt.drop(msg)
	}
}

func (in *Inbox) post(msg any) {
	in.mu.Lock()
	lost := in.closed || in.overrun != nil
	if !lost {
		select {
		case in.ch <- msg:
		default:
			lost = true
			in.overrun = fmt.Errorf("inbox %s of %d messages is overrun by a %T", in.pid.Id, cap(in.ch), msg)
			close(in.ch)
		}
	}
	in.mu.Unlock()
	if lost {
		in.rt.drop(msg)
	}
}

func (in *Inbox) ended() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.overrun != nil {
		return in.overrun
	}
	return fmt.Errorf("inbox: %w", tablet.ErrClosed)
}

func (p *inboxProcess) SendUserMessage(_ *actor.PID, msg any) {
	p.in.post(actor.UnwrapEnvelopeMessage(msg))
}
func (p *inboxProcess) SendSystemMessage(_ *actor.PID, msg any) { p.in.post(msg) }
func (p *inboxProcess) Stop(*actor.PID)                         {}

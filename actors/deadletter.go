package actors

import (
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
)

// deadLetter deals with a message that an actor left behind.
func (rt *Runtime) deadLetter(c *cell, msg any) {
	rt.buried(actor.NewPID(rt.system.Address(), c.id), actor.UnwrapEnvelopeMessage(msg))
}

// Send sends a message from outside the actors. If nobody is there it is dropped, which answers it if it is a request; also
// when the runtime has closed, and does not hear of dead letters in a host's system any more. A message sent at just that
// moment may be dropped twice, which every message bears that is sent from outside.
func (rt *Runtime) Send(to *actor.PID, msg any) {
	rt.root.Send(to, msg)
	if !rt.deaf.Load() {
		return
	}
	if _, there := rt.system.ProcessRegistry.Get(to); !there {
		rt.buried(to, actor.UnwrapEnvelopeMessage(msg))
	}
}

// onEvent answers for those who are not there any more. It runs on the sender's goroutine.
func (rt *Runtime) onEvent(event any) {
	e, ok := event.(*actor.DeadLetterEvent)
	if !ok || e.PID == nil || !rt.owns(e.PID) {
		return
	}
	if _, system := e.Message.(actor.SystemMessage); !system {
		rt.buried(e.PID, e.Message)
	}
}

// buried does what is due for a message that nobody gets.
func (rt *Runtime) buried(to *actor.PID, msg any) {
	rt.drop(msg)
	rt.log.Debug("dead letter", slog.String("actor", to.Id), slog.Any("message", typeName{msg}))
	if rt.hooks.DeadLetter != nil {
		rt.hooks.DeadLetter(to, msg)
	}
}

func (rt *Runtime) owns(pid *actor.PID) bool { return isUnder(pid.Id, rt.name) }

// drop does for a message that nobody gets what its owner would have done.
func (rt *Runtime) drop(msg any) {
	rt.refuse(msg, ErrStopped)
	if r, ok := msg.(protocol.Releaser); ok {
		r.Release()
	}
}

// refuse answers a request with an error, whichever way it wants its answer.
func (rt *Runtime) refuse(msg any, err error) {
	if r, ok := msg.(protocol.Refusable); ok {
		r.Refuse(err)
	}
	if r, ok := msg.(protocol.Answerable); ok {
		if to, answer := r.Refusal(err); to != nil {
			rt.Send(to, answer)
		}
	}
}

package actors

import (
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
)

// deadLetter hands a message that an actor left behind to the system's dead letters, from where onEvent gets it back.
func (rt *Runtime) deadLetter(c *cell, msg any) {
	rt.system.DeadLetter.SendUserMessage(actor.NewPID(rt.system.Address(), c.id), msg)
}

// onEvent answers for those who are not there any more. It runs on the sender's goroutine.
func (rt *Runtime) onEvent(event any) {
	e, ok := event.(*actor.DeadLetterEvent)
	if !ok || e.PID == nil || !rt.owns(e.PID) {
		return
	}
	if _, system := e.Message.(actor.SystemMessage); system {
		return
	}
	rt.drop(e.Message)
	rt.log.Debug("dead letter", slog.String("actor", e.PID.Id), slog.Any("message", typeName{e.Message}))
	if rt.hooks.DeadLetter != nil {
		rt.hooks.DeadLetter(e.PID, e.Message)
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

package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/internal/invariant"
)

// schedulerActor gives permits to tablets. It knows no file. Everything it knows the tablets can tell it again, so that
// a new one takes over with an empty memory.
type schedulerActor struct {
	permits *permits
	tablets map[string]bool // watched, by id
}

func newScheduler(minorMax, majorMax int) *schedulerActor {
	return &schedulerActor{permits: newPermits(minorMax, majorMax), tablets: make(map[string]bool)}
}

// Receive routes the scheduler's messages. Its mailbox holds at most two messages for each job of each tablet.
func (a *schedulerActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *protocol.WantPermit:
		a.watch(c, m.From)
		a.permits.want(m)
		a.grant(c)
	case *protocol.Release:
		a.permits.release(m.Job)
		a.grant(c)
	case *protocol.Holding:
		a.watch(c, m.From)
		a.permits.hold(m.Job, holder{m.From, m.Kind})
	case *actor.Terminated:
		delete(a.tablets, m.Who.Id)
		a.permits.forget(m.Who)
		a.grant(c)
	case *actor.Started, *actor.Stopping, *actor.Stopped, *actor.Restarting:
	default:
		invariant.Unexpected("scheduler", m)
	}
}

func (a *schedulerActor) watch(c actor.Context, tablet *actor.PID) {
	if !a.tablets[tablet.Id] {
		a.tablets[tablet.Id] = true
		c.Watch(tablet)
	}
}

func (a *schedulerActor) grant(c actor.Context) {
	for w := a.permits.next(); w != nil; w = a.permits.next() {
		c.Send(w.From, &protocol.Permit{Job: w.Job})
	}
}

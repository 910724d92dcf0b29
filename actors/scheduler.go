package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/internal/invariant"
)

// schedulerActor gives permits to tablets, and watches over the memory that they take together. It knows no file.
// Everything it knows the tablets can tell it again, so that a new one takes over with an empty memory.
type schedulerActor struct {
	rt      *Runtime
	permits *permits
	memory  *memoryManager
	binner  *actor.PID
	told    bool // what the binner was told last
	ticking bool
	tablets map[string]*actor.PID // watched
	asked   map[string]bool       // to flush, and have not reported since
}

func newScheduler(rt *Runtime, s ServerSettings) *schedulerActor {
	return &schedulerActor{
		rt: rt, permits: newPermits(s.MinorMax, s.MajorMax), memory: newMemoryManager(s.MemoryBytes, s.MinorMax),
		tablets: make(map[string]*actor.PID), asked: make(map[string]bool),
	}
}

// Receive routes the scheduler's messages.
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
	case *protocol.MemoryIs:
		a.onMemoryIs(c, m)
	case *protocol.FlushThese:
		a.onFlushThese(c, m)
	case *protocol.MemoryTick:
		a.ticking = false
		a.flush(c, a.memory.tick())
		a.tick(c)
	case *protocol.BinnerIs:
		a.binner, a.told = m.Binner, false
		a.hold(c)
	case *actor.Terminated:
		delete(a.tablets, m.Who.Id)
		delete(a.asked, m.Who.Id)
		a.permits.forget(m.Who)
		a.memory.report(m.Who.Id, tabletMemory{})
		a.hold(c)
		a.grant(c)
	case *actor.Started, *actor.Stopping, *actor.Stopped, *actor.Restarting:
	default:
		invariant.Unexpected("scheduler", m)
	}
}

func (a *schedulerActor) watch(c actor.Context, tablet *actor.PID) {
	if a.tablets[tablet.Id] == nil {
		a.tablets[tablet.Id] = tablet
		c.Watch(tablet)
	}
}

func (a *schedulerActor) grant(c actor.Context) {
	for w := a.permits.next(); w != nil; w = a.permits.next() {
		c.Send(w.From, &protocol.Permit{Job: w.Job})
	}
}

func (a *schedulerActor) onMemoryIs(c actor.Context, m *protocol.MemoryIs) {
	a.watch(c, m.From)
	delete(a.asked, m.From.Id)
	c.Send(m.From, memorySeen)
	a.memory.report(m.From.Id, tabletMemory{active: m.Active, flushing: m.Flushing})
	a.hold(c)
	a.flush(c, a.memory.urgent())
	a.tick(c)
}

// onFlushThese asks tablets that keep the log long.
func (a *schedulerActor) onFlushThese(c actor.Context, m *protocol.FlushThese) {
	for _, tablet := range m.Tablets {
		a.watch(c, tablet)
		a.flush(c, []string{tablet.Id})
	}
	c.Send(m.From, &protocol.TabletsAsked{Request: m.Request})
}

// hold tells the binner whether to wait, if that has changed.
func (a *schedulerActor) hold(c actor.Context) {
	if a.binner != nil && a.told != a.memory.held {
		a.told = a.memory.held
		c.Send(a.binner, &protocol.Hold{On: a.told})
	}
}

// flush asks tablets to flush, each once until it has reported.
func (a *schedulerActor) flush(c actor.Context, tablets []string) {
	for _, id := range tablets {
		if !a.asked[id] {
			a.asked[id] = true
			c.Send(a.tablets[id], &protocol.FlushMemory{})
		}
	}
}

var memorySeen = &protocol.MemorySeen{}

// tick sees to the next look at memory, as long as there is something in it.
func (a *schedulerActor) tick(c actor.Context) {
	if a.ticking || a.memory.idle() {
		return
	}
	a.ticking = true
	a.rt.After(memoryTick, c.Self(), &protocol.MemoryTick{})
}

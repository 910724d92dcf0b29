package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
)

// logGroup is what shares the next write and sync of the log.
//
//	idle     --first append-->  marked, or gathering if the last group had several
//	marked   --marker-->        written
//	gathering --all are there, or the timer--> written
//	written  --marker sent before the answers-->  gathering if appends came meanwhile, else idle
//
// Waiting pays only when there are several who write: whoever was answered with the last group mostly comes again at once.
// One writer alone is never kept waiting.
type logGroup struct {
	state   groupState
	entries []groupEntry
	last    int    // entries of the group before
	expect  int    // entries, when everybody is there
	round   uint64 // of gathering
	timer   TimerID
}

type groupState uint8

const (
	groupIdle groupState = iota
	groupMarked
	groupGathering
	groupWritten
)

// groupEntry is whom to answer.
type groupEntry struct {
	to    *actor.PID
	batch uint64
}

// groupWait is how long a group waits at most for those who were answered last.
const groupWait = 200 * time.Microsecond

// take adds an append to the group.
func (a *logActor) take(c actor.Context, e groupEntry) {
	g := &a.group
	g.entries = append(g.entries, e)
	switch g.state {
	case groupIdle:
		g.expect = g.last
		if g.last > 1 {
			a.gatherGroup(c)
		} else {
			a.mark(c)
		}
	case groupGathering:
		if len(g.entries) >= g.expect {
			a.commit(c)
		}
	}
}

// mark has the group written when everything is in it that has queued up.
func (a *logActor) mark(c actor.Context) {
	a.group.state = groupMarked
	c.Send(c.Self(), &protocol.SyncNow{})
}

// gatherGroup waits a moment for more.
func (a *logActor) gatherGroup(c actor.Context) {
	g := &a.group
	g.state = groupGathering
	g.round++
	g.timer = a.core.rt.After(groupWait, c.Self(), &protocol.SyncNow{Round: g.round})
}

// onSyncNow is a marker, or the timer.
func (a *logActor) onSyncNow(c actor.Context, m *protocol.SyncNow) {
	g := &a.group
	switch {
	case m.Round != 0:
		if g.state == groupGathering && m.Round == g.round {
			a.commit(c)
		}
	case g.state == groupMarked:
		a.commit(c)
	case g.state == groupWritten && len(g.entries) > 0:
		g.expect = g.last + len(g.entries)
		a.gatherGroup(c)
	case g.state == groupWritten:
		g.state = groupIdle
	}
}

// answer tells the group what became of it, and begins the next one.
func (a *logActor) answer(c actor.Context, err error) {
	g := &a.group
	if len(g.entries) == 0 {
		if g.state == groupMarked {
			g.state = groupIdle
		}
		return
	}
	if g.state == groupGathering {
		a.core.rt.CancelTimer(g.timer) // or those of fast disks would pile up
	}
	g.state, g.last = groupWritten, len(g.entries)
	c.Send(c.Self(), &protocol.SyncNow{}) // before the answers, so that in front of it is only what came meanwhile
	for _, e := range g.entries {
		c.Send(e.to, &protocol.Appended{Batch: e.batch, Err: err})
	}
	g.entries = g.entries[:0]
}

package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
)

// flushRequest waits until everything up to an age is in files.
type flushRequest struct {
	from    *actor.PID
	request uint64
	age     uint64
}

// freeze sets the memtable aside, at the scheduler's word. One waits for its file at a time: a second would free nothing
// sooner.
func (a *tabletActor) freeze(c actor.Context) {
	if a.t.FrozenCount() > 0 {
		return
	}
	a.setAside(c)
	a.wishFlush(c)
}

// setAside freezes the active memtable, if there is anything in it.
func (a *tabletActor) setAside(c actor.Context) {
	if f, ok := a.t.Freeze(); ok {
		a.lastAge = f.Age
		a.reportMemory(c, true)
	}
}

// onFlush answers once everything that is in memory now is in files.
func (a *tabletActor) onFlush(c actor.Context, m *protocol.Flush) {
	if a.split != nil {
		c.Send(m.From, &protocol.Flushed{Request: m.Request, Err: errMoved})
		return
	}
	if m.Unlogged {
		if a.unlogged <= a.filed {
			c.Send(m.From, &protocol.Flushed{Request: m.Request})
			return
		}
		a.flushWaits = false // it is the last chance
	}
	a.setAside(c)
	if a.t.FrozenCount() == 0 {
		c.Send(m.From, &protocol.Flushed{Request: m.Request})
		return
	}
	a.flushes = append(a.flushes, flushRequest{from: m.From, request: m.Request, age: a.lastAge})
	a.wishFlush(c)
}

// wishFlush asks for the next minor compaction, if one is due.
func (a *tabletActor) wishFlush(c actor.Context) {
	if a.flush != nil || a.flushWaits || !a.t.FlushDue() || a.paused() {
		return
	}
	_, frozen := a.t.Memory()
	a.flush = &tabletJob{kind: protocol.Minor}
	a.wishFor(c, a.flush, 1, frozen)
}

// paused says that the memtable waits, since there are too many files, for a compaction that is wished for or running. Memory
// fills meanwhile, and writers wait for it: so files do not become more and more where compactions are slower than writers.
// Who asks for a flush is not kept waiting. If compactions fail there is none to wait for, and nothing waits.
//
// Source: Accumulo's table.file.pause, of which its documentation says this.
func (a *tabletActor) paused() bool {
	most := a.settings.FilePause
	if most == 0 || a.t.Files() <= most || len(a.flushes) > 0 || a.split != nil {
		return false
	}
	for _, j := range a.jobs {
		if j.kind == protocol.Major || j.kind == protocol.User {
			return true
		}
	}
	return false
}

// flushed answers whoever waited for the memtable that is in a file now. The next one comes after compactions were planned, for
// one of which it may have to wait.
func (a *tabletActor) flushed(c actor.Context, j *tabletJob) {
	waiting := a.flushes[:0]
	for _, f := range a.flushes {
		if f.age <= j.minor.Age {
			c.Send(f.from, &protocol.Flushed{Request: f.request})
		} else {
			waiting = append(waiting, f)
		}
	}
	clear(a.flushes[len(waiting):])
	a.flushes = waiting
	a.reportMemory(c, true)
}

// flushFailed tells whoever waited. The memtable stays where it is and is tried again, for ever: it is the only copy.
func (a *tabletActor) flushFailed(c actor.Context, err error, delay time.Duration) {
	a.t.FlushFailed()
	for _, f := range a.flushes {
		c.Send(f.from, &protocol.Flushed{Request: f.request, Err: err})
	}
	clear(a.flushes)
	a.flushes = a.flushes[:0]
	if a.split != nil { // the user is not kept waiting for it
		a.splitFailed(c, err)
	}
	a.flushLater(c, delay)
}

// flushLater has flushes wait for a while.
func (a *tabletActor) flushLater(c actor.Context, delay time.Duration) {
	a.flushWaits = true
	a.core.rt.CancelTimer(a.flushTimer)
	a.flushTimer = a.core.rt.After(delay, c.Self(), &protocol.Retry{Kind: protocol.Minor})
}

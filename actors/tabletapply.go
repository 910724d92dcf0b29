package actors

import (
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/tablet"
	"millrace/tablet/hosted"
)

// pendingApply is a batch between Prepare and its answer. Batches enter memory in the order in which they came, so that
// one which is not logged waits for those before it which are.
type pendingApply struct {
	apply    *protocol.Apply
	prepared *hosted.Prepared // nil if all of it was refused
	refused  []protocol.Refusal
	unlogged bool // it is not to be logged
	done     bool // logged, or not to be
	err      error
}

// ErrUnknownOutcome marks the error of a write of which it is not known whether the log has it. It may be seen at once, or
// not now and later: when the tablet is replaced after a failure, or the store is opened again, the log is read, and what
// stands there counts. Or never. It may be repeated.
var ErrUnknownOutcome = fmt.Errorf("the write may be there or not: %w", tablet.ErrBusy)

// errFull turns a batch away that is more than any window allows: nothing of it was logged or applied.
var errFull = fmt.Errorf("%d batches are on their way to memory already: %w", pendingMost, tablet.ErrBusy)

// onApply stamps mutations and has them logged. They enter memory when the log has answered.
func (a *tabletActor) onApply(c actor.Context, m *protocol.Apply) {
	if a.split != nil || a.sentAway > 0 && m.Round <= a.sentAway {
		a.sentAway = m.Round
		c.Send(m.From, &protocol.Applied{Batch: m.Batch, Moved: true})
		return
	}
	if len(a.pending) >= pendingMost {
		c.Send(m.From, &protocol.Applied{Batch: m.Batch, Err: errFull})
		return
	}
	a.wrote = a.core.rt.clock.Now()
	p, rejects := a.t.Prepare(m.Mutations, a.wrote.UnixMilli())
	w := &pendingApply{apply: m, prepared: p, done: true}
	for _, r := range rejects {
		w.refused = append(w.refused, protocol.Refusal{
			Mutation: m.Mutations[r.Index], Err: &tablet.ConstraintError{Constraint: r.Constraint, Code: r.Code, What: r.What},
		})
	}
	d := m.Durability
	if d == tablet.DurabilityDefault {
		d = a.settings.Durability
	}
	w.unlogged = d == tablet.DurabilityNone
	if p != nil && !w.unlogged {
		w.done = false
		c.Send(a.core.log.get(), &protocol.Append{
			From: c.Self(), Batch: a.first + uint64(len(a.pending)), Tablet: a.handle.number, Session: p.Session,
			Timestamp: p.Timestamp, Step: p.Step, Mutations: p.Mutations, Durability: d,
		})
	}
	a.pending = append(a.pending, w)
	a.commitLogged(c)
}

// onAppended hears what became of a batch in the log.
func (a *tabletActor) onAppended(c actor.Context, m *protocol.Appended) {
	if m.Batch < a.first || m.Batch >= a.first+uint64(len(a.pending)) {
		return
	}
	w := a.pending[m.Batch-a.first]
	if w.done {
		return // answered twice: the log has ended meanwhile
	}
	w.done = true
	switch {
	case isGone(m.Err):
		w.err = fmt.Errorf("%w: %w", ErrUnknownOutcome, passedOn("log", m.Err))
	case m.Err != nil:
		w.err = passedOn("log", m.Err)
	}
	a.commitLogged(c)
}

// commitLogged commits what is logged, as far as nothing before it is still to be.
func (a *tabletActor) commitLogged(c actor.Context) {
	for len(a.pending) > 0 && a.pending[0].done {
		w := a.pending[0]
		a.pending[0] = nil
		a.pending = a.pending[1:]
		a.first++
		a.commitBatch(w)
		answer := &protocol.Applied{Batch: w.apply.Batch, Refused: w.refused}
		if w.err != nil {
			answer = &protocol.Applied{Batch: w.apply.Batch, Err: w.err}
		}
		c.Send(w.apply.From, answer)
	}
	a.reportMemory(c, false)
	a.idle(c)
	a.wishFlush(c)
	a.splitOn(c)
}

func (a *tabletActor) commitBatch(w *pendingApply) {
	switch {
	case w.prepared == nil:
	case w.err != nil:
		a.t.Abort(w.prepared)
	default:
		a.counts.Mutations += int64(len(w.prepared.Mutations))
		a.counts.Entries += a.t.Commit(w.prepared)
		if w.unlogged {
			a.unlogged = max(a.unlogged, w.prepared.Session)
		}
	}
}

// stopPending answers what was not committed: whether it is in the log is not known.
func (a *tabletActor) stopPending(c actor.Context) {
	for _, w := range a.pending {
		c.Send(w.apply.From, &protocol.Applied{Batch: w.apply.Batch, Err: fmt.Errorf("%w: %w", ErrUnknownOutcome, ErrStopped)})
	}
	a.pending = nil
}

// idle sees to the next look at whether anybody still writes.
func (a *tabletActor) idle(c actor.Context) {
	if active, _ := a.t.MemoryEntries(); a.idling || active == 0 || a.settings.MinorIdle == 0 {
		return
	}
	wait := a.settings.MinorIdle - a.core.rt.clock.Now().Sub(a.wrote)
	if wait <= 0 { // it is due, and cannot be done
		wait = a.settings.MinorIdle
	}
	a.idling = true
	a.idleTimer = a.core.rt.After(wait, c.Self(), idleTick)
}

// onIdle flushes what has been in memory for long without company.
func (a *tabletActor) onIdle(c actor.Context) {
	a.idling = false
	if a.settings.MinorIdle > 0 && a.core.rt.clock.Now().Sub(a.wrote) >= a.settings.MinorIdle {
		a.freeze(c)
	}
	a.idle(c)
}

package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/internal/invariant"
	"millrace/tablet"
	"millrace/tablet/locate"
	"millrace/writer"
	"millrace/writer/binning"
)

// binnerActor groups mutations by tablet, off the path of whoever writes them, and answers a write when all its tablets
// have applied their part. Each tablet has a lane: a window of batches on their way and, behind it, a queue whose
// length the store's admission bounds. What waits in a queue goes in one batch.
type binnerActor struct {
	rt       *Runtime
	holdMax  time.Duration
	tables   map[string]*route
	sent     map[uint64]sentBatch // on their way, by batch number
	open     int                  // writes that are not answered
	batches  uint64
	scratch  binning.Scratch
	bins     binning.Result
	draining []*protocol.Drain
	held     bool   // memory is full: nothing goes to tablets
	holds    uint64 // times that it was
	overdue  bool   // it has been for too long
	last     bool   // the store is being closed: nothing is tried again
}

// route is where the tablets of one table are.
type route struct {
	extents *locate.Map
	lanes   []*lane // one a tablet, in the order of extents
}

// pendingWrite is a write, or a batch writer's set, whose tablets have not all answered.
type pendingWrite struct {
	*protocol.Write
	set     *writer.Set // settled piece by piece; nil: a write, which is answered at the end
	left    int         // pieces
	refused []protocol.Refusal
	err     error // the first that a tablet failed with
}

// piece is a write's mutations for one tablet.
type piece struct {
	write     *pendingWrite
	mutations []*tablet.Mutation
	bytes     int64
	batch     uint64 // that it was sent in last
	doubtful  bool   // it was sent before, and may have been applied
}

func newBinner(rt *Runtime, holdMax time.Duration) *binnerActor {
	return &binnerActor{rt: rt, holdMax: holdMax, tables: make(map[string]*route), sent: make(map[uint64]sentBatch)}
}

// Receive routes the binner's messages.
func (a *binnerActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *protocol.Write:
		a.onWrite(c, m)
	case *protocol.WriteSet:
		a.onWriteSet(c, m)
	case *protocol.Applied:
		a.onApplied(c, m)
	case *protocol.LaneAgain:
		a.onLaneAgain(c, m)
	case *protocol.LastTries:
		a.last = true
		a.feedAll(c)
	case *protocol.GiveUp:
		a.onGiveUp(c, m)
	case *protocol.Hold:
		a.onHold(c, m)
	case *protocol.HoldOverdue:
		a.onHoldOverdue(c, m)
	case *protocol.TableIs:
		a.onTableIs(c, m)
	case *protocol.Drain:
		a.draining = append(a.draining, m)
		a.drained()
	case *actor.Stopping:
		a.stop()
	case *actor.Started, *actor.Stopped, *actor.Restarting:
	default:
		invariant.Unexpected("binner", m)
	}
}

func (a *binnerActor) onWrite(c actor.Context, m *protocol.Write) {
	r := a.tables[m.Table]
	switch {
	case len(a.draining) > 0:
		m.Refuse(fmt.Errorf("write to table %s: %w", m.Table, tablet.ErrClosed))
		return
	case r == nil:
		m.Refuse(fmt.Errorf("no table %q: %w", m.Table, tablet.ErrUsage))
		return
	case m.Abandoned():
		m.Refuse(context.Canceled) // for its ticket; nobody hears it
		return
	}
	binning.Mutations(m.Mutations, r.extents, &a.scratch, &a.bins)
	invariant.That(len(a.bins.Failed) == 0, "a table's chain of tablets has a gap")
	a.queue(c, r, &pendingWrite{Write: m}, a.bins.Bins)
	clear(a.bins.Bins)
}

// queue puts what was binned into the lanes.
func (a *binnerActor) queue(c actor.Context, r *route, w *pendingWrite, bins []binning.Binned) {
	a.open++
	w.left = 1 // until all are queued
	for i := range bins {
		l := r.lanes[bins[i].Tablet]
		for p := (piece{write: w, mutations: bins[i].Mutations, bytes: bins[i].Bytes}); len(p.mutations) > 0; {
			w.left++
			l.queue = append(l.queue, p.cut())
		}
		a.feed(c, l)
	}
	if w.left--; w.left == 0 {
		a.answer(w)
	}
}

// cut takes off the front of a piece what goes in one batch.
func (p *piece) cut() piece {
	front := *p
	if len(p.mutations) <= batchMutations && p.bytes <= batchBytes {
		p.mutations = nil
		return front
	}
	n, bytes := 0, int64(0)
	for n < len(p.mutations) && n < batchMutations && (n == 0 || bytes < batchBytes) {
		bytes += int64(p.mutations[n].EstimatedMemory())
		n++
	}
	front.mutations, front.bytes = p.mutations[:n:n], bytes
	p.mutations, p.bytes = p.mutations[n:], p.bytes-bytes
	return front
}

// onApplied takes a tablet's answer to a batch.
func (a *binnerActor) onApplied(c actor.Context, m *protocol.Applied) {
	b, ok := a.sent[m.Batch]
	if !ok {
		return // a second answer: of a tablet, and of whoever cleaned up after it
	}
	delete(a.sent, m.Batch)
	l := b.lane
	l.flying--
	if m.Err == nil {
		l.progress = a.rt.clock.Now()
	}
	switch {
	case m.Moved:
		l.moved = append(l.moved, b.pieces...)
	case m.Err != nil:
		a.onFailed(c, &b, m)
	default:
		a.overtaken(l, &b)
		a.onDone(&b, m)
	}
	a.settleLane(c, l)
	a.drained()
}

// onDone ends the pieces of a batch that was applied, but for what was refused.
func (a *binnerActor) onDone(b *sentBatch, m *protocol.Applied) {
	for i := range b.pieces {
		p := &b.pieces[i]
		if len(m.Refused) > 0 {
			p.takeRefused(b.lane.extent, m.Refused)
		}
		a.finish(*p, b.lane.extent, nil)
	}
}

// finish ends one piece of a write.
func (a *binnerActor) finish(p piece, e tablet.Extent, err error) {
	w := p.write
	switch {
	case w.set == nil:
		if w.err == nil || errors.Is(err, ErrUnknownOutcome) { // which says least
			w.err = err
		}
	case err != nil:
		w.set.Fail(p.mutations, e, err, p.doubtful || errors.Is(err, ErrUnknownOutcome))
	case len(p.mutations) > 0:
		w.set.Done(len(p.mutations), p.bytes)
	}
	if w.left--; w.left == 0 {
		a.answer(w)
	}
}

func (a *binnerActor) answer(w *pendingWrite) {
	a.open--
	switch {
	case w.set != nil: // settled
	case w.err != nil:
		w.Refuse(fmt.Errorf("write to table %s: %w", w.Table, w.err))
	default:
		w.Answer(&protocol.Written{Refused: w.refused})
	}
}

func (a *binnerActor) onHold(c actor.Context, m *protocol.Hold) {
	a.held, a.overdue = m.On, false
	if a.held {
		a.holds++
		if a.holdMax > 0 {
			a.rt.After(a.holdMax, c.Self(), &protocol.HoldOverdue{Hold: a.holds})
		}
		return
	}
	a.feedAll(c)
}

// onHoldOverdue turns away whoever waits for memory, and whoever comes, until there is some.
func (a *binnerActor) onHoldOverdue(c actor.Context, m *protocol.HoldOverdue) {
	if !a.held || m.Hold != a.holds {
		return
	}
	a.overdue = true
	a.feedAll(c)
}

func (a *binnerActor) feedAll(c actor.Context) {
	for _, r := range ordered(a.tables) {
		for _, l := range r.lanes {
			a.feed(c, l)
		}
	}
}

// drained answers those who wait for the end, once nothing is left.
func (a *binnerActor) drained() {
	if a.open > 0 {
		return
	}
	for _, d := range a.draining {
		d.Answer(&protocol.Drained{})
	}
}

// stop answers whatever is still open: what was sent may yet be applied, but nobody will hear of it here.
func (a *binnerActor) stop() {
	for _, b := range ordered(a.sent) {
		for _, p := range b.pieces {
			a.finish(p, b.lane.extent, fmt.Errorf("%w: %w", ErrUnknownOutcome, ErrStopped))
		}
	}
	for _, b := range ordered(a.sent) {
		a.refuseWaiting(b.lane)
	}
	for _, r := range ordered(a.tables) {
		for _, l := range r.lanes {
			a.refuseWaiting(l)
		}
	}
}

func (a *binnerActor) refuseWaiting(l *lane) {
	waiting := slices.Concat(l.moved, l.queue)
	l.moved, l.queue = nil, nil
	for _, p := range waiting {
		a.finish(p, l.extent, ErrStopped)
	}
	for _, heir := range l.heirs { // may have left its table too
		a.refuseWaiting(heir)
	}
}

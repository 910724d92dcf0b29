package actors

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/internal/invariant"
	"millrace/tablet"
	"millrace/tablet/locate"
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
	draining []*protocol.Drain
	held     bool   // memory is full: nothing goes to tablets
	holds    uint64 // times that it was
	overdue  bool   // it has been for too long
}

// route is where the tablets of one table are.
type route struct {
	extents *locate.Map
	lanes   []*lane // one a tablet, in the order of extents
}

// pendingWrite is a write whose tablets have not all answered.
type pendingWrite struct {
	*protocol.Write
	left    int // pieces
	refused []protocol.Refusal
	err     error // the first that a tablet failed with
}

// piece is a write's mutations for one tablet.
type piece struct {
	write     *pendingWrite
	mutations []*tablet.Mutation
	bytes     int64
}

func newBinner(rt *Runtime, holdMax time.Duration) *binnerActor {
	return &binnerActor{rt: rt, holdMax: holdMax, tables: make(map[string]*route), sent: make(map[uint64]sentBatch)}
}

// Receive routes the binner's messages.
func (a *binnerActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *protocol.Write:
		a.onWrite(c, m)
	case *protocol.Applied:
		a.onApplied(c, m)
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
	bins, failed := binning.Bin(m.Mutations, r.extents, &a.scratch, binning.Options{SortRows: true})
	invariant.That(len(failed) == 0, "a table's chain of tablets has a gap")
	w := &pendingWrite{Write: m, left: len(bins)}
	a.open++
	if w.left == 0 {
		a.answer(w)
		return
	}
	for i := range bins {
		l := r.lanes[bins[i].Tablet]
		l.queue = append(l.queue, piece{write: w, mutations: bins[i].Mutations, bytes: bins[i].Bytes})
		a.feed(c, l)
	}
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
	switch {
	case m.Moved:
		l.moved = append(l.moved, b.pieces...)
	case isGone(m.Err):
		// The tablet is gone, and its successor knows what the log knows.
		for _, p := range b.pieces {
			a.finish(p, fmt.Errorf("%w: %w", ErrUnknownOutcome, m.Err))
		}
		if l.tablet.Equal(b.to) {
			l.down = true
		}
	default:
		for _, r := range m.Refused {
			i := slices.IndexFunc(b.pieces, func(p piece) bool { return slices.Contains(p.mutations, r.Mutation) })
			b.pieces[i].write.refused = append(b.pieces[i].write.refused, r)
		}
		for _, p := range b.pieces {
			a.finish(p, m.Err)
		}
	}
	a.settleLane(c, l)
	a.drained()
}

// finish ends one piece of a write.
func (a *binnerActor) finish(p piece, err error) {
	w := p.write
	if w.err == nil {
		w.err = err
	}
	if w.left--; w.left == 0 {
		a.answer(w)
	}
}

func (a *binnerActor) answer(w *pendingWrite) {
	a.open--
	if w.err != nil {
		w.Refuse(fmt.Errorf("write to table %s: %w", w.Table, w.err))
		return
	}
	w.Answer(&protocol.Written{Refused: w.refused})
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
	for _, r := range ordered(a.tables) {
		for _, l := range r.lanes {
			a.feed(c, l)
		}
	}
}

// onHoldOverdue turns away whoever waits for memory, and whoever comes, until there is some.
func (a *binnerActor) onHoldOverdue(c actor.Context, m *protocol.HoldOverdue) {
	if !a.held || m.Hold != a.holds {
		return
	}
	a.overdue = true
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
			p.write.Refuse(fmt.Errorf("%w: %w", ErrUnknownOutcome, ErrStopped))
		}
		a.refuseWaiting(b.lane)
	}
	for _, r := range ordered(a.tables) {
		for _, l := range r.lanes {
			a.refuseWaiting(l)
		}
	}
}

func (a *binnerActor) refuseWaiting(l *lane) {
	for _, p := range slices.Concat(l.moved, l.queue) {
		p.write.Refuse(ErrStopped)
	}
	l.moved, l.queue = nil, nil
}

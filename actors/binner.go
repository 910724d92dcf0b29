package actors

import (
	"context"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/internal/invariant"
	"millrace/tablet"
	"millrace/tablet/locate"
	"millrace/writer/binning"
)

// binnerActor groups mutations by tablet, off the path of whoever writes them, and answers a write when all its tablets
// have applied their part. Each tablet has a lane: a window of batches on their way and, behind it, a queue whose
// length the store's admission bounds.
type binnerActor struct {
	tables   map[string]*route
	sent     map[uint64]sentBatch // on their way, by batch number
	queued   int                  // batches in all lanes' queues
	batches  uint64
	scratch  binning.Scratch
	draining []*protocol.Drain
	held     bool // memory is full: nothing goes to tablets
}

// route is where the tablets of one table are.
type route struct {
	extents *locate.Map
	lanes   []*lane // one a tablet, in the order of extents
}

// lane is the stream of batches to one tablet.
type lane struct {
	tablet *actor.PID
	credit int
	queue  []queuedBatch
}

type queuedBatch struct {
	write *pendingWrite
	apply *protocol.Apply
}

type sentBatch struct {
	write *pendingWrite
	lane  *lane
}

// pendingWrite is a write whose tablets have not all answered.
type pendingWrite struct {
	*protocol.Write
	left    int // batches
	refused []protocol.Refusal
	err     error // the first that a tablet failed with
}

func newBinner() *binnerActor {
	return &binnerActor{tables: make(map[string]*route), sent: make(map[uint64]sentBatch)}
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
	case *protocol.TableIs:
		a.onTableIs(m)
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

func (a *binnerActor) onTableIs(m *protocol.TableIs) {
	extents := make([]tablet.Extent, len(m.Tablets))
	r := &route{}
	for i, t := range m.Tablets {
		extents[i] = t.Extent
		r.lanes = append(r.lanes, &lane{tablet: t.PID, credit: protocol.ApplyWindow})
	}
	chain, err := locate.New(1, extents)
	invariant.Check(err == nil, "tablets of table %s: %v", m.Table, err)
	r.extents = chain
	a.tables[m.Table] = r
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
	if w.left == 0 {
		a.answer(w)
		return
	}
	for i := range bins {
		a.batches++
		b := queuedBatch{write: w, apply: &protocol.Apply{
			From: c.Self(), Batch: a.batches, Mutations: bins[i].Mutations, Bytes: bins[i].Bytes,
		}}
		l := r.lanes[bins[i].Tablet]
		l.queue = append(l.queue, b)
		a.queued++
		a.feed(c, l)
	}
}

// feed sends as much of a lane's queue as its credit allows.
func (a *binnerActor) feed(c actor.Context, l *lane) {
	for !a.held && l.credit > 0 && len(l.queue) > 0 {
		b := l.queue[0]
		l.queue[0] = queuedBatch{}
		l.queue = l.queue[1:]
		a.queued--
		l.credit--
		a.sent[b.apply.Batch] = sentBatch{write: b.write, lane: l}
		c.Send(l.tablet, b.apply)
	}
}

func (a *binnerActor) onHold(c actor.Context, m *protocol.Hold) {
	a.held = m.On
	for _, r := range ordered(a.tables) {
		for _, l := range r.lanes {
			a.feed(c, l)
		}
	}
}

func (a *binnerActor) onApplied(c actor.Context, m *protocol.Applied) {
	b, ok := a.sent[m.Batch]
	invariant.That(ok, "a tablet answered a batch twice")
	delete(a.sent, m.Batch)
	b.lane.credit++
	a.feed(c, b.lane)
	w := b.write
	w.refused = append(w.refused, m.Refused...)
	if w.err == nil {
		w.err = m.Err
	}
	if w.left--; w.left == 0 {
		a.answer(w)
	}
	a.drained()
}

func (a *binnerActor) answer(w *pendingWrite) {
	if w.err != nil {
		w.Refuse(fmt.Errorf("write to table %s: %w", w.Table, w.err))
		return
	}
	w.Answer(&protocol.Written{Refused: w.refused})
}

// drained answers those who wait for the end, once nothing is left.
func (a *binnerActor) drained() {
	if len(a.sent) > 0 || a.queued > 0 {
		return
	}
	for _, d := range a.draining {
		d.Answer(&protocol.Drained{})
	}
}

// stop answers whatever is still open: what was sent may yet be applied, but nobody will hear of it here.
func (a *binnerActor) stop() {
	for _, b := range ordered(a.sent) {
		b.write.Refuse(ErrStopped)
	}
	for _, r := range ordered(a.tables) {
		for _, l := range r.lanes {
			for _, b := range l.queue {
				b.write.Refuse(ErrStopped)
			}
		}
	}
}

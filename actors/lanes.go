package actors

import (
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/internal/invariant"
	"millrace/tablet"
	"millrace/tablet/locate"
)

// lane is the stream of batches to one tablet. Mutations of one row never overtake each other: not when a tablet sends
// batches away because it is being split, nor when its halves take over.
type lane struct {
	extent tablet.Extent
	tablet *actor.PID
	round  uint64 // grows when batches that came back are sent again
	flying int    // batches on their way
	queue  []piece
	moved  []piece // came back, and are in front of the queue
	again  bool    // they are to be sent again
	// waiting says that they are, in a while: their tablet refused them for the moment.
	waiting bool
	down    bool  // the tablet is gone; another is to come
	failed  error // and will not
	// changed says that another tablet has come while batches to the one before were on their way. What comes back of those
	// goes first.
	changed  bool
	progress time.Time // when a batch was applied last

	// retired says that the tablet has left its table. Once nothing flies any more, what waits goes to the lanes that have
	// taken its place, and those may begin.
	retired bool
	heirs   []*lane
	behind  []*lane // retired ones that this one waits for
}

// A batch is of so much at most, so that a tablet works on no message for long; but one mutation may be larger.
const (
	batchMutations = 4096
	batchBytes     = 1 << 20
)

// sentBatch is a batch on its way.
type sentBatch struct {
	lane   *lane
	to     *actor.PID
	pieces []piece
}

// feed sends as much of a lane's queue as its window allows.
func (a *binnerActor) feed(c actor.Context, l *lane) {
	switch {
	case l.failed != nil:
		a.turnAway(l, l.failed)
	case a.overdue && a.last:
		a.turnAway(l, fmt.Errorf("no memory for %v: %w", a.holdMax, tablet.ErrBusy))
		return
	case a.overdue:
		a.turnAwayWrites(l, fmt.Errorf("no memory for %v: %w", a.holdMax, tablet.ErrBusy))
		return
	case l.retired || l.down || l.changed || len(l.behind) > 0 || len(l.moved) > 0 || a.held:
		return
	}
	for l.flying < a.rt.window(protocol.ApplyWindow) && len(l.queue) > 0 && !l.gathers() {
		a.batches++
		m := &protocol.Apply{From: c.Self(), Batch: a.batches, Round: l.round, Durability: l.queue[0].write.Durability}
		pieces := l.next()
		for i := range pieces {
			pieces[i].batch = m.Batch
			m.Bytes += pieces[i].bytes
		}
		m.Mutations = joined(pieces)
		l.flying++
		a.sent[m.Batch] = sentBatch{lane: l, to: l.tablet, pieces: pieces}
		c.Send(l.tablet, m)
	}
}

// gathers says that a lane had better wait for the next answer: its tablet has enough to do, and what a batch writer has sent
// is not much yet. A batch costs four messages whatever is in it, so that busy tablets get few and large ones.
// Source: Nagle's algorithm, with two on their way instead of one, so that a log's next sync does not wait for the last.
func (l *lane) gathers() bool {
	if l.flying < 2 {
		return false
	}
	n := 0
	for i := range l.queue {
		if n += len(l.queue[i].mutations); n >= gatherMutations || l.queue[i].write.set == nil {
			return false
		}
	}
	return true
}

// gatherMutations is how many make a batch worth its messages.
const gatherMutations = 512

// next takes what goes in one batch: pieces of the same durability, as many as a message may carry.
func (l *lane) next() []piece {
	n, mutations, bytes := 0, 0, int64(0)
	for ; n < len(l.queue); n++ {
		p := &l.queue[n]
		mutations += len(p.mutations)
		bytes += p.bytes
		if n > 0 && (mutations > batchMutations || bytes > batchBytes || p.write.Durability != l.queue[0].write.Durability) {
			break
		}
	}
	pieces := slices.Clone(l.queue[:n])
	clear(l.queue[:n])
	l.queue = l.queue[n:]
	return pieces
}

func joined(pieces []piece) []*tablet.Mutation {
	if len(pieces) == 1 {
		return pieces[0].mutations
	}
	n := 0
	for _, p := range pieces {
		n += len(p.mutations)
	}
	all := make([]*tablet.Mutation, 0, n)
	for _, p := range pieces {
		all = append(all, p.mutations...)
	}
	return all
}

// turnAway answers everything that waits in a lane.
func (a *binnerActor) turnAway(l *lane, err error) {
	waiting := l.queue
	l.queue = nil
	for _, p := range waiting {
		a.finish(p, l.extent, err)
	}
}

// turnAwayWrites answers those who wait for their answers. Batch writers have time.
func (a *binnerActor) turnAwayWrites(l *lane, err error) {
	waiting := l.queue
	l.queue = nil
	for _, p := range waiting {
		if p.write.set != nil {
			l.queue = append(l.queue, p)
			continue
		}
		a.finish(p, l.extent, err)
	}
}

// onTableIs takes over where a table's tablets are.
func (a *binnerActor) onTableIs(c actor.Context, m *protocol.TableIs) {
	old := a.tables[m.Table]
	r := &route{}
	extents := make([]tablet.Extent, len(m.Tablets))
	for i, t := range m.Tablets {
		extents[i] = t.Extent
		r.lanes = append(r.lanes, old.lane(t))
	}
	if len(m.Tablets) == 0 {
		delete(a.tables, m.Table)
	} else {
		if r.extents = m.Extents; r.extents == nil {
			chain, err := locate.New(m.Version, extents)
			invariant.Check(err == nil, "tablets of table %s: %v", m.Table, err)
			r.extents = chain
		}
		a.tables[m.Table] = r
	}
	a.retire(c, old, r)
	for _, l := range r.lanes {
		if len(l.moved) > 0 { // it was to be split, and was not
			l.again = true
		}
		a.settleLane(c, l)
	}
	a.drained()
}

// lane is the lane of a tablet: the one that there was, if it is the same tablet.
func (r *route) lane(t protocol.TabletRef) *lane {
	var l *lane
	if r != nil {
		l = r.find(t.Extent)
	}
	if l == nil {
		l = &lane{extent: t.Extent, tablet: t.PID, round: 1}
	}
	if !l.tablet.Equal(t.PID) {
		l.tablet, l.down, l.changed = t.PID, false, l.flying > 0
	}
	l.failed = t.Failed
	return l
}

// find is the lane of exactly this extent, or nil.
func (r *route) find(e tablet.Extent) *lane {
	i, ok := slices.BinarySearchFunc(r.lanes, e, func(l *lane, e tablet.Extent) int { return tablet.CompareExtents(l.extent, e) })
	if !ok {
		return nil
	}
	return r.lanes[i]
}

// retire ends the lanes that a new route does not have, in favour of those that are in their place.
func (a *binnerActor) retire(c actor.Context, old, r *route) {
	if old == nil {
		return
	}
	var retired []*lane
	for _, l := range old.lanes {
		if r.find(l.extent) == l {
			continue
		}
		l.retired = true
		for _, heir := range r.lanes {
			if meet(heir.extent, l.extent) {
				l.heirs = append(l.heirs, heir)
				heir.behind = append(heir.behind, l)
			}
		}
		retired = append(retired, l)
	}
	for _, l := range retired {
		a.settleLane(c, l)
	}
}

// settleLane does what is due for a lane after a change: send, send again, or hand over.
func (a *binnerActor) settleLane(c actor.Context, l *lane) {
	if l.flying == 0 {
		l.changed = false
	}
	switch {
	case l.retired:
		if l.flying == 0 && len(l.behind) == 0 {
			a.handOver(c, l)
		}
		return
	case l.again && l.flying == 0:
		l.again = false
		l.round++
		l.queue = slices.Concat(l.takeMoved(), l.queue)
	}
	a.feed(c, l)
}

// handOver gives what waits in a retired lane to its heirs, in order and in front of what they have.
func (a *binnerActor) handOver(c actor.Context, l *lane) {
	waiting := slices.Concat(l.takeMoved(), l.queue)
	l.queue = nil
	queues := make([][]piece, len(l.heirs))
	for _, p := range waiting {
		if len(l.heirs) == 0 {
			a.finish(p, l.extent, fmt.Errorf("the table is no more: %w", tablet.ErrUsage))
			continue
		}
		p.write.left--
		for i, heir := range l.heirs {
			if part := p.within(heir.extent); len(part.mutations) > 0 {
				p.write.left++
				queues[i] = append(queues[i], part)
			}
		}
	}
	c.Send(c.Parent(), &protocol.LaneClosed{Tablet: l.tablet})
	for i, heir := range l.heirs {
		heir.queue = append(queues[i], heir.queue...)
		heir.behind = slices.DeleteFunc(heir.behind, func(b *lane) bool { return b == l })
	}
	for _, heir := range l.heirs {
		a.settleLane(c, heir)
	}
}

// within is the part of a piece whose rows are in an extent.
func (p piece) within(e tablet.Extent) piece {
	part := piece{write: p.write, batch: p.batch, doubtful: p.doubtful}
	for _, m := range p.mutations {
		if e.Contains(m.Row()) {
			part.mutations = append(part.mutations, m)
			part.bytes += int64(m.EstimatedMemory())
		}
	}
	return part
}

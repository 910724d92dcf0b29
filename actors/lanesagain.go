package actors

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/tablet"
	"millrace/writer/binning"
)

// What a tablet has not applied goes again if it is a batch writer's: at the front of its lane, in the order in which it was
// sent, while nothing else is sent. Source: the pool of failed mutations in Accumulo's client, which gives up the order.

// laneWait is how long a lane waits before it tries again what its tablet refused for the moment.
const laneWait = 500 * time.Millisecond

// onWriteSet queues what a batch writer has binned. If tablets have changed since, it is binned again.
func (a *binnerActor) onWriteSet(c actor.Context, m *protocol.WriteSet) {
	r := a.tables[m.Table]
	switch {
	case len(a.draining) > 0:
		m.Set.Refuse(fmt.Errorf("write to table %s: %w", m.Table, tablet.ErrClosed), false)
		return
	case r == nil:
		m.Set.Refuse(fmt.Errorf("no table %q: %w", m.Table, tablet.ErrUsage), false)
		return
	}
	w := &pendingWrite{Write: &protocol.Write{Table: m.Table, Durability: m.Set.Durability}, set: m.Set}
	bins := m.Set.Bins
	if m.Set.Map != r.extents {
		var all []*tablet.Mutation
		for i := range bins {
			all = append(all, bins[i].Mutations...)
		}
		binning.Mutations(all, r.extents, &a.scratch, &a.bins)
		bins = slices.Clone(a.bins.Bins)
		clear(a.bins.Bins)
	}
	a.queue(c, r, w, bins)
}

// onFailed sorts out what becomes of a batch that was not applied, or of which that is not known.
func (a *binnerActor) onFailed(c actor.Context, b *sentBatch, m *protocol.Applied) {
	l, gone := b.lane, isGone(m.Err)
	err := m.Err
	if gone { // the tablet's successor knows what the log knows
		err = fmt.Errorf("%w: %w", ErrUnknownOutcome, m.Err)
	}
	unknown := errors.Is(err, ErrUnknownOutcome)
	untouched := gone && errors.Is(m.Err, ErrStopped) && !errors.Is(m.Err, ErrUnknownOutcome) // it was left behind in a mailbox
	passes := gone || tablet.OutcomeOf(err).Retryable && !a.last
	waits := false
	for _, p := range b.pieces {
		if p.write.set == nil || !passes || unknown && !untouched && !p.write.set.AtLeastOnce {
			a.finish(p, l.extent, err)
			continue
		}
		p.doubtful = p.doubtful || unknown && !untouched
		l.moved = append(l.moved, p)
		waits = true
	}
	switch {
	case gone && l.tablet.Equal(b.to) && l.failed == nil:
		l.down = true // and a successor will be told of
	case gone:
		l.again = true
	case waits && !l.waiting:
		l.waiting = true
		a.rt.After(laneWait, c.Self(), &protocol.LaneAgain{Table: b.pieces[0].write.Table, Tablet: l.extent})
	}
}

// onLaneAgain tries again.
func (a *binnerActor) onLaneAgain(c actor.Context, m *protocol.LaneAgain) {
	r := a.tables[m.Table]
	if r == nil {
		return
	}
	if l := r.find(m.Tablet); l != nil && l.waiting {
		l.waiting, l.again = false, true
		a.settleLane(c, l)
		a.drained()
	}
}

// takeMoved gives what came back, in the order in which it was sent.
func (l *lane) takeMoved() []piece {
	moved := l.moved
	l.moved = nil
	slices.SortStableFunc(moved, func(x, y piece) int { return cmp.Compare(x.batch, y.batch) })
	return moved
}

// ErrOvertaken marks a batch writer's mutation that a tablet refused for the moment, and that was not tried again because a
// later one of its row had been applied.
var ErrOvertaken = errors.New("a later mutation of the row was applied before this one could be tried again")

// overtaken fails what was refused before a batch behind it was applied, for rows that are in both: to apply it now would
// turn the order around.
func (a *binnerActor) overtaken(l *lane, b *sentBatch) {
	if len(b.pieces) == 0 || !slices.ContainsFunc(l.moved, func(p piece) bool { return p.batch < b.pieces[0].batch }) {
		return
	}
	rows := make(map[string]bool)
	for _, p := range b.pieces {
		for _, m := range p.mutations {
			rows[string(m.Row())] = true
		}
	}
	left := l.moved[:0]
	for _, p := range l.moved {
		stays := piece{write: p.write, batch: p.batch, doubtful: p.doubtful}
		late := stays
		for _, m := range p.mutations {
			part := &stays
			if p.batch < b.pieces[0].batch && rows[string(m.Row())] {
				part = &late
			}
			part.mutations = append(part.mutations, m)
			part.bytes += int64(m.EstimatedMemory())
		}
		if len(late.mutations) > 0 && len(stays.mutations) > 0 {
			p.write.left++
		}
		if len(late.mutations) > 0 {
			a.finish(late, l.extent, ErrOvertaken)
		}
		if len(stays.mutations) > 0 {
			left = append(left, stays)
		}
	}
	clear(l.moved[len(left):])
	l.moved = left
}

// takeRefused takes out of a piece what a constraint stands against.
func (p *piece) takeRefused(e tablet.Extent, refused []protocol.Refusal) {
	why := make(map[*tablet.Mutation]error, len(refused))
	for _, r := range refused {
		why[r.Mutation] = r.Err
	}
	var left []*tablet.Mutation
	for _, m := range p.mutations {
		switch err := why[m]; {
		case err == nil:
			left = append(left, m)
		case p.write.set == nil:
			p.write.refused = append(p.write.refused, protocol.Refusal{Mutation: m, Err: err})
		default:
			p.bytes -= int64(m.EstimatedMemory())
			p.write.set.Fail([]*tablet.Mutation{m}, e, err, false)
		}
	}
	p.mutations = left
}

// onGiveUp fails what of a set waits for tablets that have applied nothing for too long.
func (a *binnerActor) onGiveUp(c actor.Context, m *protocol.GiveUp) {
	r := a.tables[m.Table]
	if r == nil {
		return
	}
	stuck := func(l *lane) bool { return !l.progress.After(m.Since) }
	for _, l := range r.lanes {
		if !stuck(l) {
			continue
		}
		a.giveUp(&l.queue, l, m)
		a.giveUp(&l.moved, l, m)
	}
	for number, b := range ordered(a.sent) {
		if stuck(b.lane) {
			for i := range b.pieces {
				b.pieces[i].doubtful = true
			}
			a.giveUp(&b.pieces, b.lane, m)
			a.sent[number] = b
		}
	}
	for _, l := range r.lanes {
		a.settleLane(c, l)
	}
	a.drained()
}

func (a *binnerActor) giveUp(pieces *[]piece, l *lane, m *protocol.GiveUp) {
	var left []piece
	for _, p := range *pieces {
		if p.write.set != m.Set {
			left = append(left, p)
			continue
		}
		a.finish(p, l.extent, m.Set.Expired())
	}
	*pieces = left
}

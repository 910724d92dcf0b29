package actors

import (
	"errors"
	"fmt"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/tablet"
)

// gather waits for one answer from each of several tablets.
type gather struct {
	left    int
	answers []any
	errs    []error
	done    func(c actor.Context, answers []any, err error)
	refuse  func(error) bool
	// token and tablets are of a compaction, which can be cancelled.
	token   uint64
	tablets []*actor.PID
}

// gather asks every tablet of a table with the message that ask makes for a request number.
func (a *engineActor) gather(c actor.Context, refs []protocol.TabletRef, refuse func(error) bool,
	ask func(request uint64) any, done func(c actor.Context, answers []any, err error)) *gather {
	a.asked++
	g := &gather{left: len(refs), done: done, refuse: refuse}
	a.gathers[a.asked] = g
	m := ask(a.asked)
	for _, r := range refs {
		g.tablets = append(g.tablets, r.PID)
		c.Send(r.PID, m)
	}
	return g
}

// onAnswer takes one tablet's answer.
func (a *engineActor) onAnswer(c actor.Context, request uint64, answer any, err error) {
	g := a.gathers[request]
	if g == nil {
		return
	}
	g.answers = append(g.answers, answer)
	if err != nil {
		g.errs = append(g.errs, err)
	}
	if g.left--; g.left == 0 {
		delete(a.gathers, request)
		g.done(c, g.answers, errors.Join(g.errs...))
	}
}

// table finds a table, or refuses.
func (a *engineActor) table(name string, refuse func(error) bool) (*engineTable, bool) {
	t := a.tables[name]
	if t == nil {
		refuse(fmt.Errorf("no table %q: %w", name, tablet.ErrUsage))
	}
	return t, t != nil
}

func (a *engineActor) onFlushTable(c actor.Context, m *protocol.FlushTable) {
	t, ok := a.table(m.Table, m.Refuse)
	if !ok {
		return
	}
	a.gather(c, t.is.Tablets, m.Refuse,
		func(request uint64) any { return &protocol.Flush{From: c.Self(), Request: request} },
		func(_ actor.Context, _ []any, err error) {
			if err != nil {
				m.Refuse(fmt.Errorf("flush table %s: %w", m.Table, err))
				return
			}
			m.Answer(&protocol.TableFlushed{})
		})
}

// onCompactTable flushes all tablets first, unless told not to, then has all of them compact.
func (a *engineActor) onCompactTable(c actor.Context, m *protocol.CompactTable) {
	t, ok := a.table(m.Table, m.Refuse)
	if !ok {
		return
	}
	if m.NoFlush {
		a.compactTable(c, t, m)
		return
	}
	g := a.gather(c, t.is.Tablets, m.Refuse,
		func(request uint64) any { return &protocol.Flush{From: c.Self(), Request: request} },
		func(c actor.Context, _ []any, err error) {
			if err != nil {
				m.Refuse(fmt.Errorf("compact table %s: flush: %w", m.Table, err))
				return
			}
			if !m.Abandoned() {
				a.compactTable(c, t, m)
			}
		})
	g.token = m.Token
}

func (a *engineActor) compactTable(c actor.Context, t *engineTable, m *protocol.CompactTable) {
	g := a.gather(c, t.is.Tablets, m.Refuse,
		func(request uint64) any { return &protocol.Compact{From: c.Self(), Request: request, Order: m.Order} },
		func(_ actor.Context, answers []any, err error) {
			if err != nil {
				m.Refuse(fmt.Errorf("compact table %s: %w", m.Table, err))
				return
			}
			r := &protocol.TableCompacted{}
			for _, answer := range answers {
				r.Tablets = append(r.Tablets, answer.(*protocol.Compacted).Result)
			}
			slices.SortFunc(r.Tablets, func(a, b protocol.TabletCompaction) int { return tablet.CompareExtents(a.Extent, b.Extent) })
			m.Answer(r)
		})
	g.token = m.Token
}

// onCancelCompact passes a cancellation on to the tablets that were asked.
func (a *engineActor) onCancelCompact(c actor.Context, m *protocol.CancelCompact) {
	for request, g := range ordered(a.gathers) {
		if g.token != m.Request {
			continue
		}
		for _, pid := range g.tablets {
			c.Send(pid, &protocol.CancelCompact{Request: request})
		}
	}
}

func (a *engineActor) onGetStats(c actor.Context, m *protocol.GetStats) {
	var refs []protocol.TabletRef
	for name, t := range ordered(a.tables) {
		if m.Table == "" || m.Table == name {
			refs = append(refs, t.is.Tablets...)
		}
	}
	if len(refs) == 0 {
		if m.Table == "" {
			m.Answer(&protocol.Stats{})
			return
		}
		a.table(m.Table, m.Refuse)
		return
	}
	a.gather(c, refs, m.Refuse,
		func(request uint64) any { return &protocol.GetTabletStats{From: c.Self(), Request: request} },
		func(_ actor.Context, answers []any, _ error) {
			r := &protocol.Stats{}
			for _, answer := range answers {
				r.Tablets = append(r.Tablets, *answer.(*protocol.TabletStats))
			}
			slices.SortFunc(r.Tablets, func(a, b protocol.TabletStats) int { return tablet.CompareExtents(a.Extent, b.Extent) })
			m.Answer(r)
		})
}

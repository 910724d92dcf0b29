package actors

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/tablet"
)

// gather waits for one answer from each of several tablets. Where a tablet is being split, or replaced after a failure,
// those that come in its place are asked again.
type gather struct {
	left    int
	answers []any
	errs    []error
	ask     func(request uint64) any
	done    func(c actor.Context, answers []any, err error)
	refuse  func(error) bool
	token   uint64 // of a compaction, which can be cancelled
}

// gatherPart is one tablet that was asked.
type gatherPart struct {
	gather *gather
	tablet *engineTablet
}

// deferredPart is rows whose tablets are to be asked when they are there again.
type deferredPart struct {
	gather *gather
	extent tablet.Extent
}

// gather asks every tablet of a table that meets an extent, with the message that ask makes for a request number.
func (a *engineActor) gather(c actor.Context, t *engineTable, e tablet.Extent, refuse func(error) bool,
	ask func(request uint64) any, done func(c actor.Context, answers []any, err error)) *gather {
	g := &gather{ask: ask, done: done, refuse: refuse, left: 1} // one for us, so that it does not end before all were asked
	a.askTablets(c, g, t, e)
	a.oneLess(c, g)
	return g
}

// askTablets adds tablets to a gather.
func (a *engineActor) askTablets(c actor.Context, g *gather, t *engineTable, e tablet.Extent) {
	for _, et := range t.order {
		if !meet(et.handle.extent, e) {
			continue
		}
		g.left++
		switch {
		case et.failed != nil:
			a.collect(c, g, nil, et.failed)
		case et.dead && len(a.stopping) > 0:
			a.collect(c, g, nil, ErrStopped)
		case et.dead:
			t.deferred = append(t.deferred, deferredPart{g, et.handle.extent})
		default:
			a.askTablet(c, g, et)
		}
	}
}

func (a *engineActor) askTablet(c actor.Context, g *gather, et *engineTablet) {
	a.asked++
	a.parts[a.asked] = &gatherPart{gather: g, tablet: et}
	c.Send(et.pid, g.ask(a.asked))
}

// askAgain asks the tablets that are there in the place of others.
func (a *engineActor) askAgain(c actor.Context, t *engineTable) {
	deferred := t.deferred
	t.deferred = nil
	for _, d := range deferred {
		a.askTablets(c, d.gather, t, d.extent)
		a.oneLess(c, d.gather) // what was asked in the first place
	}
}

// endDeferred ends, with an error, what waits for tablets that will not be there again.
func (a *engineActor) endDeferred(c actor.Context, t *engineTable, err error) {
	deferred := t.deferred
	t.deferred = nil
	for _, d := range deferred {
		a.collect(c, d.gather, nil, err)
	}
}

// onAnswer takes one tablet's answer.
func (a *engineActor) onAnswer(c actor.Context, request uint64, answer any, err error) {
	p := a.parts[request]
	if p == nil {
		return
	}
	delete(a.parts, request)
	t := p.tablet.table
	again := errors.Is(err, errMoved) || isGone(err)
	if again && len(a.stopping) == 0 && a.tables[t.name] == t {
		if slices.Contains(t.order, p.tablet) {
			t.deferred = append(t.deferred, deferredPart{p.gather, p.tablet.handle.extent})
		} else { // others have taken its place already
			a.askTablets(c, p.gather, t, p.tablet.handle.extent)
			a.oneLess(c, p.gather)
		}
		return
	}
	a.collect(c, p.gather, answer, err)
}

// collect adds an answer to a gather, and ends it with the last one.
func (a *engineActor) collect(c actor.Context, g *gather, answer any, err error) {
	if err != nil {
		g.errs = append(g.errs, err)
	} else {
		g.answers = append(g.answers, answer)
	}
	a.oneLess(c, g)
}

func (a *engineActor) oneLess(c actor.Context, g *gather) {
	if g.left--; g.left == 0 {
		g.done(c, g.answers, errors.Join(g.errs...))
	}
}

// meet says whether two extents of one table have rows in common.
func meet(a, b tablet.Extent) bool {
	before := func(x, y tablet.Extent) bool {
		return x.EndRow != nil && y.PrevEndRow != nil && bytes.Compare(x.EndRow, y.PrevEndRow) <= 0
	}
	return !before(a, b) && !before(b, a)
}

// lost answers in the name of a tablet that has ended.
func (a *engineActor) lost(c actor.Context, et *engineTablet) {
	for request, p := range ordered(a.parts) {
		if p.tablet == et {
			a.onAnswer(c, request, nil, ErrStopped)
		}
	}
	for request, s := range ordered(a.splits) {
		if s.tablet == et {
			a.onSplitDone(c, &protocol.SplitDone{Request: request, Err: ErrStopped})
		}
	}
}

// table finds a table, or refuses.
func (a *engineActor) table(name string, refuse func(error) bool) (*engineTable, bool) {
	t := a.tables[name]
	if t == nil || !t.made {
		refuse(fmt.Errorf("no table %q: %w", name, tablet.ErrUsage))
		return nil, false
	}
	return t, true
}

// all is the extent of every row of a table.
func (t *engineTable) all() tablet.Extent { return tablet.Extent{Table: t.name} }

func (a *engineActor) onFlushTable(c actor.Context, m *protocol.FlushTable) {
	t, ok := a.table(m.Table, m.Refuse)
	if !ok {
		return
	}
	a.gather(c, t, t.all(), m.Refuse,
		func(request uint64) any { return &protocol.Flush{From: c.Self(), Request: request} },
		func(_ actor.Context, _ []any, err error) {
			if err != nil {
				m.Refuse(fmt.Errorf("flush table %s: %w", m.Table, err))
				return
			}
			m.Answer(&protocol.TableFlushed{})
		})
}

// onFlushUnlogged asks the tablets that are there. Where one has failed, what was not logged is gone already.
func (a *engineActor) onFlushUnlogged(c actor.Context, m *protocol.FlushUnlogged) {
	g := &gather{refuse: m.Refuse, left: 1}
	g.ask = func(request uint64) any { return &protocol.Flush{From: c.Self(), Request: request, Unlogged: true} }
	g.done = func(_ actor.Context, _ []any, err error) {
		if err != nil {
			m.Refuse(err)
			return
		}
		m.Answer(&protocol.TableFlushed{})
	}
	for _, t := range ordered(a.tables) {
		for _, et := range t.order {
			if t.made && et.failed == nil && !et.dead {
				g.left++
				a.askTablet(c, g, et)
			}
		}
	}
	a.oneLess(c, g)
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
	g := a.gather(c, t, t.all(), m.Refuse,
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
	g := a.gather(c, t, t.all(), m.Refuse,
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
	m.Taken()
	for request, p := range ordered(a.parts) {
		if p.gather.token == m.Request {
			c.Send(p.tablet.pid, &protocol.CancelCompact{Request: request})
		}
	}
	for _, t := range ordered(a.tables) {
		var cancelled []*gather
		t.deferred = slices.DeleteFunc(t.deferred, func(d deferredPart) bool {
			if d.gather.token != m.Request {
				return false
			}
			cancelled = append(cancelled, d.gather)
			return true
		})
		for _, g := range cancelled {
			a.collect(c, g, nil, errCancelled)
		}
	}
}

func (a *engineActor) onGetStats(c actor.Context, m *protocol.GetStats) {
	var tables []*engineTable
	if m.Table == "" {
		for _, t := range ordered(a.tables) {
			if t.made {
				tables = append(tables, t)
			}
		}
	} else if t, ok := a.table(m.Table, m.Refuse); ok {
		tables = append(tables, t)
	} else {
		return
	}
	g := &gather{refuse: m.Refuse, left: 1}
	g.ask = func(request uint64) any { return &protocol.GetTabletStats{From: c.Self(), Request: request} }
	g.done = func(_ actor.Context, answers []any, _ error) {
		r := &protocol.Stats{}
		for _, answer := range answers {
			if s, ok := answer.(*protocol.TabletStats); ok {
				r.Tablets = append(r.Tablets, *s)
			}
		}
		slices.SortFunc(r.Tablets, func(a, b protocol.TabletStats) int { return tablet.CompareExtents(a.Extent, b.Extent) })
		m.Answer(r)
	}
	for _, t := range tables {
		a.askTablets(c, g, t, t.all())
	}
	a.oneLess(c, g)
}

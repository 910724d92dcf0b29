package actors

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/tablet"
	"millrace/tablet/manifest"
)

// splitting is a user's wish for cuts, one after the other.
type splitting struct {
	*protocol.AddSplits
	table  *engineTable
	rows   [][]byte      // that are left
	tablet *engineTablet // the one that is being split
}

// onAddSplits cuts a table at rows, in ascending order.
func (a *engineActor) onAddSplits(c actor.Context, m *protocol.AddSplits) {
	t, ok := a.table(m.Table, m.Refuse)
	if !ok {
		return
	}
	s := &splitting{AddSplits: m, table: t, rows: slices.Clone(m.Rows)}
	slices.SortFunc(s.rows, bytes.Compare)
	a.change(c, t, tableChange{refuse: m.Refuse, begin: func(c actor.Context) { a.splitNext(c, s) }})
}

// splitNext has the next tablet split in which a row lies that is not its end.
func (a *engineActor) splitNext(c actor.Context, s *splitting) {
	for ; len(s.rows) > 0; s.rows = s.rows[1:] {
		row := s.rows[0]
		i := slices.IndexFunc(s.table.order, func(et *engineTablet) bool { return et.handle.extent.Contains(row) })
		et := s.table.order[i]
		if end := et.handle.extent.EndRow; end != nil && bytes.Equal(end, row) {
			continue
		}
		if et.dead {
			a.splitFailed(c, s, fmt.Errorf("tablet %v is being replaced: %w", et.handle.extent, tablet.ErrBusy))
			return
		}
		a.asked++
		a.splits[a.asked] = s
		s.tablet = et
		c.Send(et.pid, &protocol.Split{From: c.Self(), Request: a.asked, Row: row, Low: a.core.number(), High: a.core.number()})
		return
	}
	s.Answer(&protocol.SplitsAdded{})
	a.changed(c, s.table)
}

func (a *engineActor) splitFailed(c actor.Context, s *splitting, err error) {
	s.Refuse(fmt.Errorf("split table %s: %w", s.Table, err))
	a.changed(c, s.table)
}

// onSplitDone starts the halves, and goes on to the next row.
func (a *engineActor) onSplitDone(c actor.Context, m *protocol.SplitDone) {
	s := a.splits[m.Request]
	if s == nil {
		return
	}
	delete(a.splits, m.Request)
	var err error
	switch {
	case m.Err == nil:
		err = a.putHalves(c, s.tablet, a.core.state.Load(), []uint64{m.Low, m.High})
	case len(a.stopping) > 0 && isGone(m.Err):
		err = errClosed
	default:
		err = passedOn("tablet", m.Err)
		a.publish(c, s.table) // what came back as moved goes to where it came from
	}
	if err != nil {
		a.splitFailed(c, s, err)
		return
	}
	a.splitNext(c, s)
}

// putHalves starts the tablets that came of a split in the place of the old one.
func (a *engineActor) putHalves(c actor.Context, et *engineTablet, s *manifest.State, numbers []uint64) error {
	t := et.table
	var halves []*engineTablet
	for _, number := range numbers {
		h, err := loadTablet(a.core, number, stateOf(s.Tablet(number)), t.settings)
		if err != nil {
			return err
		}
		halves = append(halves, a.newTablet(t, h))
	}
	for _, half := range halves {
		a.spawnTablet(c, half)
	}
	i := slices.Index(t.order, et)
	t.order = slices.Replace(slices.Clone(t.order), i, i+1, halves...)
	et.leaving = true
	delete(a.tablets, et.number)
	a.publish(c, t)
	return nil
}

// onLaneClosed stops a tablet that was split, now that nothing is on its way to it any more.
func (a *engineActor) onLaneClosed(c actor.Context, m *protocol.LaneClosed) {
	if et := a.byPID[m.Tablet.Id]; et != nil && et.leaving {
		c.Stop(et.pid)
	}
}

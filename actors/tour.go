package actors

import (
	"context"

	"millrace/actors/protocol"
	"millrace/tablet"
)

// tour goes through the tablets that hold a range, as they are when it comes to them: a tablet that was split or replaced
// meanwhile is found again by the rows that are left.
type tour struct {
	store *Store
	table string
	rest  tablet.Range // not yet come to
	more  bool         // there may be something in it
}

// tabletPart is a view of a tablet, and the part of a range that lies in it.
type tabletPart struct {
	view   protocol.View
	extent tablet.Extent
	rng    tablet.Range
}

// begin starts at the range's first tablet.
func (t *tour) begin(r tablet.Range) { t.rest, t.more = r, !r.Empty() }

// next takes a view of the next tablet; ok is false at the end. The caller releases the view. Only while a tablet is being
// split or replaced does it wait, and send a message.
func (t *tour) next(ctx context.Context) (part tabletPart, ok bool, err error) {
	if !t.more {
		return part, false, nil
	}
	table, err := t.store.table(t.table)
	for err == nil {
		lo, hi := table.extents.Overlapping(t.rest)
		if lo >= hi {
			t.more = false
			return part, false, nil
		}
		ref := &table.tablets[lo]
		view, viewErr := ref.View()
		if viewErr == nil {
			part = tabletPart{view: view, extent: ref.Extent, rng: t.rest.Clip(ref.Extent.DataRange())}
			t.pass(ref.Extent)
			return part, true, nil
		}
		table, err = t.store.newer(ctx, table)
	}
	return part, false, err
}

// pass leaves a tablet behind.
func (t *tour) pass(e tablet.Extent) {
	if e.EndRow == nil {
		t.more = false
		return
	}
	t.rest = t.rest.Clip(tablet.RowRange(tablet.RowBounds{Start: e.EndRow, StartExclusive: true}))
	t.more = !t.rest.Empty()
}

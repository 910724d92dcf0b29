package iter

import (
	"bytes"
	"context"
	"fmt"

	"millrace/tablet"
)

// RowFilter keeps the rows that a RowTest accepts. A row is read for the test first, then sought again, so that nothing is
// held in memory. Of rows that are not accepted the delete markers pass, which compactions meet.
type RowFilter struct {
	source Iterator
	test   RowTest
	scope  Scope

	r        tablet.Range
	f        tablet.Families
	row      []byte // decided on last
	decided  bool
	accepted bool
	ended    bool // the source has come behind the range
}

// RowTest decides row by row. It holds nothing that counts between two rows, so that clones of a filter share it.
type RowTest interface {
	// Init reads the options. Unknown ones were refused.
	Init(opts map[string]string, env Env) error
	// Describe tells what Init reads.
	Describe() Description
	// AcceptRow decides on one row. The iterator stands at the row's first entry of the wanted families, also when the
	// scan's range starts behind it, and ends with the row. It may be sought within the row, and is not kept.
	AcceptRow(ctx context.Context, row []byte, entries Iterator) (bool, error)
}

// NewRowFilter returns an iterator over the rows that a RowTest accepts.
func NewRowFilter(t RowTest) *RowFilter { return &RowFilter{test: t} }

// Describe is that of the test.
func (x *RowFilter) Describe() Description { return x.test.Describe() }

// Init is as in Iterator.
func (x *RowFilter) Init(opts map[string]string, env Env) error {
	if env.Source == nil {
		return errNoSource
	}
	x.source, x.scope = env.Source, env.Scope
	if err := x.Describe().refuseUnknown(opts); err != nil {
		return err
	}
	return x.test.Init(opts, env)
}

// Seek is as in Iterator.
func (x *RowFilter) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	x.r, x.f, x.decided, x.ended = r, f, false, false
	if err := x.source.Seek(ctx, r, f); err != nil {
		return err
	}
	return x.settle(ctx)
}

// Next is as in Iterator.
func (x *RowFilter) Next(ctx context.Context) error {
	if x.ended {
		return errNoTop
	}
	if err := x.source.Next(ctx); err != nil {
		return err
	}
	return x.settle(ctx)
}

// settle goes on to an entry to keep, unless the source stands at one.
func (x *RowFilter) settle(ctx context.Context) error {
	for {
		top, ok := x.source.Top()
		if !ok {
			return nil
		}
		if x.r.AfterEnd(&top.Key) {
			x.ended = true
			return nil
		}
		if !x.decided || !bytes.Equal(top.Key.Row(), x.row) {
			if err := x.decide(ctx, top.Key.Row()); err != nil {
				x.ended = true
				return err
			}
			continue // the source was sought
		}
		if x.accepted || top.Key.Deleted() {
			return nil
		}
		if err := x.source.Next(ctx); err != nil {
			return err
		}
	}
}

// decide asks about a row and goes back to where the range and the row begin, or behind the row if it is of no interest.
func (x *RowFilter) decide(ctx context.Context, row []byte) (err error) {
	row = bytes.Clone(row) // sources keep the ranges that they are sought to
	view := &rowView{source: x.source, row: row, r: tablet.Range{}.WithStart(rowStart(row)).Clip(tablet.RowRange(tablet.RowBounds{End: row}))}
	if err := view.Seek(ctx, view.r, x.f); err != nil {
		return err
	}
	x.row, x.decided = row, true
	if x.accepted, err = x.test.AcceptRow(ctx, row, view); err != nil {
		return fmt.Errorf("row %q: %w", row, err)
	}
	from := rowStart(row)
	if !x.accepted && x.scope == Scan {
		from = afterRow(row)
	}
	r := x.r
	if r.BeforeStart(&from) {
		return x.source.Seek(ctx, r, x.f)
	}
	return x.source.Seek(ctx, r.WithStart(from), x.f)
}

// Top is as in Iterator.
func (x *RowFilter) Top() (tablet.Entry, bool) {
	if x.ended {
		return tablet.Entry{}, false
	}
	return x.source.Top()
}

// Clone is as in Iterator.
func (x *RowFilter) Clone(env Env) (Iterator, error) {
	if env.Source == nil {
		return nil, errNoSource
	}
	return &RowFilter{source: env.Source, test: x.test, scope: x.scope}, nil
}

// rowView is an iterator that ends with a row.
type rowView struct {
	source Iterator
	row    []byte
	r      tablet.Range // of the row
	none   bool         // sought to a place outside the row
}

func (v *rowView) Init(map[string]string, Env) error { return nil }

func (v *rowView) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	r = r.Clip(v.r)
	if v.none = r.Empty(); v.none {
		return nil
	}
	return v.source.Seek(ctx, r, f)
}

func (v *rowView) Next(ctx context.Context) error {
	if _, ok := v.Top(); !ok {
		return errNoTop
	}
	return v.source.Next(ctx)
}

func (v *rowView) Top() (tablet.Entry, bool) {
	if v.none || !inRow(v.source, v.row) {
		return tablet.Entry{}, false
	}
	return v.source.Top()
}

func (v *rowView) Clone(Env) (Iterator, error) {
	return nil, fmt.Errorf("clone the view of a row: %w", tablet.ErrUnsupported)
}

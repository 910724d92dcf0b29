package iter

import (
	"context"
	"errors"
	"slices"
	"testing"

	"millrace/tablet"
)

// askedRows accepts every row, and notes which it was asked about.
type askedRows struct {
	asked []string
	err   error
}

func (a *askedRows) Init(map[string]string, Env) error { return nil }
func (a *askedRows) Describe() Description             { return Description{What: "keeps all"} }

func (a *askedRows) AcceptRow(ctx context.Context, row []byte, entries Iterator) (bool, error) {
	a.asked = append(a.asked, string(row))
	if err := entries.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		return false, err
	}
	for inRow(entries, row) {
		if err := entries.Next(ctx); err != nil {
			return false, err
		}
	}
	if _, ok := entries.Top(); ok {
		return false, errors.New("the view goes on behind the row")
	}
	if err := entries.Seek(ctx, tablet.Range{}.WithStart(afterRow(row)), tablet.Families{}); err != nil {
		return false, err
	}
	if _, ok := entries.Top(); ok {
		return false, errors.New("the view can be sought to behind the row")
	}
	if err := entries.Next(ctx); !errors.Is(err, tablet.ErrUsage) {
		return false, errors.New("next where the view has no entry")
	}
	return true, a.err
}

// endless is an iterator that does not stop at the end of a range, as it may.
type endless struct{ Iterator }

func (e endless) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	if start, ok := r.Start(); ok {
		r = tablet.Range{}.After(start.Key)
		if start.Inclusive {
			r = r.WithStart(start.Key)
		}
	} else {
		r = tablet.Range{}
	}
	return e.Iterator.Seek(ctx, r, f)
}

// TestRowFilterAsksOnceWithinTheRange has rows be read no oftener and no further than needed, whatever lies below.
func TestRowFilterAsksOnceWithinTheRange(t *testing.T) {
	in := parseEntries(t, "v f:q [] 1 1\nw f:q [] 1 1\nx f:q [] 2 1\nx g:q [] 1 1\ny f:q [] 1 1\nz f:q [] 1 1")
	a := &askedRows{}
	it := NewRowFilter(a)
	if err := it.Init(nil, Env{Source: endless{entriesOver(FromEntries(in, 2))}}); err != nil {
		t.Fatal(err)
	}
	r := tablet.RowRange(tablet.RowBounds{Start: []byte("w"), End: []byte("y")})
	if got := mustReadEntries(t, it, r, tablet.Families{}); !entriesEqual(got, in[1:5]) {
		t.Errorf("got\n%s", show(got))
	}
	if !slices.Equal(a.asked, []string{"w", "x", "y"}) {
		t.Errorf("asked about %q", a.asked)
	}
	a.asked = nil
	r = r.After(in[2].Key)
	if got := mustReadEntries(t, it, r, tablet.Families{}); !entriesEqual(got, in[3:5]) {
		t.Errorf("from within a row: got\n%s", show(got))
	}
	if !slices.Equal(a.asked, []string{"x", "y"}) {
		t.Errorf("from within a row: asked about %q", a.asked)
	}
	a.err = errors.New("boom")
	if got, err := readEntries(it, r, tablet.Families{}); !errors.Is(err, a.err) || len(got) != 0 {
		t.Errorf("got %v and\n%s", err, show(got))
	}
	if _, ok := it.Top(); ok {
		t.Error("a top after an error")
	}
}

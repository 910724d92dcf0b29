package iter

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"millrace/tablet"
)

// The model of a stack: one list a step, as the iterators are described.

func modelDeletes(in []tablet.Entry, propagate bool) (out []tablet.Entry) {
	var marker *tablet.Key
	for _, e := range in {
		if marker != nil && tablet.SameCell(marker, &e.Key) {
			continue
		}
		if e.Key.Deleted() {
			marker = &e.Key
			if !propagate {
				continue
			}
		}
		out = append(out, e)
	}
	return out
}

func modelColumns(in []tablet.Entry, columns []Column) (out []tablet.Entry) {
	for _, e := range in {
		wanted := len(columns) == 0
		for _, c := range columns {
			wanted = wanted || bytes.Equal(c.Family, e.Key.Family()) && (c.Whole || bytes.Equal(c.Qualifier, e.Key.Qualifier()))
		}
		if wanted {
			out = append(out, e)
		}
	}
	return out
}

func modelVisible(in []tablet.Entry, visible func([]byte) bool) (out []tablet.Entry) {
	for _, e := range in {
		if visible == nil || visible(e.Key.Visibility()) {
			out = append(out, e)
		}
	}
	return out
}

func modelVersions(in []tablet.Entry, most int) (out []tablet.Entry) {
	n := 0
	for i, e := range in {
		if i == 0 || !tablet.SameCell(&in[i-1].Key, &e.Key) {
			n = 0
		}
		if n++; most == 0 || n <= most {
			out = append(out, e)
		}
	}
	return out
}

// stackCase is a random setting of a stack.
type stackCase struct {
	opts    StackOptions
	columns []Column
}

func newStackCase(g *keyMaker) stackCase {
	r := g.r
	c := stackCase{opts: StackOptions{PropagateDeletes: r.IntN(2) == 0, MaxVersions: r.IntN(4)}}
	if r.IntN(3) == 0 {
		for range 1 + r.IntN(4) {
			k := g.key()
			c.columns = append(c.columns, Column{Family: k.Family(), Qualifier: k.Qualifier(), Whole: r.IntN(3) == 0})
		}
		c.opts.Columns = FetchColumns(c.columns...)
	}
	if r.IntN(3) == 0 {
		odd := r.IntN(2)
		c.opts.Visible = func(label []byte) bool { return len(label)%2 == odd }
	}
	return c
}

func (c stackCase) model(merged []tablet.Entry) []tablet.Entry {
	out := modelDeletes(merged, c.opts.PropagateDeletes)
	out = modelColumns(out, c.columns)
	out = modelVisible(out, c.opts.Visible)
	return modelVersions(out, c.opts.MaxVersions)
}

// TestStackRandom holds stacks against the model, in ranges too, and their codes against direct computation.
func TestStackRandom(t *testing.T) {
	r := random(t)
	pool := NewPool()
	for range rounds(20_000) {
		g := newKeyMaker(r)
		sources := g.sources(1+r.IntN(8), 1+r.IntN(24))
		c := newStackCase(g)
		whole := c.model(reference(sources))
		m := verified(pool.Get(allModes[r.IntN(2)], openSources(r, sources)))
		s := NewStack(m, c.opts)
		for range 3 {
			rg := randomRange(g)
			if err := s.Seek(ctx, rg, c.opts.Columns.Families()); err != nil {
				t.Fatal(err)
			}
			got := mustRead(t, s, 1+r.IntN(9))
			want := clip(whole, rg, tablet.Families{})
			if !entriesEqual(got.entries, want) {
				t.Fatalf("%+v %v: got\n%swant\n%sof\n%s", c, rg, show(got.entries), show(want), show(reference(sources)))
			}
			var base *tablet.Key
			if start, ok := rg.Start(); ok && rg.Empty() && start.Inclusive {
				base = &start.Key
			} else if ok && !rg.Empty() {
				k := cellStart(&start.Key)
				base = &k
			}
			checkCodes(t, got, base)
			checkEnd(t, s)
		}
		if b := s.Books(); b.Balance() != nil || b.Read != m.Stats().Entries {
			t.Fatalf("%+v, but the merge put out %d", b, m.Stats().Entries)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStackTearDown tears a stack down after every entry and goes on behind it.
func TestStackTearDown(t *testing.T) {
	r := random(t)
	for range rounds(3_000) {
		g := newKeyMaker(r)
		sources := g.sources(1+r.IntN(4), 12)
		c := newStackCase(g)
		want := c.model(reference(sources))
		checkTearDown(t, want, func() Iterator {
			return NewEntries(NewStack(verified(NewMerge(New, openSources(r, sources))), c.opts))
		}, c.opts.Columns.Families())
	}
}

// checkTearDown wants each continuation to be what a run in one piece has behind the last key.
func checkTearDown(t *testing.T, want []tablet.Entry, open func() Iterator, f tablet.Families) {
	t.Helper()
	for cut := -1; cut < len(want); cut++ {
		rg, rest := tablet.Range{}, want
		if cut >= 0 {
			last := want[cut].Key
			rg = rg.After(last)
			rest = nil
			for _, e := range want {
				if tablet.Compare(&e.Key, &last) > 0 {
					rest = append(rest, e)
				}
			}
		}
		if got := mustReadEntries(t, open(), rg, f); !entriesEqual(got, rest) {
			t.Fatalf("from %v: got\n%swant\n%s", rg, show(got), show(rest))
		}
	}
}

func mustReadEntries(t *testing.T, it Iterator, r tablet.Range, f tablet.Families) []tablet.Entry {
	t.Helper()
	out, err := readEntries(it, r, f)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func readEntries(it Iterator, r tablet.Range, f tablet.Families) (out []tablet.Entry, err error) {
	if err := it.Seek(ctx, r, f); err != nil {
		return nil, err
	}
	for {
		e, ok := it.Top()
		if !ok {
			return out, nil
		}
		out = append(out, e.Clone())
		if err := it.Next(ctx); err != nil {
			return out, err
		}
	}
}

// script runs a stack over one source and wants an output.
func script(t *testing.T, o StackOptions, in, want string) Books {
	t.Helper()
	s := NewStack(verified(NewMerge(New, []Source{FromEntries(parseEntries(t, in), 2)})), o)
	if err := s.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		t.Fatal(err)
	}
	got := formatEntries(mustRead(t, s, 3).entries)
	if want := formatEntries(parseEntries(t, want)); got != want {
		t.Errorf("%+v: got\n%swant\n%s", o, got, want)
	}
	return s.Books()
}

// TestDeletes is the example of the delete iterator's description.
func TestDeletes(t *testing.T) {
	in := `
		x f:q [] 9 v
		x f:q [] 7 delete
		x f:q [] 7 v
		x f:q [] 5 v
		y f:q [] 3 v`
	script(t, StackOptions{}, in, `
		x f:q [] 9 v
		y f:q [] 3 v`)
	books := script(t, StackOptions{PropagateDeletes: true}, in, `
		x f:q [] 9 v
		x f:q [] 7 delete
		y f:q [] 3 v`)
	if want := (Books{Read: 5, Written: 3, Hidden: 2}); books != want {
		t.Errorf("got %+v, want %+v", books, want)
	}
}

func TestVersions(t *testing.T) {
	in := `
		x f:q [] 9 v9
		x f:q [] 8 v8
		x f:q [] 7 delete
		x f:q [] 5 v5
		x f:q [a] 5 other
		y f:q [] 5 v5`
	books := script(t, StackOptions{MaxVersions: 1}, in, `
		x f:q [] 9 v9
		x f:q [a] 5 other
		y f:q [] 5 v5`)
	if want := (Books{Read: 6, Written: 3, Versions: 1, Markers: 1, Hidden: 1}); books != want {
		t.Errorf("got %+v, want %+v", books, want)
	}
	// A propagated marker counts as a version, and is dropped like one.
	script(t, StackOptions{MaxVersions: 2, PropagateDeletes: true}, in, `
		x f:q [] 9 v9
		x f:q [] 8 v8
		x f:q [a] 5 other
		y f:q [] 5 v5`)
	script(t, StackOptions{MaxVersions: 3, PropagateDeletes: true}, in, `
		x f:q [] 9 v9
		x f:q [] 8 v8
		x f:q [] 7 delete
		x f:q [a] 5 other
		y f:q [] 5 v5`)
}

// TestVisibleOnceACell counts the questions.
func TestVisibleOnceACell(t *testing.T) {
	asked := map[string]int{}
	visible := func(label []byte) bool {
		asked[string(label)]++
		return string(label) != "no"
	}
	script(t, StackOptions{Visible: visible}, `
		x f:q [no] 9 v
		x f:q [no] 8 v
		x f:q [no] 7 v
		x f:q [yes] 9 v
		x f:q [yes] 8 v
		y f:q [] 1 v`, `
		x f:q [yes] 9 v
		x f:q [yes] 8 v
		y f:q [] 1 v`)
	if asked["no"] != 1 || asked["yes"] != 1 || asked[""] != 1 {
		t.Errorf("asked %v", asked)
	}
}

func TestColumns(t *testing.T) {
	in := `
		x f:q [] 9 v
		x f:r [] 9 v
		x g:q [] 9 v
		x g:r [] 9 v
		y f:q [] 9 v
		y h:q [] 9 v`
	col := func(family, qualifier string) Column {
		return Column{Family: []byte(family), Qualifier: []byte(qualifier)}
	}
	books := script(t, StackOptions{Columns: FetchColumns(col("f", "q"), Column{Family: []byte("g"), Whole: true})}, in, `
		x f:q [] 9 v
		x g:q [] 9 v
		x g:r [] 9 v
		y f:q [] 9 v`)
	if want := (Books{Read: 6, Written: 4, Filtered: 2}); books != want {
		t.Errorf("got %+v, want %+v", books, want)
	}
	// Families alone are the sources' work.
	script(t, StackOptions{Columns: FetchColumns(Column{Family: []byte("g"), Whole: true})}, in, in)

	names := FetchColumns(col("b", "q"), col("a", "q"), col("b", "r")).Families().Names()
	if !slices.EqualFunc(names, []string{"a", "b"}, func(n []byte, s string) bool { return string(n) == s }) {
		t.Errorf("families %q", names)
	}
}

// TestFillSome wants control back though nothing is kept.
func TestFillSome(t *testing.T) {
	var in []tablet.Entry
	for ts := range 100 {
		in = append(in, tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: []byte("x"), Timestamp: int64(-ts), Deleted: ts == 0})})
	}
	s := NewStack(verified(NewMerge(New, []Source{FromEntries(in, 10)})), StackOptions{})
	if err := s.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		t.Fatal(err)
	}
	runs := make([]Run, 4)
	for i := range 10 {
		n, more, err := s.FillSome(ctx, runs)
		if n != 0 || !more || err != nil {
			t.Fatalf("call %d: %d runs, more %v, %v", i, n, more, err)
		}
	}
	if n, more, err := s.FillSome(ctx, runs); n != 0 || more || err != nil {
		t.Fatalf("end: %d runs, more %v, %v", n, more, err)
	}
}

// TestStackReused wants nothing of a stack's last use in its next.
func TestStackReused(t *testing.T) {
	pool := NewPool()
	entries := parseEntries(t, `
		x f:q [] 9 delete
		x f:q [] 8 v`)
	for range 2 {
		for _, o := range []StackOptions{{MaxVersions: 1, Visible: func([]byte) bool { return false }}, {PropagateDeletes: true}} {
			s := NewStack(verified(pool.Get(New, []Source{FromEntries(entries, 1)})), o)
			if err := s.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
				t.Fatal(err)
			}
			got := mustRead(t, s, 1)
			if want := 1; o.PropagateDeletes && len(got.entries) != want {
				t.Fatalf("got\n%s", show(got.entries))
			}
			if b := s.Books(); b.Read != 2 {
				t.Fatalf("books %+v", b)
			}
			s.Close()
			s.Close()
		}
	}
}

// TestStackAllocatesNothing reads a whole stack, pooled, for nothing.
func TestStackAllocatesNothing(t *testing.T) {
	pool := NewPool()
	r := rand.New(rand.NewPCG(1, 2))
	sources := make([]Source, 5)
	for i := range sources {
		sources[i] = FromBatches(Batches(reference(newKeyMaker(r).sources(1, 200)), 16))
	}
	runs := make([]Run, 8)
	visible := func(label []byte) bool { return len(label) < 3 }
	var key tablet.Key
	for _, mode := range allModes {
		got := testing.AllocsPerRun(100, func() {
			m := pool.Get(mode, sources)
			m.verify = false
			s := NewStack(m, StackOptions{MaxVersions: 2, Visible: visible})
			if err := s.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
				t.Fatal(err)
			}
			for {
				n, err := s.Fill(ctx, runs)
				if err != nil {
					t.Fatal(err)
				}
				if n == 0 {
					break
				}
				key = s.Batch(runs[0].Src).Key(int(runs[0].Lo))
			}
			s.Close()
		})
		if got != 0 {
			t.Errorf("%v: %v allocations, want 0", mode, got)
		}
	}
	_ = key
}

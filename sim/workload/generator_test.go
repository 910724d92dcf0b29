package workload

import (
	"bytes"
	"errors"
	"regexp"
	"testing"

	"millrace/tablet"
)

func newGenerator(t testing.TB, o Options) *Generator {
	t.Helper()
	g, err := NewGenerator(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestCounts(t *testing.T) {
	f := func(flushEntries, depth int, limit int64, want Counts) {
		t.Helper()
		o := Options{FlushEntries: flushEntries, Depth: depth, Limit: limit}
		if got := o.CountsAt(limit); got != want {
			t.Errorf("CountsAt(%d) with F=%d D=%d: %+v, want %+v", limit, flushEntries, depth, got, want)
		}
		if limit > 2_000_000 {
			return // the arithmetic is held against the stream at the smaller sizes
		}
		g := newGenerator(t, o)
		for {
			if _, ok := g.Next(); !ok {
				break
			}
		}
		if g.Counts() != want {
			t.Errorf("stream of F=%d D=%d limit %d: %+v, want %+v", flushEntries, depth, limit, g.Counts(), want)
		}
	}
	f(1000, 25, 1_000_000, Counts{Writes: 1_000_962, Updates: 37_962, Flushes: 38*26 + 13, Cycles: 38})
	f(1_000_000, 25, 1_000_000_000, Counts{Writes: 1_000_999_962, Updates: 37_999_962, Flushes: 38*26 + 13, Cycles: 38})
	f(10, 2, 1, Counts{Writes: 10, Flushes: 1})
	f(10, 2, 10, Counts{Writes: 10, Flushes: 1})
	f(10, 2, 11, Counts{Writes: 20, Flushes: 2})
	f(10, 2, 21, Counts{Writes: 29, Updates: 9, Flushes: 3, Cycles: 1})
	f(10, 2, 29, Counts{Writes: 29, Updates: 9, Flushes: 3, Cycles: 1})
	f(10, 2, 30, Counts{Writes: 39, Updates: 9, Flushes: 4, Cycles: 1})
	f(1, 3, 7, Counts{Writes: 7, Flushes: 7, Cycles: 2})
	f(1, 3, 5, Counts{Writes: 5, Flushes: 5, Cycles: 1})
	f(1, 3, 6, Counts{Writes: 6, Flushes: 6, Cycles: 2})
	f(4, 1, 6, Counts{Writes: 7, Updates: 3, Flushes: 2, Cycles: 1})

	c := Options{}.CountsAt(1_000_000_000)
	if c.Cells() != 963_000_000 {
		t.Errorf("%d cells, want 963,000,000", c.Cells())
	}
}

// TestProtocol follows a stream and holds each write against the rules: who refers to whom, and when a flush is due.
func TestProtocol(t *testing.T) {
	const lists, depth = 7, 3
	g := newGenerator(t, Options{Seed: 5, FlushEntries: lists, Depth: depth, Labels: []string{"A&B", "C|D"}})
	next := func() (Write, Value) {
		w, _ := g.Next()
		k := keyOf(w)
		v, err := Check(&k, w.Value)
		if err != nil {
			t.Fatal(err)
		}
		m := w.Mutation()
		for u := range m.All() {
			return Write{Row: m.Row(), Family: u.Family, Qualifier: u.Qualifier, Visibility: u.Visibility, Value: u.Value, Update: w.Update}, v
		}
		panic("no update")
	}
	var count uint64
	labels := map[string]bool{}
	for range 6 {
		var first, before []Write
		for step := range depth + 1 {
			n := lists
			if step == depth {
				n--
			}
			var now []Write
			for i := range n {
				w, v := next()
				if v.Count != count {
					t.Fatalf("count %d, want %d", v.Count, count)
				}
				count++
				if g.NeedsFlush() != (i == n-1) {
					t.Fatalf("step %d entry %d: flush due is %v", step, i, g.NeedsFlush())
				}
				var refersTo []byte
				switch {
				case step == depth:
					refersTo = before[i+1].Row
					if !bytes.Equal(w.Row, first[i].Row) || !bytes.Equal(w.Family, first[i].Family) || !bytes.Equal(w.Qualifier, first[i].Qualifier) {
						t.Fatalf("closing entry %d is not the first of its list", i)
					}
				case step > 0:
					refersTo = before[i].Row
				}
				if w.Update != (step == depth) {
					t.Fatalf("step %d: update is %v", step, w.Update)
				}
				if v.HasPrevious != (refersTo != nil) || v.HasPrevious && string(appendHex(nil, v.Previous, 16)) != string(refersTo) {
					t.Fatalf("step %d entry %d refers to %x, want %s", step, i, v.Previous, refersTo)
				}
				if len(first) > 0 && !bytes.Equal(w.Visibility, first[0].Visibility) {
					t.Fatal("two labels in one cycle")
				}
				labels[string(w.Visibility)] = true
				now = append(now, w)
			}
			if step == 0 {
				first = now
			}
			before = now
		}
	}
	if len(labels) != 2 {
		t.Errorf("labels %v in 6 cycles, want both", labels)
	}
}

func TestSameSeedSameStream(t *testing.T) {
	o := Options{Seed: 42, FlushEntries: 10, MinRow: 1000, MaxRow: 1016, Families: 3, Qualifiers: 2, NoChecksums: true}
	a, b := newGenerator(t, o), newGenerator(t, o)
	o.Seed++
	c := newGenerator(t, o)
	differ := false
	for range 1000 {
		wa, _ := a.Next()
		wb, _ := b.Next()
		wc, _ := c.Next()
		if !bytes.Equal(wa.Row, wb.Row) || !bytes.Equal(wa.Value, wb.Value) {
			t.Fatal("one seed, two streams")
		}
		differ = differ || !bytes.Equal(wa.Row, wc.Row)
		row, ok := parseRow(wa.Row)
		family, _ := parseHex(wa.Family)
		qualifier, _ := parseHex(wa.Qualifier)
		if !ok || row < 1000 || row >= 1016 || family > 2 || qualifier > 1 || wa.Value[len(wa.Value)-1] != ':' {
			t.Fatalf("out of bounds: %s %s:%s %s", wa.Row, wa.Family, wa.Qualifier, wa.Value)
		}
	}
	if !differ || a.Instance() == c.Instance() {
		t.Error("another seed, the same stream")
	}
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(a.Instance()) {
		t.Errorf("instance %s is no UUID of version 4", a.Instance())
	}
}

func TestFillStopsAtFlushAndEnd(t *testing.T) {
	g := newGenerator(t, Options{FlushEntries: 10, Depth: 2, Limit: 29})
	dst := make([]*tablet.Mutation, 8)
	var got []int
	for {
		n := g.Fill(dst)
		if n == 0 {
			break
		}
		got = append(got, n)
	}
	want := []int{8, 2, 8, 2, 8, 1}
	if len(got) != len(want) {
		t.Fatalf("filled %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("filled %v, want %v", got, want)
		}
	}
}

func TestSplits(t *testing.T) {
	f := func(o Options, n int, want string) {
		t.Helper()
		if got := string(bytes.Join(o.Splits(n), []byte(" "))); got != want {
			t.Errorf("%d tablets: %q, want %q", n, got, want)
		}
	}
	f(Options{}, 8, "1 2 3 4 5 6 7")
	f(Options{}, 1, "")
	f(Options{}, 2, "4")
	f(Options{}, 3, "2aaaaaaaaaaaaaab 5555555555555556")
	f(Options{MinRow: 0x10, MaxRow: 0x20}, 2, "0000000000000019")
	if got := len(Splits(1000)); got != 999 {
		t.Errorf("%d split points for 1000 tablets", got)
	}
}

func TestOptionsValidate(t *testing.T) {
	f := func(o Options, ok bool) {
		t.Helper()
		if err := o.Validate(); (err == nil) != ok || err != nil && !errors.Is(err, tablet.ErrUsage) {
			t.Errorf("Validate(%+v) = %v", o, err)
		}
	}
	f(Options{}, true)
	f(Options{MinRow: -1}, false)
	f(Options{MinRow: 5, MaxRow: 5}, false)
	f(Options{Families: 65537}, false)
	f(Options{Qualifiers: -1}, false)
	f(Options{FlushEntries: -1}, false)
	f(Options{Depth: -1}, false)
	f(Options{Limit: -1}, false)
}

// TestUpdatedBy holds the arithmetic against the stream.
func TestUpdatedBy(t *testing.T) {
	o := Options{Seed: 3, FlushEntries: 7, Depth: 4, Limit: 150}
	g, err := NewGenerator(o)
	if err != nil {
		t.Fatal(err)
	}
	first := map[string]uint64{}
	updates := map[uint64]uint64{}
	for n := uint64(0); ; n++ {
		w, ok := g.Next()
		if !ok {
			break
		}
		cell := string(w.Row) + string(w.Family) + string(w.Qualifier)
		if was, again := first[cell]; again {
			updates[was] = n
		} else {
			first[cell] = n
		}
	}
	if len(updates) != int(g.Counts().Updates) || g.Counts().Writes%o.Cycle() != 0 && g.Counts().Cycles > 5 {
		t.Errorf("%d updates, %+v", len(updates), g.Counts())
	}
	for n := range uint64(g.Counts().Writes) {
		want, updated := updates[n]
		by, ok := o.UpdatedBy(n)
		if updated && (by != want || !ok) || ok && !updated && by < uint64(g.Counts().Writes) {
			t.Errorf("entry %d is updated by %d, %v; want %d, %v", n, by, ok, want, updated)
		}
	}
}

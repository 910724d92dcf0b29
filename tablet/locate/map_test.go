package locate

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"millrace/tablet"
)

func bound(s string) []byte {
	if s == "-" {
		return nil
	}
	return []byte(s)
}

// extents reads "a:b" as table t's (a,b], "-" as no bound, "" as the empty row.
func extents(spec string) (list []tablet.Extent) {
	for _, f := range strings.Fields(spec) {
		table := "t"
		if name, rest, ok := strings.Cut(f, "/"); ok {
			table, f = name, rest
		}
		prev, end, _ := strings.Cut(f, ":")
		list = append(list, tablet.Extent{Table: table, PrevEndRow: bound(prev), EndRow: bound(end)})
	}
	return list
}

func TestNewChecksTheChain(t *testing.T) {
	f := func(spec, want string) {
		t.Helper()
		m, err := New(1, extents(spec))
		if want == "" {
			if err != nil || m == nil || m.Version() != 1 {
				t.Errorf("New(%s) = %v", spec, err)
			}
			return
		}
		if m != nil || !errors.Is(err, tablet.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%s) = %v, want %q", spec, err, want)
		}
	}
	f("-:-", "")
	f("-:g g:p p:-", "")
	f("p:- -:g g:p", "")
	f("-:aaaaaaaaab aaaaaaaaab:-", "")
	f("-: :-", "") // the empty row is a row
	f("", "without tablets")
	f("a:-", "no tablet before")
	f("-:a", "no tablet behind")
	f("-:g h:-", "gap")
	f("-:g f:-", "overlap")
	f("-:- g:-", "overlap")
	f("-:g -:p p:-", "overlap")
	f("-:- -:-", "overlap")
	f("-:g g:g g:-", "ends before it begins")
	f("-:g g:c g:-", "ends before it begins")
	f("a/-:g b/g:-", "two tables")
}

func TestFind(t *testing.T) {
	m, err := New(1, extents("-:g g:p p:-"))
	if err != nil {
		t.Fatal(err)
	}
	f := func(row string, want int) {
		t.Helper()
		if i, ok := m.Find([]byte(row)); i != want || !ok {
			t.Errorf("Find(%q) = %d, %v; want %d", row, i, ok, want)
		}
	}
	f("", 0)
	f("a", 0)
	f("g", 0)
	f("g\x00", 1)
	f("p", 1)
	f("pa", 2)
	f("\xff\xff\xff\xff\xff\xff\xff\xff\xff", 2)

	m, err = NewPartial(1, extents("c:g k:p"))
	if err != nil {
		t.Fatal(err)
	}
	g := func(row string, want int, found bool) {
		t.Helper()
		if i, ok := m.Find([]byte(row)); i != want || ok != found {
			t.Errorf("Find(%q) = %d, %v; want %d, %v", row, i, ok, want, found)
		}
	}
	g("c", 0, false)
	g("d", 0, true)
	g("g", 0, true)
	g("h", 1, false)
	g("k", 1, false)
	g("l", 1, true)
	g("q", 2, false)
}

// drawRow makes rows that share prefixes across the eight bytes of which the map keeps a number.
var drawRow = rapid.Custom(func(t *rapid.T) []byte {
	common := []string{"", "a", "aaaaaaa", "aaaaaaaa", "\xff\xff\xff\xff\xff\xff\xff\xff"}
	b := []byte(rapid.SampledFrom(common).Draw(t, "common"))
	for range rapid.IntRange(0, 2).Draw(t, "more") {
		b = append(b, rapid.SampledFrom([]byte{0, 'a', 'b', 0xff}).Draw(t, "byte"))
	}
	return b
})

func drawMap(t *rapid.T) *Map {
	m := FromSplits(7, "t", rapid.SliceOfN(drawRow, 0, 12).Draw(t, "splits"))
	if rapid.Bool().Draw(t, "partial") {
		var known []tablet.Extent
		for _, e := range m.Extents() {
			if rapid.Bool().Draw(t, "known") {
				known = append(known, e)
			}
		}
		m, _ = NewPartial(7, known)
	}
	return m
}

func TestFindModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMap(t)
		for range 20 {
			row := drawRow.Draw(t, "row")
			want := slices.IndexFunc(m.Extents(), func(e tablet.Extent) bool { return e.Contains(row) })
			if i, ok := m.Find(row); ok != (want >= 0) || ok && i != want {
				t.Fatalf("Find(%q) = %d, %v; want %d", row, i, ok, want)
			}
			near := rapid.IntRange(-2, m.Len()+1).Draw(t, "near")
			if i, ok := m.FindNear(row, near); ok != (want >= 0) || ok && i != want {
				t.Fatalf("FindNear(%q, %d) = %d, %v; want %d", row, near, i, ok, want)
			}
		}
	})
}

// TestOverlappingModel asks each tablet whether the range leaves it anything. A tablet too many is wrong as well.
func TestOverlappingModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMap(t)
		drawRow := rapid.Custom(func(t *rapid.T) []byte { // often a split point
			if i := rapid.IntRange(0, 2*m.Len()).Draw(t, "split"); i < m.Len() && m.Extent(i).EndRow != nil {
				return m.Extent(i).EndRow
			}
			return drawRow.Draw(t, "row")
		})
		var r tablet.Range
		if rapid.Bool().Draw(t, "rows") {
			b := tablet.RowBounds{StartExclusive: rapid.Bool().Draw(t, "se"), EndExclusive: rapid.Bool().Draw(t, "ee")}
			if rapid.Bool().Draw(t, "start") {
				b.Start = drawRow.Draw(t, "from")
			}
			if rapid.Bool().Draw(t, "end") {
				b.End = drawRow.Draw(t, "to")
			}
			r = tablet.RowRange(b)
		} else {
			r = tablet.Exact(drawRow.Draw(t, "row"), []byte("f"))
		}
		lo, hi := m.Overlapping(r)
		for i, e := range m.Extents() {
			left := r.Clip(e.DataRange())
			if _, ok := left.Start(); !ok {
				left = left.WithStart(tablet.RowKey(nil)) // the first key of all, so that a range below it shows as empty
			}
			if want, got := !left.Empty(), i >= lo && i < hi; got != want {
				t.Fatalf("range %v, tablet %v: overlapping is %v, want %v", r, e, got, want)
			}
		}
	})
}

func TestSplitAndMergeModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := FromSplits(1, "t", nil)
		var rows [][]byte
		for version := uint64(2); version < 12; version++ {
			if m.Len() > 1 && rapid.IntRange(0, 2).Draw(t, "merge") == 0 {
				lo := rapid.IntRange(0, m.Len()-1).Draw(t, "lo")
				hi := rapid.IntRange(lo+1, m.Len()).Draw(t, "hi")
				next, err := m.Merge(lo, hi)
				if err != nil {
					t.Fatal(err)
				}
				rows = slices.Delete(rows, lo, hi-1)
				m = next
			} else {
				row := drawRow.Draw(t, "row")
				at, exists := slices.BinarySearchFunc(rows, row, bytes.Compare)
				next, err := m.Split(row)
				if exists != errors.Is(err, tablet.ErrUsage) {
					t.Fatalf("split at %q, end rows %q: %v", row, rows, err)
				}
				if exists {
					version--
					continue
				}
				rows = slices.Insert(rows, at, row)
				m = next
			}
			want := FromSplits(version, "t", rows)
			if m.Version() != version || !slices.EqualFunc(m.Extents(), want.Extents(), func(a, b tablet.Extent) bool { return tablet.CompareExtents(a, b) == 0 }) ||
				!slices.Equal(m.ends, want.ends) {
				t.Fatalf("version %d has %v, want %v", m.Version(), m.Extents(), want.Extents())
			}
		}
	})
}

func TestChangesThatCannotBe(t *testing.T) {
	m, err := NewPartial(1, extents("c:g k:p p:z"))
	if err != nil {
		t.Fatal(err)
	}
	f := func(name string, err error) {
		t.Helper()
		if !errors.Is(err, tablet.ErrUsage) {
			t.Errorf("%s: %v, want ErrUsage", name, err)
		}
	}
	_, err = m.Split([]byte("h"))
	f("split in a gap", err)
	_, err = m.Split([]byte("g"))
	f("split at an end row", err)
	_, err = m.Merge(0, 2)
	f("merge over a gap", err)
	_, err = m.Merge(1, 1)
	f("merge of none", err)
	_, err = m.Merge(1, 4)
	f("merge past the end", err)
	_, err = m.Merge(-1, 1)
	f("merge before the start", err)
	if n, err := m.Merge(1, 3); err != nil || n.Len() != 2 || string(n.Extent(1).EndRow) != "z" {
		t.Errorf("merge of the last two: %v", err)
	}
}

func TestLookupsDoNotAllocate(t *testing.T) {
	m := benchMap(1000)
	row := []byte("0000500x")
	if n := testing.AllocsPerRun(100, func() {
		i, _ := m.Find(row)
		m.FindNear(row, i)
		m.Overlapping(tablet.Range{})
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestOverlappingEdges(t *testing.T) {
	m := FromSplits(1, "t", [][]byte{[]byte("g"), []byte("p")})
	f := func(b tablet.RowBounds, wantLo, wantHi int) {
		t.Helper()
		if lo, hi := m.Overlapping(tablet.RowRange(b)); lo != wantLo || hi != wantHi {
			t.Errorf("%+v meets tablets [%d, %d), want [%d, %d)", b, lo, hi, wantLo, wantHi)
		}
	}
	f(tablet.RowBounds{}, 0, 3)
	f(tablet.RowBounds{End: []byte{}, EndExclusive: true}, 0, 0)
	f(tablet.RowBounds{End: []byte{}}, 0, 1)
	f(tablet.RowBounds{End: []byte("g")}, 0, 1)
	f(tablet.RowBounds{End: []byte("g\x00"), EndExclusive: true}, 0, 1)
	f(tablet.RowBounds{End: []byte("g\x00")}, 0, 2)
	f(tablet.RowBounds{Start: []byte("g")}, 0, 3)
	f(tablet.RowBounds{Start: []byte("g"), StartExclusive: true}, 1, 3)
	f(tablet.RowBounds{Start: []byte("z"), End: []byte("a")}, 0, 0)
}

package tablet

import (
	"slices"
	"testing"
)

// TestExtents has the split points g and p.
func TestExtents(t *testing.T) {
	g, p := []byte("g"), []byte("p")
	chain := []Extent{{Table: "t", EndRow: g}, {Table: "t", PrevEndRow: g, EndRow: p}, {Table: "t", PrevEndRow: p}}
	f := func(row string, want int) {
		t.Helper()
		for i, e := range chain {
			if e.Contains([]byte(row)) != (i == want) {
				t.Errorf("%v holds %q: %v", e, row, i != want)
			}
			r := e.DataRange()
			for _, k := range []Key{RowKey([]byte(row)), key(row, "\xff", "\xff", "\xff", -1, false)} {
				if r.Contains(&k) != (i == want) {
					t.Errorf("%v, the range of %v, holds %v: %v", r, e, k, i != want)
				}
			}
		}
	}
	f("", 0)
	f("g", 0)
	f("g\x00", 1)
	f("p", 1)
	f("p\x00", 2)
	f("\xff\xff", 2)
}

func TestCompareExtents(t *testing.T) {
	b := func(s string) []byte {
		if s == "" {
			return nil
		}
		return []byte(s)
	}
	e := func(table, prev, end string) Extent { return Extent{table, b(prev), b(end)} }
	sorted := []Extent{e("a", "", ""), e("b", "", "g"), e("b", "c", "g"), e("b", "d", "g"), e("b", "", "p"), e("b", "", ""), e("b", "p", ""), e("c", "", "a")}
	for i := range sorted {
		for j := range sorted {
			if got, want := CompareExtents(sorted[i], sorted[j]), min(max(i-j, -1), 1); got != want {
				t.Errorf("CompareExtents(%v, %v) = %d, want %d", sorted[i], sorted[j], got, want)
			}
		}
	}
	if !slices.IsSortedFunc(sorted, CompareExtents) {
		t.Error("not sorted")
	}
	if got := e("t", "", "a b\n").String(); got != `t;(-∞,"a b\n"]` {
		t.Errorf("got %s", got)
	}
	if got := e("t", "p", "").String(); got != `t;("p",+∞]` {
		t.Errorf("got %s", got)
	}
}

func TestFamilies(t *testing.T) {
	b := func(names ...string) (out [][]byte) {
		for _, n := range names {
			out = append(out, []byte(n))
		}
		return out
	}
	f := func(what string, f Families, all, none bool, accepts ...string) {
		t.Helper()
		if f.All() != all || f.None() != none {
			t.Errorf("%s: all %v, none %v", what, f.All(), f.None())
		}
		for _, family := range []string{"", "a", "b", "c", "ab"} {
			if got, want := f.Accepts([]byte(family)), slices.Contains(accepts, family); got != want {
				t.Errorf("%s accepts %q: %v", what, family, got)
			}
		}
	}
	f("everything", Families{}, true, false, "", "a", "b", "c", "ab")
	f("everything but nothing", AllFamiliesBut(), true, false, "", "a", "b", "c", "ab")
	f("nothing", OnlyFamilies(), false, true)
	f("some", OnlyFamilies(b("c", "a", "c")...), false, false, "a", "c")
	f("the empty one", OnlyFamilies(b("")...), false, false, "")
	f("all but some", AllFamiliesBut(b("c", "", "a")...), false, false, "b", "ab")
	names := b("c", "a", "c")
	if got := OnlyFamilies(names...); len(got.Names()) != 2 || !got.Inclusive() || string(names[0]) != "c" {
		t.Errorf("names %q, the caller's %q", got.Names(), names)
	}
}

package iter

import (
	"strconv"
	"testing"

	"millrace/tablet"
)

// TestMergeMany has about as many sources as a tree's words have room for, and more; many are empty, and they end in any
// order.
func TestMergeMany(t *testing.T) {
	r := random(t)
	pool := NewPool()
	for range rounds(150) {
		k := []int{31, 33, 100, 254, 255, 256, 257, 258, 300, 511, 513, 1000}[r.IntN(12)]
		a := newAdversary(r)
		a.prefix = a.prefix[:min(len(a.prefix), 64)]
		sources := a.sources(k, []int{1, 3, 9}[r.IntN(3)])
		want := reference(sources)
		for _, mode := range allModes {
			m := verified(pool.Get(mode, openSources(r, sources)))
			for range 2 {
				if err := m.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
					t.Fatal(err)
				}
				got := mustRead(t, m, 1+r.IntN(20))
				if !entriesEqual(got.entries, want) {
					at := 0
					for at < len(want) && at < len(got.entries) && entriesEqual(got.entries[at:at+1], want[at:at+1]) {
						at++
					}
					t.Fatalf("%v, %d sources: %d entries, want %d; the order is wrong from %d on", mode, k, len(got.entries), len(want), at)
				}
				checkCodes(t, got, nil)
				checkEnd(t, m)
			}
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestMergeGroups merges in groups of few sources, and in groups of groups: the output is that of one merge.
func TestMergeGroups(t *testing.T) {
	r := random(t)
	pool := NewPool()
	for range rounds(300) {
		most := 2 + r.IntN(6)
		k := most + 1 + r.IntN(60)
		sources := newAdversary(r).sources(k, []int{1, 3, 9}[r.IntN(3)])
		want := reference(sources)
		for _, mode := range allModes {
			groups := pool.inGroups(mode, openSources(r, sources), most)
			if len(groups) > most {
				t.Fatalf("%d groups, at most %d were wanted", len(groups), most)
			}
			m := verified(pool.Get(mode, groups))
			for range 2 {
				if err := m.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
					t.Fatal(err)
				}
				got := mustRead(t, m, 1+r.IntN(200))
				if !entriesEqual(got.entries, want) {
					t.Fatalf("%v, %d sources in groups of %d: got\n%swant\n%s", mode, k, most, show(got.entries), show(want))
				}
				checkCodes(t, got, nil)
				checkEnd(t, m)
			}
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestMergeBeyond merges more sources than a rank has numbers for. Duplicates in the first, the last and neighbouring
// groups come out by age.
func TestMergeBeyond(t *testing.T) {
	const k = maxSources + 10
	key := func(row string) tablet.Entry {
		return tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: []byte(row), Timestamp: 1})}
	}
	all := make([][]tablet.Entry, k)
	for _, src := range []int{0, 1, maxSources - 1, maxSources, maxSources + 1, k - 1} {
		for _, row := range []string{"a", "b"} {
			e := key(row)
			e.Value = []byte(strconv.Itoa(src))
			all[src] = append(all[src], e)
		}
	}
	sources, closed := make([]Source, k), 0
	for i := range sources {
		sources[i] = FromEntries(all[i], 2)
	}
	m := NewMerge(Tree, sources)
	if err := m.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		t.Fatal(err)
	}
	if got, want := mustRead(t, m, 3), reference(all); !entriesEqual(got.entries, want) {
		t.Errorf("got\n%swant\n%s", show(got.entries), show(want))
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	for _, s := range sources {
		closed += s.(*SliceSource).Closed
	}
	if closed != k {
		t.Errorf("%d sources were closed, want %d", closed, k)
	}
}

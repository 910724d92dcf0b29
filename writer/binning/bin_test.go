package binning

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"millrace/tablet"
	"millrace/tablet/locate"
)

var drawRow = rapid.Custom(func(t *rapid.T) []byte {
	b := []byte(rapid.SampledFrom([]string{"", "a", "aaaaaaaa"}).Draw(t, "common"))
	for range rapid.IntRange(0, 2).Draw(t, "more") {
		b = append(b, rapid.SampledFrom([]byte{0, 'a', 'b'}).Draw(t, "byte"))
	}
	return b
})

func drawMap(t *rapid.T) *locate.Map {
	m := locate.FromSplits(1, "t", rapid.SliceOfN(drawRow, 0, 8).Draw(t, "splits"))
	if rapid.Bool().Draw(t, "partial") {
		var known []tablet.Extent
		for _, e := range m.Extents() {
			if rapid.IntRange(0, 3).Draw(t, "known") > 0 {
				known = append(known, e)
			}
		}
		m, _ = locate.NewPartial(1, known)
	}
	return m
}

// TestModel bins with one scratch again and again, against maps of changing size.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Scratch
		type sent struct {
			bins []Binned
			want [][]*tablet.Mutation
		}
		var before []sent
		for range rapid.IntRange(1, 4).Draw(t, "calls") {
			m := drawMap(t)
			sorted := rapid.Bool().Draw(t, "sorted")
			var mutations []*tablet.Mutation
			for _, row := range rapid.SliceOfN(drawRow, 0, 30).Draw(t, "rows") {
				mut := tablet.NewMutation(row)
				mut.Put(nil, nil, nil, fmt.Append(nil, len(mutations)))
				mutations = append(mutations, mut)
			}
			given := slices.Clone(mutations)
			bins, failed := Bin(mutations, m, &s, Options{SortRows: sorted})
			if !slices.Equal(mutations, given) {
				t.Fatalf("the mutations given were reordered")
			}
			checkBins(t, bins, failed, m, given, sorted)
			now := sent{bins: slices.Clone(bins)}
			for _, b := range bins {
				now.want = append(now.want, slices.Clone(b.Mutations))
			}
			before = append(before, now)
		}
		for _, s := range before { // what was sent away does not change
			for i, b := range s.bins {
				if !slices.Equal(b.Mutations, s.want[i]) {
					t.Fatalf("a later call changed a bin")
				}
			}
		}
	})
}

func checkBins(t *rapid.T, bins []Binned, failed []*tablet.Mutation, m *locate.Map, given []*tablet.Mutation, sorted bool) {
	want := slices.Clone(given)
	if sorted {
		slices.SortStableFunc(want, func(a, b *tablet.Mutation) int { return bytes.Compare(a.Row(), b.Row()) })
	}
	tabletOf := func(mut *tablet.Mutation) int {
		i, ok := m.Find(mut.Row())
		if !ok {
			return -1
		}
		return i
	}
	total := 0
	var order []int
	for _, b := range bins {
		var wantBytes int64
		for _, mut := range b.Mutations {
			wantBytes += int64(mut.NumBytes())
		}
		if tablet.CompareExtents(b.Extent, m.Extent(b.Tablet)) != 0 || b.Bytes != wantBytes || slices.Contains(order, b.Tablet) {
			t.Fatalf("bin %d: extent %v, %d bytes, want %d", b.Tablet, b.Extent, b.Bytes, wantBytes)
		}
		expected := slices.DeleteFunc(slices.Clone(want), func(mut *tablet.Mutation) bool { return tabletOf(mut) != b.Tablet })
		if !slices.Equal(b.Mutations, expected) {
			t.Fatalf("bin %d holds %d mutations, want %d, or their order differs", b.Tablet, len(b.Mutations), len(expected))
		}
		if cap(b.Mutations) != len(b.Mutations) {
			t.Fatalf("appending to bin %d would change another", b.Tablet)
		}
		order = append(order, b.Tablet)
		total += len(b.Mutations)
	}
	lost := slices.DeleteFunc(slices.Clone(want), func(mut *tablet.Mutation) bool { return tabletOf(mut) >= 0 })
	if !slices.Equal(failed, lost) || total+len(lost) != len(given) {
		t.Fatalf("%d failed, want %d; %d binned of %d", len(failed), len(lost), total, len(given))
	}
	var wantOrder []int
	for _, mut := range want {
		if i := tabletOf(mut); i >= 0 && !slices.Contains(wantOrder, i) {
			wantOrder = append(wantOrder, i)
		}
	}
	if !slices.Equal(order, wantOrder) {
		t.Fatalf("bins of tablets %v, want %v", order, wantOrder)
	}
}

// TestAllocations: one array a call, however many mutations there are.
func TestAllocations(t *testing.T) {
	m := locate.FromSplits(1, "t", [][]byte{[]byte("1"), []byte("2"), []byte("5")})
	ms := benchMutations(1000)
	for _, sorted := range []bool{false, true} {
		var s Scratch
		if n := testing.AllocsPerRun(10, func() { Bin(ms, m, &s, Options{SortRows: sorted}) }); n > 1 {
			t.Errorf("sorted %v: %v allocations", sorted, n)
		}
	}
}

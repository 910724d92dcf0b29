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

// drawMutations draws mutations of few different rows, now and then many whose rows are alike for long, so that every way of
// sorting is taken.
func drawMutations(t *rapid.T) (mutations []*tablet.Mutation) {
	most := 30
	if rapid.IntRange(0, 3).Draw(t, "many") == 0 {
		most = 3 * radixMin
	}
	for range rapid.IntRange(0, most).Draw(t, "mutations") {
		row := drawRow.Draw(t, "row")
		for range rapid.IntRange(0, 2).Draw(t, "longer") {
			row = append(row, drawRow.Draw(t, "more")...)
		}
		mut := tablet.NewMutation(row)
		mut.Put(nil, nil, nil, fmt.Append(nil, len(mutations)))
		mutations = append(mutations, mut)
	}
	return mutations
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
			mutations := drawMutations(t)
			given := slices.Clone(mutations)
			var r Result
			parts := [][]*tablet.Mutation{given}
			if rapid.Bool().Draw(t, "items") {
				var items [][]Item
				items, parts = drawParts(t, mutations)
				Bin(items, m, &s, &r)
			} else {
				Mutations(mutations, m, &s, &r)
			}
			if !slices.Equal(mutations, given) {
				t.Fatalf("the mutations given were reordered")
			}
			checkBins(t, &r, m, parts)
			checkClean(t, &s)
			now := sent{bins: r.Bins}
			for _, b := range r.Bins {
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

// drawParts cuts mutations anywhere, and makes items of them.
func drawParts(t *rapid.T, mutations []*tablet.Mutation) (items [][]Item, parts [][]*tablet.Mutation) {
	for len(mutations) > 0 {
		n := rapid.IntRange(1, len(mutations)).Draw(t, "part")
		var part []Item
		for _, m := range mutations[:n] {
			part = append(part, NewItem(m))
		}
		items, parts = append(items, part), append(parts, mutations[:n])
		mutations = mutations[n:]
	}
	return items, parts
}

func checkClean(t *rapid.T, s *Scratch) {
	for _, items := range [][]Item{s.items[:cap(s.items)], s.other[:cap(s.other)]} {
		if slices.ContainsFunc(items, func(it Item) bool { return it.Mutation != nil }) {
			t.Fatalf("the scratch keeps mutations alive")
		}
	}
}

// checkBins bins each part slowly and wants the same.
func checkBins(t *rapid.T, r *Result, m *locate.Map, parts [][]*tablet.Mutation) {
	var want []Binned
	var lost []*tablet.Mutation
	for _, p := range parts {
		p = slices.Clone(p)
		slices.SortStableFunc(p, func(a, b *tablet.Mutation) int { return bytes.Compare(a.Row(), b.Row()) })
		last := -1
		for _, mut := range p {
			i, ok := m.Find(mut.Row())
			if !ok {
				lost = append(lost, mut)
				continue
			}
			if i != last {
				want = append(want, Binned{Tablet: i})
				last = i
			}
			b := &want[len(want)-1]
			b.Mutations = append(b.Mutations, mut)
			b.Bytes += int64(mut.EstimatedMemory())
		}
	}
	if !slices.Equal(r.Failed, lost) || len(r.Bins) != len(want) {
		t.Fatalf("%d failed, want %d; %d bins, want %d", len(r.Failed), len(lost), len(r.Bins), len(want))
	}
	for i, b := range r.Bins {
		if b.Tablet != want[i].Tablet || b.Bytes != want[i].Bytes || !slices.Equal(b.Mutations, want[i].Mutations) {
			t.Fatalf("bin %d: tablet %d, %d bytes, %d mutations; want %d, %d, %d, or their order differs", i,
				b.Tablet, b.Bytes, len(b.Mutations), want[i].Tablet, want[i].Bytes, len(want[i].Mutations))
		}
		if cap(b.Mutations) != len(b.Mutations) {
			t.Fatalf("appending to bin %d would change another", i)
		}
	}
}

// TestAllocations: one array a call, however many mutations there are and however alike their rows.
func TestAllocations(t *testing.T) {
	m := locate.FromSplits(1, "t", [][]byte{[]byte("1"), []byte("2"), []byte("5")})
	alike := func(n int) (ms []*tablet.Mutation) {
		for i := range n {
			ms = append(ms, tablet.NewMutation(fmt.Appendf(nil, "rows that begin alike %06d", n-i)))
		}
		return ms
	}
	for name, ms := range map[string][]*tablet.Mutation{"random": benchMutations(1000), "few": benchMutations(100), "alike": alike(1000)} {
		var s Scratch
		var r Result
		if n := testing.AllocsPerRun(10, func() { Mutations(ms, m, &s, &r) }); n > 1 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// TestZeros has hundreds of rows that are alike but for zeros at their ends, which the prefixes do not tell apart.
func TestZeros(t *testing.T) {
	m := locate.FromSplits(1, "t", [][]byte{[]byte("a\x00\x00\x00"), []byte("a\x00\x00\x00\x00\x00\x00\x00\x00\x00b")})
	var mutations []*tablet.Mutation
	for i := range 4 * radixMin {
		row := append([]byte("a"), make([]byte, (i*7)%30)...)
		if i%5 == 0 {
			row = append(row, 'b')
		}
		mutations = append(mutations, tablet.NewMutation(row))
	}
	want := slices.Clone(mutations)
	slices.SortStableFunc(want, func(a, b *tablet.Mutation) int { return bytes.Compare(a.Row(), b.Row()) })
	var s Scratch
	var r Result
	Mutations(mutations, m, &s, &r)
	var got []*tablet.Mutation
	for _, b := range r.Bins {
		got = append(got, b.Mutations...)
	}
	if len(r.Bins) != 3 || !slices.Equal(got, want) {
		t.Errorf("%d bins, or the order is wrong", len(r.Bins))
	}
}

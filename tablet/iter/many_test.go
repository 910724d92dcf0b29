package iter

import (
	"testing"

	"millrace/tablet"
)

// TestMergeMany has about as many sources as a tree's words have room for, and more; many are empty, and they end in any
// order.
func TestMergeMany(t *testing.T) {
	r := random(t)
	pool := NewPool()
	for range rounds(150) {
		k := []int{31, 33, 100, 254, 255, 256, 257, 258, 300, 511, 513, 700}[r.IntN(12)]
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

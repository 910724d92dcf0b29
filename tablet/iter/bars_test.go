package iter

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"millrace/tablet"
)

// bar is what the tree must reach on one input.
type bar struct {
	keys    string
	k, r    int
	times   float64 // faster than New, at least
	compare float64 // whole keys compared an entry, at most
	floor   float64 // times the cost of batches without a merge, at most; 0 any
}

// Nowhere may the tree be slower than nine tenths of New; where it is known to do better it has to.
func bars() (out []bar) {
	most := map[string]float64{"ci": 0.1, "long": 1.0}
	asked := map[string]map[int]float64{"ci": {1: 4, 16: 5, 1024: 5}, "long": {1: 1.5, 16: 2, 1024: 5}}
	for _, keys := range []string{"ci", "long"} {
		for _, k := range []int{2, 4, 8, 16, 64, 128} {
			for _, r := range []int{1, 2, 4, 16, 1024} {
				x := bar{keys: keys, k: k, r: r, times: 0.9, compare: most[keys]}
				if k == 16 && asked[keys][r] > 0 {
					x.times = asked[keys][r]
				}
				if r == 1024 {
					x.floor = 2
				}
				out = append(out, x)
			}
		}
	}
	return out
}

// BenchmarkBars measures New, the tree and batches without a merge in turns, on the processor's clock, and fails where the
// tree misses what is asked of it. New must make 1.00 to 1.10 comparisons an entry where runs are long.
func BenchmarkBars(b *testing.B) {
	keys := map[string][]tablet.Entry{}
	for _, set := range keySets {
		keys[set.Name] = set.Make(rand.New(rand.NewPCG(1, 1)), benchEntries)
	}
	for _, x := range bars() {
		b.Run(fmt.Sprintf("%s/k=%d/r=%d", x.keys, x.k, x.r), func(b *testing.B) {
			in := dealt(keys[x.keys], x.k, x.r)
			in.check(b, New)
			in.check(b, Tree)
			x.measure(b, in)
		})
	}
}

// turns is how often each is measured, after once unmeasured; the least time counts.
const turns = 5

func (x bar) measure(b *testing.B, in *input) {
	pool, sources := NewPool(), in.sources()
	runs := make([]Run, 128)
	drain := func(mode Mode) (s Stats) {
		m := pool.Get(mode, sources)
		defer m.Close()
		if err := m.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
			b.Fatal(err)
		}
		if n := drainRuns(b, m, runs); n != in.entries {
			b.Fatalf("%d entries, want %d", n, in.entries)
		}
		return m.Stats()
	}
	var heap, tree, floor []time.Duration
	var heapStats, treeStats Stats
	timed := func(f func()) time.Duration {
		f()
		return onThread(f)
	}
	for b.Loop() {
		for range turns {
			heap = append(heap, timed(func() { heapStats = drain(New) }))
			tree = append(tree, timed(func() { treeStats = drain(Tree) }))
			floor = append(floor, timed(func() { drainUnmerged(b, pool, in, runs) }))
		}
	}
	n := float64(in.entries)
	per := func(d []time.Duration) float64 { return float64(slices.Min(d).Nanoseconds()) / n }
	times, compares := per(heap)/per(tree), float64(treeStats.Comparisons)/n
	b.ReportMetric(per(heap), "new-ns/entry")
	b.ReportMetric(per(tree), "tree-ns/entry")
	b.ReportMetric(per(floor), "floor-ns/entry")
	b.ReportMetric(times, "times")
	b.ReportMetric(compares, "compares/entry")
	b.ReportMetric(0, "ns/op")
	if times < x.times {
		b.Errorf("%.2f times as fast as %v, want %.1f", times, New, x.times)
	}
	if compares > x.compare {
		b.Errorf("%.3f comparisons an entry, want at most %.1f", compares, x.compare)
	}
	if x.floor > 0 && per(tree) > x.floor*per(floor) {
		b.Errorf("%.2f ns an entry, of batches without a merge %.2f; want at most %.1f times that", per(tree), per(floor), x.floor)
	}
	if c := float64(heapStats.Comparisons) / n; x.r == 1024 && (c < 0.99 || c > 1.10) {
		b.Errorf("%.3f comparisons an entry of %v, want 1.00 to 1.10", c, New)
	}
}

// drainUnmerged passes the batches of one source after the other through the same calls.
func drainUnmerged(b *testing.B, pool *Pool, in *input, runs []Run) {
	var one [1]Source
	for _, batches := range in.batches {
		one[0] = FromBatches(batches)
		m := pool.Get(Tree, one[:])
		if err := m.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
			b.Fatal(err)
		}
		drainRuns(b, m, runs)
		m.Close()
	}
}

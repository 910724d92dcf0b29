package iter

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"millrace/tablet"
)

// BenchmarkHeapIterator2827 is the experiment of ACCUMULO-2827: k sources, each of which supplies r entries before another
// takes over. r=skew deals at random, four entries in five to one source when there are two.
func BenchmarkHeapIterator2827(b *testing.B) {
	for _, set := range keySets {
		keys := set.Make(rand.New(rand.NewPCG(1, 1)), benchEntries)
		for _, k := range []int{2, 4, 8, 16, 32, 64, 128} {
			for _, r := range []int{1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384, 65536} {
				benchmarkModes(b, fmt.Sprintf("%s/k=%d/r=%d", set.Name, k, r), func() *input { return dealt(keys, k, r) })
			}
			benchmarkModes(b, fmt.Sprintf("%s/k=%d/r=skew", set.Name, k), func() *input { return skewed(keys, k) })
		}
	}
}

// benchmarkModes measures every mode on an input that is made only if it is asked for.
func benchmarkModes(b *testing.B, name string, open func() *input) {
	var in *input
	for _, mode := range allModes {
		b.Run(fmt.Sprintf("%s/%v", name, mode), func(b *testing.B) {
			if in == nil {
				in = open()
			}
			in.check(b, mode)
			benchmarkDrain(b, mode, in, nil)
		})
	}
}

// BenchmarkStack has one version kept, and a visibility filter, above the tree.
func BenchmarkStack(b *testing.B) {
	options := map[string]StackOptions{
		"deletes":  {},
		"versions": {MaxVersions: 1},
		"visible":  {MaxVersions: 1, Visible: func(label []byte) bool { return len(label) == 0 }},
	}
	keys := ingestKeys(rand.New(rand.NewPCG(1, 1)), benchEntries)
	for _, name := range []string{"deletes", "versions", "visible"} {
		o := options[name]
		for _, r := range []int{1, 16, 256} {
			b.Run(fmt.Sprintf("%s/r=%d", name, r), func(b *testing.B) {
				benchmarkDrain(b, Tree, dealt(keys, 8, r), &o)
			})
		}
	}
}

func benchmarkDrain(b *testing.B, mode Mode, in *input, o *StackOptions) {
	pool, sources := NewPool(), in.sources()
	runs := make([]Run, 128)
	var stats Stats
	var spent time.Duration
	entries := 0
	b.ReportAllocs()
	for b.Loop() {
		spent += onThread(func() {
			m := pool.Get(mode, sources)
			var s RunSource = m
			if o != nil {
				s = NewStack(m, *o)
			}
			if err := s.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
				b.Fatal(err)
			}
			entries = drainRuns(b, s, runs)
			stats = m.Stats()
			m.Close()
		})
	}
	if entries != in.entries {
		b.Fatalf("%d entries, want %d", entries, in.entries)
	}
	per := float64(entries)
	b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N)/per, "cpu-ns/entry")
	b.ReportMetric(float64(stats.Comparisons)/per, "compares/entry")
	b.ReportMetric(float64(stats.HeapOps)/per, "heapops/entry")
}

// BenchmarkPool gets and closes a merge that is never read. From a free list it should take at most 15 ns of processor time
// for one source, and 40 for two.
func BenchmarkPool(b *testing.B) {
	for _, k := range []int{1, 2, 8, 32, 64, 255} {
		sources := make([]Source, k)
		for i := range sources {
			sources[i] = FromBatches(nil)
		}
		pools := []struct {
			name string
			pool *Pool
		}{{"fresh", nil}, {"freelist", NewPool()}}
		for _, p := range pools {
			b.Run(fmt.Sprintf("%s/k=%d", p.name, k), func(b *testing.B) {
				b.ReportAllocs()
				spent := onThread(func() {
					for b.Loop() {
						benchGet(p.pool, sources).(*Merge).Close()
					}
				})
				b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// benchGet returns the merge through an interface, or escape analysis might leave the fresh one on the stack.
//
//go:noinline
func benchGet(p *Pool, sources []Source) RunSource { return p.Get(Tree, sources) }

package iter

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"millrace/tablet"
)

// ingestKeys makes sorted keys of the continuous ingest: 16 hex digits of row, 4 of family, 4 of qualifier.
func ingestKeys(r *rand.Rand, n int) []tablet.Entry {
	out := make([]tablet.Entry, n)
	for i := range out {
		out[i].Key = tablet.NewKey(tablet.Fields{
			Row:       fmt.Appendf(nil, "%016x", r.Uint64()>>1),
			Family:    fmt.Appendf(nil, "%04x", r.IntN(1<<15)),
			Qualifier: fmt.Appendf(nil, "%04x", r.IntN(1<<15)),
			Timestamp: int64(i),
		})
	}
	slices.SortFunc(out, func(a, b tablet.Entry) int { return tablet.Compare(&a.Key, &b.Key) })
	return out
}

// dealt makes k sources of one sorted list of n keys, dealt in stretches to another source each time. One high key keeps
// every source alive to the end.
func dealt(k, n, stretch int) []Source {
	r := rand.New(rand.NewPCG(uint64(k), uint64(stretch)))
	keys := ingestKeys(r, n)
	entries := make([][]tablet.Entry, k)
	to := 0
	for at := 0; at < n; at += stretch {
		if k > 1 {
			to = (to + 1 + r.IntN(k-1)) % k
		}
		entries[to] = append(entries[to], keys[at:min(at+stretch, n)]...)
	}
	out := make([]Source, k)
	for i := range out {
		high := tablet.NewKey(tablet.Fields{Row: fmt.Appendf(nil, "zz%05d", i)})
		out[i] = FromBatches(Batches(append(entries[i], tablet.Entry{Key: high}), 256))
	}
	return out
}

const benchEntries = 1 << 16

// BenchmarkMerge drains k sources, each of which supplies r entries before another takes over.
func BenchmarkMerge(b *testing.B) {
	for _, mode := range allModes {
		for _, k := range []int{2, 4, 8, 16, 64} {
			for _, r := range []int{1, 4, 16, 256, 4096} {
				b.Run(fmt.Sprintf("%v/k=%d/r=%d", mode, k, r), func(b *testing.B) {
					benchmarkDrain(b, mode, dealt(k, benchEntries, r), nil)
				})
			}
		}
	}
}

// BenchmarkStack is BenchmarkMerge with one version kept, and with a visibility filter.
func BenchmarkStack(b *testing.B) {
	options := map[string]StackOptions{
		"deletes":  {},
		"versions": {MaxVersions: 1},
		"visible":  {MaxVersions: 1, Visible: func(label []byte) bool { return len(label) == 0 }},
	}
	for _, name := range []string{"deletes", "versions", "visible"} {
		o := options[name]
		for _, r := range []int{1, 16, 256} {
			b.Run(fmt.Sprintf("%s/r=%d", name, r), func(b *testing.B) {
				benchmarkDrain(b, New, dealt(8, benchEntries, r), &o)
			})
		}
	}
}

func benchmarkDrain(b *testing.B, mode Mode, sources []Source, o *StackOptions) {
	pool := NewPool()
	runs := make([]Run, 128)
	var stats Stats
	var entries int64
	b.ReportAllocs()
	for b.Loop() {
		m := pool.Get(mode, sources)
		var s RunSource = m
		if o != nil {
			s = NewStack(m, *o)
		}
		if err := s.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
			b.Fatal(err)
		}
		entries = 0
		for {
			n, err := s.Fill(ctx, runs)
			if err != nil {
				b.Fatal(err)
			}
			if n == 0 {
				break
			}
			for _, r := range runs[:n] {
				entries += int64(r.Hi - r.Lo)
			}
		}
		stats = m.Stats()
		m.Close()
	}
	if entries != int64(benchEntries+len(sources)) {
		b.Fatalf("%d entries", entries)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(entries), "ns/entry")
	b.ReportMetric(float64(stats.Comparisons)/float64(entries), "compares/entry")
}

// BenchmarkPool gets and closes a merge that is never read.
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
				for b.Loop() {
					benchGet(p.pool, sources).(*Merge).Close()
				}
			})
		}
	}
}

// benchGet returns the merge through an interface, or escape analysis might leave the fresh one on the stack.
//
//go:noinline
func benchGet(p *Pool, sources []Source) RunSource { return p.Get(New, sources) }

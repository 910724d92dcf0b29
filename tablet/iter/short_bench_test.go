package iter

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"millrace/tablet"
)

// BenchmarkShortMerge merges 64 sources of 32 entries again and again, as short scans do, with merges made anew and pooled.
func BenchmarkShortMerge(b *testing.B) {
	const k, each = 64, 32
	in := dealt(ingestKeys(rand.New(rand.NewPCG(1, 1)), k*each), k, 1)
	sources, runs := in.sources(), make([]Run, 128)
	for _, mode := range []Mode{Old, New, Tree} {
		pools := []struct {
			name string
			pool *Pool
		}{{"fresh", nil}, {"freelist", NewPool()}}
		for _, p := range pools {
			b.Run(fmt.Sprintf("%v/%s", mode, p.name), func(b *testing.B) {
				in.check(b, mode)
				var spent time.Duration
				b.ReportAllocs()
				for b.Loop() {
					spent += onThread(func() { readOnce(b, p.pool, mode, sources, runs) })
				}
				b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N)/float64(in.entries), "cpu-ns/entry")
			})
		}
	}
}

func readOnce(b *testing.B, pool *Pool, mode Mode, sources []Source, runs []Run) {
	m := pool.Get(mode, sources)
	defer m.Close()
	if err := m.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		b.Fatal(err)
	}
	drainRuns(b, m, runs)
}

// BenchmarkFillUnderCollections times single Fills of at most 128 runs while another goroutine makes garbage.
func BenchmarkFillUnderCollections(b *testing.B) {
	keys := ingestKeys(rand.New(rand.NewPCG(1, 1)), benchEntries)
	in := dealt(keys, 16, 1)
	sources, runs := in.sources(), make([]Run, 128)
	for _, mode := range []Mode{Old, New, Tree} {
		b.Run(mode.String(), func(b *testing.B) {
			in.check(b, mode)
			var stop atomic.Bool
			done := make(chan struct{})
			go func() {
				defer close(done)
				for keep := make([][]byte, 4096); !stop.Load(); {
					keep[rand.IntN(len(keep))] = make([]byte, 1024)
				}
			}()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var seen latencies
			pool := NewPool()
			for b.Loop() {
				m := pool.Get(mode, sources)
				if err := m.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
					b.Fatal(err)
				}
				for {
					start := time.Now()
					n, err := m.Fill(ctx, runs)
					seen.add(time.Since(start))
					if err != nil {
						b.Fatal(err)
					}
					if n == 0 {
						break
					}
				}
				m.Close()
			}
			stop.Store(true)
			<-done
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(seen.percentile(0.5)), "p50-ns")
			b.ReportMetric(float64(seen.percentile(0.99)), "p99-ns")
			b.ReportMetric(float64(seen.percentile(0.999)), "p99.9-ns")
			b.ReportMetric(float64(after.NumGC-before.NumGC), "collections")
		})
	}
}

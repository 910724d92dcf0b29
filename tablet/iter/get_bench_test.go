package iter

import (
	"fmt"
	"math/bits"
	"runtime"
	"sync"
	"testing"
	"time"
)

// BenchmarkMergeIteratorGet is the experiment of CASSANDRA-15392: what it costs to get and close a merge, nothing read,
// while the collector has a heap to go through. GOMAXPROCS goroutines do it, each with its own sources. A first pass times
// each call, for the percentiles, which contain the clock's own cost; it is also a line of its own. A second pass gives the
// mean.
func BenchmarkMergeIteratorGet(b *testing.B) {
	ballast := make([]*[4]int, 200_000)
	for i := range ballast {
		ballast[i] = new([4]int)
	}
	b.Run("clock", func(b *testing.B) { measureGets(b, func() func() { return func() {} }) })
	for _, k := range []int{1, 2, 5, 8, 10, 32, 64, 255} {
		for _, kind := range poolKinds {
			b.Run(fmt.Sprintf("k=%d/%s", k, kind.name), func(b *testing.B) {
				measureGets(b, func() func() {
					sources := make([]Source, k)
					for i := range sources {
						sources[i] = FromBatches(nil)
					}
					return kind.open(sources)
				})
			})
		}
		b.Run(fmt.Sprintf("k=%d/nested", k), func(b *testing.B) { measureGets(b, func() func() { return nestedGets(k) }) })
	}
	runtime.KeepAlive(ballast)
}

// poolKinds are the ways to come by a merge. Each returns one get and close, for one goroutine.
var poolKinds = []struct {
	name string
	open func(sources []Source) func()
}{
	{"fresh", func(sources []Source) func() {
		return func() { benchGet(nil, sources).(*Merge).Close() }
	}},
	{"freelist", func(sources []Source) func() {
		pool := NewPool()
		return func() { benchGet(pool, sources).(*Merge).Close() }
	}},
	{"syncpool", func(sources []Source) func() {
		return func() {
			pool := sharedPools.Get().(*Pool)
			benchGet(pool, sources).(*Merge).Close()
			sharedPools.Put(pool)
		}
	}},
	{"mutex", func(sources []Source) func() {
		return func() {
			lockedPool.Lock()
			m := benchGet(lockedPool.pool, sources).(*Merge)
			lockedPool.Unlock()
			lockedPool.Lock()
			m.Close()
			lockedPool.Unlock()
		}
	}},
}

var sharedPools = sync.Pool{New: func() any { return NewPool() }}

var lockedPool = struct {
	sync.Mutex
	pool *Pool
}{pool: NewPool()}

// nestedGets gets a merge beside another that stays open, as when one is a source of the other.
func nestedGets(k int) func() {
	pool := NewPool()
	sources := make([]Source, k)
	for i := range sources {
		sources[i] = FromBatches(nil)
	}
	return func() {
		outer := benchGet(pool, sources).(*Merge)
		benchGet(pool, sources).(*Merge).Close()
		outer.Close()
	}
}

// measureGets runs what open returns in each of GOMAXPROCS goroutines, b.N times together in each pass.
func measureGets(b *testing.B, open func() func()) {
	n := runtime.GOMAXPROCS(0)
	each := max(b.N/n, 1)
	var gets []func()
	for range n {
		gets = append(gets, open())
		gets[len(gets)-1]()
	}
	all := make([]latencies, n)
	inParallel(n, func(g int) {
		get, seen := gets[g], &all[g]
		for range each {
			start := time.Now()
			get()
			seen.add(time.Since(start))
		}
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.ReportAllocs()
	b.ResetTimer()
	inParallel(n, func(g int) {
		get := gets[g]
		for range each {
			get()
		}
	})
	b.StopTimer()
	runtime.ReadMemStats(&after)
	seen := latencies{}
	for i := range all {
		seen.merge(&all[i])
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())*float64(n)/float64(each*n), "mean-ns")
	for _, p := range []struct {
		name string
		of   float64
	}{{"p50-ns", 0.5}, {"p90-ns", 0.9}, {"p95-ns", 0.95}, {"p99-ns", 0.99}, {"p99.9-ns", 0.999}, {"p99.99-ns", 0.9999}, {"max-ns", 1}} {
		b.ReportMetric(float64(seen.percentile(p.of)), p.name)
	}
	b.ReportMetric(float64(after.NumGC-before.NumGC), "collections")
}

func inParallel(n int, f func(g int)) {
	var wg sync.WaitGroup
	for g := range n {
		wg.Go(func() { f(g) })
	}
	wg.Wait()
}

// latencies counts times: exact below 256 ns, above that in 32 steps for each doubling.
type latencies struct {
	counts [256 + 32*40]int64
	n      int64
}

func (l *latencies) add(d time.Duration) {
	l.counts[latencyClass(int64(d))]++
	l.n++
}

func latencyClass(ns int64) int {
	if ns < 256 {
		return int(max(ns, 0))
	}
	e := bits.Len64(uint64(ns)) - 9 // 256 is 2^8
	return min(256+32*e+int(ns>>(e+3))&31, 256+32*40-1)
}

func (l *latencies) merge(o *latencies) {
	for i, c := range o.counts {
		l.counts[i] += c
	}
	l.n += o.n
}

// percentile is the lower end of the class in which it lies.
func (l *latencies) percentile(p float64) int64 {
	want := max(int64(p*float64(l.n)+0.5), 1)
	for i, c := range l.counts {
		if want -= c; want <= 0 && c > 0 {
			if i < 256 {
				return int64(i)
			}
			e := (i - 256) / 32
			return (32 + int64(i-256)%32) << (e + 3)
		}
	}
	return 0
}

package experiment

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"millrace/internal/clock"
)

// poolRun is one run of Pool.
type poolRun struct {
	o           PoolOptions
	progress    func(Phase)
	doc         *PoolDocument
	done, total int64 // measurements of gets
}

// poolSlices is into how many parts the pass without a clock is cut at most. Between them the variants take turns, and the
// collector is called, so parts are not smaller than pays.
const (
	poolSlices     = 20
	poolSliceLeast = 1000 // operations
)

// parts is how often a goroutine gets and closes a merge of a lane, and in how many parts.
func (r *poolRun) parts(lanes []*poolLane) (each, slices int) {
	// Half as often over 32 sources, an eighth over 255: each takes that much longer.
	each = max(r.o.Samples/r.o.Goroutines/(1+lanes[0].row.Sources/32), 1)
	return each, min(max(each/poolSliceLeast, 1), poolSlices)
}

// poolLane is one variant with one number of sources.
type poolLane struct {
	row    PoolRow
	pooled bool
	gets   []func() // one for each goroutine

	times       *hdrhistogram.Histogram
	means, cpus []float64 // ns an operation, of each slice
}

// nestedSources are the numbers of sources of which nested merges are measured too.
var nestedSources = []int{2, 10, 64}

func (r *poolRun) lanes(sources int) (lanes []*poolLane) {
	for _, v := range poolVariants {
		if !slices.Contains(r.o.Variants, v.name) || v.name == directVariant && sources != 1 {
			continue
		}
		for _, nested := range []bool{false, true} {
			if nested && (!slices.Contains(nestedSources, sources) || v.name == directVariant) {
				continue
			}
			l := &poolLane{row: PoolRow{Sources: sources, Variant: v.name, Nested: nested}, pooled: v.pooled}
			for range r.o.Goroutines {
				l.gets = append(l.gets, v.open(newGetter(sources, nested)))
			}
			lanes = append(lanes, l)
		}
	}
	return lanes
}

// measureGets measures all variants of one number of sources after the other.
func (r *poolRun) measureGets(ctx context.Context) error {
	ballast := makeBallast(r.o.Ballast)
	defer runtime.KeepAlive(ballast)
	clockLane := &poolLane{row: PoolRow{Variant: clockVariant}}
	for range r.o.Goroutines {
		clockLane.gets = append(clockLane.gets, func() {})
	}
	all := [][]*poolLane{{clockLane}}
	for _, k := range r.o.Sources {
		all = append(all, r.lanes(k))
	}
	for _, lanes := range all {
		_, slices := r.parts(lanes)
		r.total += int64(len(lanes) * (1 + slices))
	}
	for _, lanes := range all {
		if err := r.measureLanes(ctx, lanes); err != nil {
			return err
		}
		for _, l := range lanes {
			r.doc.Rows = append(r.doc.Rows, l.finish())
		}
	}
	return nil
}

// makeBallast makes objects for the collector to look at: each points to the next.
func makeBallast(n int) any {
	type object struct {
		next *object
		data [3]int
	}
	var head *object
	for range n {
		head = &object{next: head}
	}
	return head
}

func (r *poolRun) measureLanes(ctx context.Context, lanes []*poolLane) error {
	each, slices := r.parts(lanes)
	for _, l := range lanes {
		for _, get := range l.gets { // fills the pools
			get()
		}
		runtime.GC()
		l.count()
		l.sample(each)
		if err := r.measured(ctx); err != nil {
			return err
		}
	}
	for range slices {
		for _, l := range lanes {
			runtime.GC()
			l.slice(max(each/slices, 1))
			if err := r.measured(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// measured counts a measurement.
func (r *poolRun) measured(ctx context.Context) error {
	r.done++
	r.progress(Phase{Name: "get and close", Done: r.done, Total: r.total, Unit: "measurements"})
	return ctx.Err()
}

// newLatencies is an empty histogram of times up to a minute, exact to a thousandth.
func newLatencies() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(time.Minute), 3) }

// latency notes a time. What is beyond the histogram counts as its end.
func latency(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(int64(d), 0), int64(time.Minute)))
}

// sample times each of so many operations a goroutine.
func (l *poolLane) sample(each int) {
	seen := make([]*hdrhistogram.Histogram, len(l.gets))
	inParallel(len(l.gets), func(g int) {
		h, get := newLatencies(), l.gets[g]
		var real clock.Real
		for range each {
			start := real.Now()
			get()
			latency(h, real.Now().Sub(start))
		}
		seen[g] = h
	})
	l.times = newLatencies()
	for _, h := range seen {
		l.times.Merge(h)
	}
}

// count counts what operations of one goroutine allocate while no other of ours runs. If it is little it is counted again,
// and the least is kept: the runtime allocates now and then, and what an operation allocates it allocates each time.
func (l *poolLane) count() {
	const tries = 5
	n := 10_000
	if checking {
		n = 100
	}
	get := l.gets[0]
	for try := range tries {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range n {
			get()
		}
		runtime.ReadMemStats(&after)
		if allocs := float64(after.Mallocs-before.Mallocs) / float64(n); try == 0 || allocs < l.row.Allocs {
			l.row.Allocs, l.row.Bytes = allocs, float64(after.TotalAlloc-before.TotalAlloc)/float64(n)
		}
		if l.row.Allocs == 0 || l.row.Allocs >= 1 {
			return
		}
	}
}

// slice does so many operations a goroutine without looking at the clock between them.
func (l *poolLane) slice(each int) {
	cpus := make([]time.Duration, len(l.gets))
	walls := make([]time.Duration, len(l.gets))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	inParallel(len(l.gets), func(g int) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var real clock.Real
		get := l.gets[g]
		start, cpu := real.Now(), clock.ThreadCPU()
		for range each {
			get()
		}
		walls[g], cpus[g] = real.Now().Sub(start), clock.ThreadCPU()-cpu
	})
	runtime.ReadMemStats(&after)
	l.row.GCCycles += int64(after.NumGC - before.NumGC)
	for g := range walls {
		l.means = append(l.means, float64(walls[g])/float64(each))
		l.cpus = append(l.cpus, float64(cpus[g])/float64(each))
	}
}

func inParallel(n int, f func(g int)) {
	var wg sync.WaitGroup
	for g := range n {
		wg.Go(func() { f(g) })
	}
	wg.Wait()
}

// finish is the row of what was measured.
func (l *poolLane) finish() PoolRow {
	row := l.row
	row.Samples = l.times.TotalCount()
	row.MeanNS, row.MeanErrorNS = meanOf(l.means)
	row.CPUNS = medianOf(l.cpus)
	row.P0NS, row.MaxNS = l.times.Min(), l.times.Max()
	for _, p := range []struct {
		to *int64
		of float64
	}{{&row.P50NS, 50}, {&row.P90NS, 90}, {&row.P95NS, 95}, {&row.P99NS, 99}, {&row.P999NS, 99.9}, {&row.P9999NS, 99.99}} {
		*p.to = l.times.ValueAtQuantile(p.of)
	}
	return row
}

// meanOf is the mean, and half of its confidence interval at 99.9%, as JMH gives it: by Student's distribution, whose
// quantile follows from the normal one by the first term of its expansion.
func meanOf(all []float64) (mean, half float64) {
	n := float64(len(all))
	for _, v := range all {
		mean += v / n
	}
	if n < 2 {
		return mean, 0
	}
	squares := 0.0
	for _, v := range all {
		squares += (v - mean) * (v - mean)
	}
	const z = 3.2905
	t := z + (z*z*z+z)/(4*(n-1))
	return mean, t * math.Sqrt(squares/(n-1)/n)
}

func medianOf(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

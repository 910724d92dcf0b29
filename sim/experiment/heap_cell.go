package experiment

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"millrace/internal/clock"
	"millrace/sim/workload"
	"millrace/tablet"
	"millrace/tablet/iter"
)

// heapCell is one division of the keys among sources, and what was measured on it. Sources hand out batches made before, so
// that what is measured is the merge.
type heapCell struct {
	batches [][]*tablet.Batch // of each source
	sources []iter.Source
	entries int
	pool    *iter.Pool
	runs    []iter.Run
	lanes   []heapLane
	floor   heapLane
}

// heapLane is one merge's measurements on a cell.
type heapLane struct {
	name          string
	mode          iter.Mode
	repeat        int // drains of one measurement, so that it is long enough for the clock
	cpu, wall     []time.Duration
	stats         iter.Stats
	digest        workload.Digest
	allocs, bytes uint64 // of one drain
}

func newHeapCell(sources [][]tablet.Entry, modes []iter.Mode) *heapCell {
	c := &heapCell{pool: iter.NewPool(), runs: make([]iter.Run, 128), floor: heapLane{name: floorVariant, mode: iter.Tree}}
	// As many to a batch as a compaction takes.
	size := min(max(2048/len(sources), 32), 1024)
	for _, entries := range sources {
		c.entries += len(entries)
		batches := iter.Batches(entries, size)
		c.batches = append(c.batches, batches)
		c.sources = append(c.sources, iter.FromBatches(batches))
	}
	for _, mode := range modes {
		c.lanes = append(c.lanes, heapLane{name: mode.String(), mode: mode})
	}
	return c
}

// digest reads a merge to its end and hashes every entry and code, unmeasured.
func (c *heapCell) digest(ctx context.Context, l *heapLane) (d workload.Digest, err error) {
	m := c.pool.Get(l.mode, c.sources)
	defer m.Close()
	if err := m.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		return d, err
	}
	for {
		n, err := m.Fill(ctx, c.runs)
		if n == 0 || err != nil {
			return d, err
		}
		for _, r := range c.runs[:n] {
			b := m.Batch(r.Src)
			for i := r.Lo; i < r.Hi; i++ {
				code := b.Codes[i]
				if i == r.Lo {
					code = r.Code
				}
				k := b.Key(int(i))
				d.Add(&k, b.Value(int(i)), code)
			}
		}
	}
}

// shortest is how long one measurement should last.
const shortest = time.Millisecond

// time adds one measurement.
func (c *heapCell) time(ctx context.Context, l *heapLane) error {
	return c.measure(l, func() (entries int, err error) {
		entries, l.stats, err = c.drain(ctx, l.mode, c.sources)
		return entries, err
	})
}

// timeFloor adds one measurement of the same calls without a merge: one source after the other.
func (c *heapCell) timeFloor(ctx context.Context) error {
	var one [1]iter.Source
	return c.measure(&c.floor, func() (entries int, err error) {
		c.floor.stats = iter.Stats{}
		for _, s := range c.sources {
			one[0] = s
			n, stats, err := c.drain(ctx, c.floor.mode, one[:])
			if err != nil {
				return 0, err
			}
			entries += n
			c.floor.stats.Switches += stats.Switches
		}
		return entries, nil
	})
}

// measure times a drain on one thread, as often as it takes to be seen by the clock.
func (c *heapCell) measure(l *heapLane, drain func() (int, error)) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if l.repeat == 0 { // once unmeasured
		start := clock.ThreadCPU()
		if _, err := drain(); err != nil {
			return err
		}
		l.repeat = 1 + int(shortest/max(clock.ThreadCPU()-start, 1))
	}
	var real clock.Real
	began, cpu := real.Now(), clock.ThreadCPU()
	for range l.repeat {
		n, err := drain()
		if err != nil {
			return err
		}
		if n != c.entries {
			return fmt.Errorf("%s: %d entries came out of %d: %w", l.name, n, c.entries, tablet.ErrExpectation)
		}
	}
	l.cpu = append(l.cpu, (clock.ThreadCPU()-cpu)/time.Duration(l.repeat))
	l.wall = append(l.wall, real.Now().Sub(began)/time.Duration(l.repeat))
	return nil
}

// codeSink keeps what a drain looks at from being left out.
var codeSink uint64

// drain reads a merge to its end and looks at every code, as whatever stands on a merge does.
func (c *heapCell) drain(ctx context.Context, mode iter.Mode, sources []iter.Source) (entries int, stats iter.Stats, err error) {
	m := c.pool.Get(mode, sources)
	defer m.Close()
	if err := m.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		return 0, stats, err
	}
	most := uint64(0)
	for {
		n, err := m.Fill(ctx, c.runs)
		if n == 0 || err != nil {
			codeSink = most
			return entries, m.Stats(), err
		}
		for i := range c.runs[:n] {
			r := &c.runs[i]
			entries += r.Len()
			most = max(most, r.Code)
			if r.Hi-r.Lo > 1 {
				for _, code := range m.Batch(r.Src).Codes[r.Lo+1 : r.Hi] {
					most = max(most, code)
				}
			}
		}
	}
}

// countAllocations drains a few times more, until nothing is allocated meanwhile, and keeps the least: the runtime allocates a
// little now and then, and what a merge allocates it allocates each time.
func (c *heapCell) countAllocations(ctx context.Context, l *heapLane) error {
	const tries = 5
	for try := range tries {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := c.drain(ctx, l.mode, c.sources)
		runtime.ReadMemStats(&after)
		if err != nil {
			return err
		}
		if allocs := after.Mallocs - before.Mallocs; try == 0 || allocs < l.allocs {
			l.allocs, l.bytes = allocs, after.TotalAlloc-before.TotalAlloc
		}
		if l.allocs == 0 {
			break
		}
	}
	return nil
}

// row completes a row with a lane's measurements.
func (l *heapLane) row(row HeapRow, entries int) HeapRow {
	n := float64(entries)
	cpu, wall := SpreadOf(l.cpu), SpreadOf(l.wall)
	per := func(d time.Duration) float64 { return float64(d) / n }
	row.Variant = l.name
	row.NSPerEntry, row.MinNSPerEntry, row.MaxNSPerEntry = per(cpu.Median()), per(cpu.Min()), per(cpu.Max())
	row.WallNSPerEntry = per(wall.Median())
	row.ComparesPerEntry = float64(l.stats.Comparisons) / n
	row.HeapOpsPerEntry = float64(l.stats.HeapOps) / n
	row.RunLength = n / float64(max(l.stats.Switches, 1))
	row.AllocsPerEntry, row.BytesPerEntry = float64(l.allocs)/n, float64(l.bytes)/n
	return row
}

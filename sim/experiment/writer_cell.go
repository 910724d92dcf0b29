package experiment

import (
	"context"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"millrace/writer"
)

// applyStage is where mutations go.
type applyStage interface {
	// open makes a writer to something that is empty.
	open(ctx context.Context, o writer.Options) (*writer.BatchWriter, error)
	// finish looks at what was written, and removes it. scan has every entry read.
	finish(ctx context.Context, scan bool) error
}

// writerCell is one place: all variants in turn.
type writerCell struct {
	at    WriterPlace
	lanes []writerLane
}

// writerLane is one variant at one place, or one store, run by run.
type writerLane struct {
	name               string // of what lanes are compared by
	variant            writer.Variant
	totals, adds, cpus []time.Duration
	stats              []writer.Stats
	latencies          *hdrhistogram.Histogram // of all runs
	addMax             time.Duration
	maps               []float64
}

func newWriterCell(at WriterPlace, variants []writer.Variant) *writerCell {
	c := &writerCell{at: at}
	for _, v := range variants {
		c.lanes = append(c.lanes, writerLane{name: v.String(), variant: v, latencies: newHistogram()})
	}
	return c
}

// lane is that of a variant; nil if it is not compared.
func (c *writerCell) lane(v writer.Variant) *writerLane {
	for i := range c.lanes {
		if c.lanes[i].variant == v {
			return &c.lanes[i]
		}
	}
	return nil
}

func (l *writerLane) note(t turn, a *adders, threads int) {
	l.totals, l.adds, l.cpus = append(l.totals, t.total), append(l.adds, t.add), append(l.cpus, t.cpu)
	l.stats, l.maps = append(l.stats, t.stats), append(l.maps, float64(t.maps))
	l.addMax = max(l.addMax, t.stats.LongestAdd)
	for _, h := range a.hists[:threads] {
		l.latencies.Merge(h)
	}
	l.addMax = max(l.addMax, time.Duration(l.latencies.Max()))
}

func (l *writerLane) row(at WriterPlace, mutations int) WriterRow {
	total := SpreadOf(l.totals)
	r := WriterRow{
		Variant: l.name, WriterPlace: at,
		TotalNS: int64(total.Median()), MinNS: int64(total.Min()), MaxNS: int64(total.Max()),
		AddNS: int64(SpreadOf(l.adds).Median()), CPUNS: int64(SpreadOf(l.cpus).Median()),
		MutationsPerS: float64(mutations) / total.Median().Seconds(),
		AddMaxNS:      int64(l.addMax), AddP999NS: l.latencies.ValueAtQuantile(99.9), AddP50NS: l.latencies.ValueAtQuantile(50),
		Timed:        l.latencies.TotalCount(),
		Sets:         l.median(func(s *writer.Stats) int64 { return s.Sets }),
		WaitNS:       l.median(func(s *writer.Stats) int64 { return int64(s.MemoryWait) }),
		MemoryWaits:  l.median(func(s *writer.Stats) int64 { return s.MemoryWaits }),
		BinningWaits: l.median(func(s *writer.Stats) int64 { return s.BinningWaits }),
		CallerBinned: l.median(func(s *writer.Stats) int64 { return s.CallerBinned }),
		MapsMade:     medianOf(l.maps),
		BinningNS:    l.median(func(s *writer.Stats) int64 { return int64(s.Binning) }),
	}
	for i := range l.totals {
		r.RunsNS = append(r.RunsNS, int64(l.totals[i]))
		r.MemoryMax = max(r.MemoryMax, l.stats[i].LargestMemory)
	}
	return r
}

// median is that of one figure of the runs; of an even number the lower of the two in the middle.
func (l *writerLane) median(figure func(*writer.Stats) int64) int64 {
	var values []int64
	for i := range l.stats {
		values = append(values, figure(&l.stats[i]))
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}

package experiment

import (
	"context"
	"runtime"
	"time"

	"millrace/internal/clock"
	"millrace/sim/workload"
	"millrace/tablet"
	"millrace/tablet/iter"
)

// A short merge: as many sources as a busy tablet has, and the entries that a small scan wants of each.
const (
	shortSources = 64
	shortEntries = 32
	shortTurns   = 5
)

// shortRepeat is how many merges one measurement has.
func shortRepeat() int {
	if checking {
		return 2
	}
	return 40
}

// shortMerge reads one short merge to its end, with what is pooled of it.
type shortMerge struct {
	mode    iter.Mode
	pooled  string
	dealt   [][]tablet.Entry
	pool    *iter.Pool // nil: a new merge each time
	sources []iter.Source
	runs    []iter.Run

	times          []time.Duration
	mallocs, bytes uint64
	merges         int
}

// shortMerges measures merges of 64 sources with 32 entries each, with new and pooled merges, and with batches, which a
// source decodes into, made anew and kept.
func (r *poolRun) shortMerges(ctx context.Context) error {
	keys := workload.IngestKeys(newSeeded(r.o.Seed), shortSources*shortEntries)
	dealt := workload.DealStretches(keys, shortSources, 1)
	var all []*shortMerge
	for _, mode := range []iter.Mode{iter.Old, iter.New, iter.Tree} {
		for _, pooled := range []string{pooledNone, pooledMerges, pooledBatches} {
			all = append(all, newShortMerge(mode, pooled, dealt))
		}
	}
	for turn := range shortTurns {
		r.progress(Phase{Name: "short merges", Done: int64(turn), Total: shortTurns, Unit: "turns"})
		for _, s := range all {
			if err := s.measure(ctx); err != nil {
				return err
			}
		}
	}
	for _, s := range all {
		r.doc.ShortMerges = append(r.doc.ShortMerges, s.row())
	}
	return nil
}

func newShortMerge(mode iter.Mode, pooled string, dealt [][]tablet.Entry) *shortMerge {
	s := &shortMerge{mode: mode, pooled: pooled, dealt: dealt, sources: make([]iter.Source, len(dealt)), runs: make([]iter.Run, 128)}
	if pooled != pooledNone {
		s.pool = iter.NewPool()
	}
	s.makeSources()
	return s
}

func (s *shortMerge) makeSources() {
	for i, entries := range s.dealt {
		s.sources[i] = iter.FromEntries(entries, shortEntries)
	}
}

// read reads the merge to its end, and returns how many entries there were.
func (s *shortMerge) read(ctx context.Context) (entries int, err error) {
	if s.pooled != pooledBatches {
		s.makeSources()
	}
	m := getMode(s.pool, s.mode, s.sources)
	defer m.Close()
	if err := m.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		return 0, err
	}
	for {
		n, err := m.Fill(ctx, s.runs)
		if n == 0 || err != nil {
			return entries, err
		}
		for i := range s.runs[:n] {
			entries += s.runs[i].Len()
		}
	}
}

//go:noinline
func getMode(p *iter.Pool, mode iter.Mode, sources []iter.Source) merged { return p.Get(mode, sources) }

func (s *shortMerge) measure(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := s.read(ctx); err != nil { // fills what is kept
		return err
	}
	runtime.GC()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := clock.ThreadCPU()
	for range shortRepeat() {
		if _, err := s.read(ctx); err != nil {
			return err
		}
	}
	s.times = append(s.times, clock.ThreadCPU()-start)
	runtime.ReadMemStats(&after)
	s.merges += shortRepeat()
	s.mallocs += after.Mallocs - before.Mallocs
	s.bytes += after.TotalAlloc - before.TotalAlloc
	return nil
}

func (s *shortMerge) row() ShortMergeRow {
	entries := 0
	for _, d := range s.dealt {
		entries += len(d)
	}
	per := func(d time.Duration) float64 { return float64(d) / float64(shortRepeat()*entries) }
	spread := SpreadOf(s.times)
	return ShortMergeRow{
		Merge: s.mode.String(), Pooled: s.pooled, Sources: len(s.dealt), Entries: entries,
		NSPerEntry: per(spread.Median()), MinNS: per(spread.Min()), MaxNS: per(spread.Max()),
		Allocs: float64(s.mallocs) / float64(s.merges), Bytes: float64(s.bytes) / float64(s.merges),
	}
}

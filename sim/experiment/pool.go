package experiment

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"millrace/internal/nearest"
	"millrace/tablet"
)

// PoolOptions says what Pool measures. A zero field means its default.
type PoolOptions struct {
	// Sources are the numbers of sources. Default 1, 2, 5, 8, 10, 32, 64, 255.
	Sources []int
	// Variants are names of ways to come by a merge. Default all.
	Variants []string
	// Samples is how often each is got and closed, in each of the two passes, over few sources; over
	// many it is done less often. Default 1,000,000.
	Samples int
	// Goroutines do it at once. Default GOMAXPROCS.
	Goroutines int
	// Ballast is how many small objects the collector has to look at. Default 200,000.
	Ballast int
	// Seeks is how many short seeks are measured. Default 30,000.
	Seeks int
	// FileEntries is how many entries the files have, together, that are sought in and compacted. Default 100,000.
	FileEntries int
	// Seed decides the keys of merges that are read.
	Seed uint64
}

func (o PoolOptions) withDefaults() PoolOptions {
	if len(o.Sources) == 0 {
		o.Sources = []int{1, 2, 5, 8, 10, 32, 64, 255}
	}
	if len(o.Variants) == 0 {
		o.Variants = PoolVariants()
	}
	if o.Samples == 0 {
		o.Samples = 1_000_000
	}
	if o.Goroutines == 0 {
		o.Goroutines = runtime.GOMAXPROCS(0)
	}
	if o.Ballast == 0 {
		o.Ballast = 200_000
	}
	if o.Seeks == 0 {
		o.Seeks = 30_000
	}
	if o.FileEntries == 0 {
		o.FileEntries = 100_000
	}
	o.Sources = sortedSet(o.Sources)
	return o
}

// Validate names the first field that is wrong, with its value.
func (o PoolOptions) Validate() error {
	o = o.withDefaults()
	for _, v := range o.Variants {
		if names := PoolVariants(); !slices.Contains(names, v) {
			return fmt.Errorf("no way to come by a merge is called %q, nearest is %q: %w", v, nearest.Name(v, names), tablet.ErrUsage)
		}
	}
	const most = 65535
	switch {
	case o.Sources[0] < 1 || o.Sources[len(o.Sources)-1] > most:
		return fmt.Errorf("sources are %v, not within 1 to %d: %w", o.Sources, most, tablet.ErrUsage)
	case o.Samples < 1:
		return fmt.Errorf("samples is %d: %w", o.Samples, tablet.ErrUsage)
	case o.Goroutines < 1 || o.Goroutines > 1024:
		return fmt.Errorf("goroutines is %d, not within 1 to 1024: %w", o.Goroutines, tablet.ErrUsage)
	case o.Ballast < 0:
		return fmt.Errorf("ballast is of %d objects: %w", o.Ballast, tablet.ErrUsage)
	case o.Seeks < 1:
		return fmt.Errorf("seeks is %d: %w", o.Seeks, tablet.ErrUsage)
	case o.FileEntries < effectFileCount:
		return fmt.Errorf("files have %d entries, fewer than %d: %w", o.FileEntries, effectFileCount, tablet.ErrUsage)
	}
	return nil
}

// PoolDocument is what Pool found.
type PoolDocument struct {
	Document[PoolRow]
	ShortMerges []ShortMergeRow `json:"short_merges"`
	Effects     []EffectRow     `json:"effects"`
	// Bars are statements about times. They fail nothing.
	Bars []Check `json:"bars"`
}

// PoolRow is one way to get and close a merge of so many sources. The percentiles are of the pass with a clock, and contain
// its cost, which is a row of its own named clock; mean and processor time are of the pass without.
type PoolRow struct {
	Sources int    `json:"sources"`
	Variant string `json:"variant"`
	Nested  bool   `json:"nested,omitempty"` // one of the sources is a merge of as many, got and closed along

	Samples     int64   `json:"samples"`
	MeanNS      float64 `json:"mean_ns"`
	MeanErrorNS float64 `json:"mean_error_ns"` // half of a 99.9% confidence interval
	CPUNS       float64 `json:"cpu_ns_per_op"` // of the goroutine's thread, median of slices
	P0NS        int64   `json:"p0_ns"`
	P50NS       int64   `json:"p50_ns"`
	P90NS       int64   `json:"p90_ns"`
	P95NS       int64   `json:"p95_ns"`
	P99NS       int64   `json:"p99_ns"`
	P999NS      int64   `json:"p999_ns"`
	P9999NS     int64   `json:"p9999_ns"`
	MaxNS       int64   `json:"max_ns"`
	Allocs      float64 `json:"allocs_per_op"`
	Bytes       float64 `json:"bytes_per_op"`
	GCCycles    int64   `json:"gc_cycles"`
}

// ShortMergeRow is a merge of many sources with few entries each, from beginning to end.
type ShortMergeRow struct {
	Merge      string  `json:"merge"`
	Pooled     string  `json:"pooled"` // none, merges, or merges and batches
	Sources    int     `json:"sources"`
	Entries    int     `json:"entries"`
	NSPerEntry float64 `json:"ns_per_entry"` // processor time, median
	MinNS      float64 `json:"min_ns_per_entry"`
	MaxNS      float64 `json:"max_ns_per_entry"`
	Allocs     float64 `json:"allocs_per_merge"`
	Bytes      float64 `json:"bytes_per_merge"`
}

// EffectRow is what pooling does to work of the engine: bytes and objects allocated for one operation.
type EffectRow struct {
	Work      string  `json:"work"`   // compaction or seek
	Pooled    string  `json:"pooled"` // none, merges, or merges and cursors
	Times     int     `json:"times"`  // how often it was done
	Bytes     float64 `json:"bytes_per_op"`
	Allocs    float64 `json:"allocs_per_op"`
	MeanNS    float64 `json:"mean_ns"`
	P50NS     int64   `json:"p50_ns"`
	P99NS     int64   `json:"p99_ns"`
	P999NS    int64   `json:"p999_ns"`
	GCCycles  int64   `json:"gc_cycles"`
	LessBytes float64 `json:"less_bytes"` // than with nothing pooled, as a share
}

// What is pooled of work that reads.
const (
	pooledNone    = "none"
	pooledMerges  = "merges"
	pooledBatches = "merges and batches"
	pooledCursors = "merges and cursors"
)

// Pool is the experiment of CASSANDRA-15392: what it costs to get and close a merge, nothing read, while the collector has a
// heap to go through; and what that is worth to work which reads. progress may be nil; it is called from one goroutine, often.
func Pool(ctx context.Context, o PoolOptions, progress func(Phase)) (*PoolDocument, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	if progress == nil {
		progress = func(Phase) {}
	}
	r := &poolRun{o: o, progress: progress}
	r.doc = &PoolDocument{Document: Document[PoolRow]{
		Schema: "millrace.sim.pool/1", Command: "pool", Settings: poolSettings(o), Machine: ThisMachine(),
	}}
	for _, phase := range []func(context.Context) error{r.measureGets, r.shortMerges, r.seeks, r.compactions} {
		if err := phase(ctx); err != nil {
			return nil, err
		}
	}
	r.check()
	r.bars()
	return r.doc, nil
}

func poolSettings(o PoolOptions) []Setting {
	return []Setting{
		{"sources", joinInts(o.Sources)},
		{"variants", strings.Join(o.Variants, ",")},
		{"samples", strconv.Itoa(o.Samples)},
		{"goroutines", strconv.Itoa(o.Goroutines)},
		{"ballast", strconv.Itoa(o.Ballast)},
		{"seeks", strconv.Itoa(o.Seeks)},
		{"file-entries", strconv.Itoa(o.FileEntries)},
		{"seed", strconv.FormatUint(o.Seed, 10)},
	}
}

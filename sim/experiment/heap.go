package experiment

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"millrace/internal/nearest"
	"millrace/sim/workload"
	"millrace/tablet"
	"millrace/tablet/iter"
)

// HeapOptions says what Heap sweeps. A zero field means its default.
type HeapOptions struct {
	// Entries is how many entries a merge has. Default 65,536.
	Entries int
	// Keys are names of workload.KeySets. Default all.
	Keys []string
	// Sources are the numbers of sources. Default 2, 4 … 128.
	Sources []int
	// Repeats are how many keys one source supplies before another takes over. Default 1 to 65,536 as in merge.md's sweep.
	// For each number of sources there is one more line, whose entries are dealt at random, four in five to the first of
	// two sources.
	Repeats []int
	// Variants are the merges compared. Default all.
	Variants []iter.Mode
	// Runs is how often each is timed, in turn. Default 5.
	Runs int
	// Seed decides the keys.
	Seed uint64
}

// heapRepeats are the lengths of the whole sweep.
var heapRepeats = []int{1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384, 65536}

func (o HeapOptions) withDefaults() HeapOptions {
	if o.Entries == 0 {
		o.Entries = 1 << 16
	}
	if len(o.Keys) == 0 {
		o.Keys = keySetNames()
	}
	if len(o.Sources) == 0 {
		o.Sources = []int{2, 4, 8, 16, 32, 64, 128}
	}
	if len(o.Repeats) == 0 {
		o.Repeats = heapRepeats
	}
	if len(o.Variants) == 0 {
		o.Variants = iter.Modes()
	}
	if o.Runs == 0 {
		o.Runs = 5
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	o.Sources, o.Repeats = sortedSet(o.Sources), sortedSet(o.Repeats)
	return o
}

func sortedSet(all []int) []int { return slices.Compact(slices.Sorted(slices.Values(all))) }

func keySetNames() (names []string) {
	for _, set := range workload.KeySets() {
		names = append(names, set.Name)
	}
	return names
}

// Validate names the first field that is wrong, with its value.
func (o HeapOptions) Validate() error {
	o = o.withDefaults()
	for _, k := range o.Keys {
		if names := keySetNames(); !slices.Contains(names, k) {
			return fmt.Errorf("no keys are called %q, nearest is %q: %w", k, nearest.Name(k, names), tablet.ErrUsage)
		}
	}
	const most = 65535
	switch {
	case o.Entries < 1 || o.Entries > 1<<26:
		return fmt.Errorf("entries is %d, not within 1 to %d: %w", o.Entries, 1<<26, tablet.ErrUsage)
	case o.Sources[0] < 2 || o.Sources[len(o.Sources)-1] > most:
		return fmt.Errorf("sources are %v, not within 2 to %d: %w", o.Sources, most, tablet.ErrUsage)
	case o.Repeats[0] < 1:
		return fmt.Errorf("repeated keys are %v, below 1: %w", o.Repeats, tablet.ErrUsage)
	case o.Runs < 1:
		return fmt.Errorf("runs is %d: %w", o.Runs, tablet.ErrUsage)
	}
	return nil
}

// HeapDocument is what Heap found.
type HeapDocument struct {
	Document[HeapRow]
	Crossings []Crossing `json:"crossings"`
	// Bars are statements about times. They fail nothing.
	Bars []Check `json:"bars"`
}

// HeapRow is one merge of one division of the keys, over all its runs.
type HeapRow struct {
	Keys     string `json:"keys"`
	Sources  int    `json:"sources"`
	Repeated int    `json:"repeated,omitempty"` // absent where entries were dealt at random
	Dealt    string `json:"dealt"`              // stretches or skewed
	Variant  string `json:"variant"`            // a merge, or floor: the same calls, nothing merged

	NSPerEntry     float64 `json:"ns_per_entry"` // processor time, median
	MinNSPerEntry  float64 `json:"min_ns_per_entry"`
	MaxNSPerEntry  float64 `json:"max_ns_per_entry"`
	WallNSPerEntry float64 `json:"wall_ns_per_entry"` // median

	ComparesPerEntry float64 `json:"compares_per_entry"` // of whole keys
	HeapOpsPerEntry  float64 `json:"heap_ops_per_entry"`
	RunLength        float64 `json:"mean_run_length"` // as the merge hands entries out
	AllocsPerEntry   float64 `json:"allocs_per_entry"`
	BytesPerEntry    float64 `json:"bytes_per_entry"`
}

// Names of rows that are not merges, and of how entries are dealt.
const (
	floorVariant   = "floor"
	dealtStretches = "stretches"
	dealtSkewed    = "skewed"
)

// Heap is the first experiment of ACCUMULO-2827: what it costs to drain a merge, by how many keys a source supplies before
// another takes over, by how many sources there are, and by how the merge decides. Every output is held against a sort.
// progress may be nil; it is called from one goroutine, often.
func Heap(ctx context.Context, o HeapOptions, progress func(Phase)) (*HeapDocument, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	if progress == nil {
		progress = func(Phase) {}
	}
	r := &heapRun{o: o, progress: progress, total: int64(len(o.Keys) * len(o.Sources) * (len(o.Repeats) + 1))}
	r.doc = &HeapDocument{Document: Document[HeapRow]{
		Schema: "millrace.sim.heap/1", Command: "heap", Settings: heapSettings(o), Machine: ThisMachine(),
	}}
	if err := r.sweep(ctx); err != nil {
		return nil, err
	}
	r.conclude()
	return r.doc, nil
}

func heapSettings(o HeapOptions) []Setting {
	var variants []string
	for _, v := range o.Variants {
		variants = append(variants, v.String())
	}
	return []Setting{
		{"entries", strconv.Itoa(o.Entries)},
		{"keys", strings.Join(o.Keys, ",")},
		{"sources", joinInts(o.Sources)},
		{"repeated", joinInts(o.Repeats)},
		{"variants", strings.Join(variants, ",")},
		{"runs", strconv.Itoa(o.Runs)},
		{"seed", strconv.FormatUint(o.Seed, 10)},
	}
}

func joinInts(all []int) string {
	var parts []string
	for _, n := range all {
		parts = append(parts, strconv.Itoa(n))
	}
	return strings.Join(parts, ",")
}

package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"millrace/internal/nearest"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/iter"
)

// IngestOptions says how to run Ingest. A zero field means its default.
type IngestOptions struct {
	// Entries ends the stream at the first flush by which this many are written. Default 2,000,000.
	Entries int64
	// FlushEntries is how many entries the generator writes between two flushes, and the number of its linked lists.
	// Default Entries/100, at least 1,000.
	FlushEntries int
	// BatchEntries is how many travel to the store at a time. Default 1,000.
	BatchEntries int
	// Tablets is how many tablets the table is cut into. Default 8.
	Tablets int
	// Pairs is how many times the full compaction is timed with each merge. Default 5.
	Pairs int
	// Variants are the merges compared. Default iter.Old and iter.New, as in the ticket, and iter.Tree.
	Variants []iter.Mode
	// Shapes of the files that they are compared on: see IngestShapes. Default ShapeNatural.
	Shapes []string
	// Codecs of those files. The table's own, if it is not set, is the first of them. Default the table's alone.
	Codecs []string
	// Seed decides every random choice of the data.
	Seed uint64
	// Properties are the table's and the server's, by Accumulo's names, over those of the ticket.
	Properties map[string]string
	// MemoryLimit is the base of percentage properties. Default as the store's.
	MemoryLimit int64
}

// ticketProperties are those of the experiment in the ticket; what it leaves alone is Accumulo's default, but for the
// durability: the ticket is about merging, and its figures are compared with runs of stores that have no log.
var ticketProperties = map[string]string{
	"table.compaction.major.ratio":                   "4",
	"table.durability":                               "none",
	"table.file.max":                                 "10",
	"table.split.threshold":                          "100G",
	"tserver.compaction.major.concurrent.max":        "9",
	"tserver.compaction.major.thread.files.open.max": "20",
}

func (o IngestOptions) withDefaults() IngestOptions {
	if o.Entries == 0 {
		o.Entries = 2_000_000
	}
	if o.FlushEntries == 0 {
		o.FlushEntries = int(max(1000, o.Entries/100))
	}
	if o.BatchEntries == 0 {
		o.BatchEntries = 1000
	}
	if o.Tablets == 0 {
		o.Tablets = 8
	}
	if o.Pairs == 0 {
		o.Pairs = 5
	}
	if len(o.Variants) == 0 {
		o.Variants = []iter.Mode{iter.Old, iter.New, iter.Tree}
	}
	if len(o.Shapes) == 0 {
		o.Shapes = []string{ShapeNatural}
	}
	properties := maps.Clone(ticketProperties)
	maps.Copy(properties, o.Properties)
	if _, set := properties[codecProperty]; !set && len(o.Codecs) > 0 {
		properties[codecProperty] = o.Codecs[0]
	}
	o.Properties = properties
	return o
}

const codecProperty = "table.file.compress.type"

// Validate names the first field that is wrong, with its value.
func (o IngestOptions) Validate() error {
	o = o.withDefaults()
	switch {
	case o.Entries < 1:
		return fmt.Errorf("entries is %d: %w", o.Entries, tablet.ErrUsage)
	case o.FlushEntries < 2:
		return fmt.Errorf("flush-entries is %d, below 2: %w", o.FlushEntries, tablet.ErrUsage)
	case o.BatchEntries < 1:
		return fmt.Errorf("batch is of %d entries: %w", o.BatchEntries, tablet.ErrUsage)
	case o.Tablets < 1 || o.Tablets > 4096:
		return fmt.Errorf("tablets is %d, not within 1 to 4096: %w", o.Tablets, tablet.ErrUsage)
	case o.Pairs < 1:
		return fmt.Errorf("pairs is %d: %w", o.Pairs, tablet.ErrUsage)
	}
	if err := knownOnce("shape", o.Shapes, IngestShapes()); err != nil {
		return err
	}
	return knownOnce("codec", o.Codecs, IngestCodecs())
}

// knownOnce wants each name to be one of those known, and to come once.
func knownOnce(what string, names, known []string) error {
	for i, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("no %s is called %q here, nearest is %q: %w", what, name, nearest.Name(name, known), tablet.ErrUsage)
		}
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("%s %s is there twice: %w", what, name, tablet.ErrUsage)
		}
	}
	return nil
}

// IngestDocument is what Ingest found.
type IngestDocument struct {
	Document[IngestRow]
	Resumed  *ResumedRow   `json:"resumed,omitempty"`
	Ingest   IngestSummary `json:"ingest"`
	Tablets  []TabletRow   `json:"tablets"`
	FileSets []FileSetRow  `json:"file_sets"`
	Ratios   []RatioRow    `json:"ratios"`
	Final    FinalRow      `json:"final_compaction"`
	Verified VerifiedRow   `json:"verified"`
}

// IngestRow is the full compaction of all tablets by one merge, over all its repetitions.
type IngestRow struct {
	Shape            string  `json:"shape"` // of the files
	Codec            string  `json:"codec"`
	Variant          string  `json:"variant"`
	Entries          int64   `json:"entries"` // read
	Files            int     `json:"files"`   // read
	FullNS           int64   `json:"full_ns"` // median
	MinNS            int64   `json:"min_ns"`
	MaxNS            int64   `json:"max_ns"`
	CPUNS            int64   `json:"cpu_ns"` // median
	RunsNS           []int64 `json:"runs_ns"`
	Written          int64   `json:"written"`
	ComparesPerEntry float64 `json:"compares_per_entry"`
	HeapOpsPerEntry  float64 `json:"heap_ops_per_entry"`
	RunLength        float64 `json:"mean_run_length"` // consecutive entries from one file
	MergeNS          float64 `json:"merge_ns_per_entry"`
	MergeShare       float64 `json:"merge_share"` // of the compaction's CPU
}

// ResumedRow is what a run began from that an earlier one had been interrupted in.
type ResumedRow struct {
	Entries      int64 `json:"entries"`      // of the stream, in files by an acknowledged flush: it goes on behind them
	Acknowledged int64 `json:"acknowledged"` // of the stream, as far as the journal knows
	Missing      int64 `json:"missing"`      // of those, when the store was opened again
}

// IngestSummary is the first half: writing, without what was written by earlier runs.
type IngestSummary struct {
	Entries     int64   `json:"entries"`
	Updates     int64   `json:"updates"` // of them, to cells that were there
	Bytes       int64   `json:"bytes"`   // mutations as they are sent
	WallNS      int64   `json:"wall_ns"`
	CPUNS       int64   `json:"cpu_ns"`
	FlushNS     int64   `json:"flush_wait_ns"` // waiting for flushes, part of wall_ns
	Flushes     int64   `json:"flushes"`
	Compactions int64   `json:"compactions"`
	FileBytes   int64   `json:"file_bytes"` // of the files that stand when writing ends
	WriteAmp    float64 `json:"write_amp"`  // bytes written to files over bytes flushed
}

// TabletRow is one tablet as ingest left it.
type TabletRow struct {
	Extent    string  `json:"extent"`
	Files     int     `json:"files"`
	Entries   int64   `json:"entries"`
	Bytes     int64   `json:"bytes"`
	FileBytes []int64 `json:"file_bytes"` // newest first
}

// RatioRow compares the times of two variants pair by pair.
type RatioRow struct {
	Shape   string  `json:"shape"`
	Codec   string  `json:"codec"`
	Variant string  `json:"variant"`
	Over    string  `json:"over"`
	Median  float64 `json:"median"`
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
	CPU     float64 `json:"cpu"` // of processor time, median
}

// FinalRow is the full compaction that was kept.
type FinalRow struct {
	Variant string `json:"variant"`
	WallNS  int64  `json:"wall_ns"`
	Read    int64  `json:"read"`
	Written int64  `json:"written"`
	Dropped int64  `json:"dropped"`
	Files   int    `json:"files"`
}

// VerifiedRow is the verification of the table as a scan gives it after the last compaction.
type VerifiedRow struct {
	Entries      int64 `json:"entries"`
	Undefined    int64 `json:"undefined"`
	Referenced   int64 `json:"referenced"`
	Unreferenced int64 `json:"unreferenced"`
	Corrupt      int64 `json:"corrupt"`
	WallNS       int64 `json:"wall_ns"`
}

// Phase says how far an experiment is. Total is 0 where the end is not known.
type Phase struct {
	Name        string
	Done, Total int64
	Unit        string
}

// Ingest runs continuous ingest into a store on fs, compacts identical files with each merge in turn, compacts for good
// and verifies every entry. On the files of a run that was interrupted, in whatever way, it goes on: what was acknowledged
// must be there, and is looked for first. progress may be nil; it is called from one goroutine, often.
func Ingest(ctx context.Context, fs vfs.FS, o IngestOptions, progress func(Phase)) (*IngestDocument, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	if progress == nil {
		progress = func(Phase) {}
	}
	run, err := startIngest(ctx, fs, o, progress)
	if err != nil {
		return nil, err
	}
	for _, phase := range []func(context.Context) error{run.write, run.compareSets, run.compact, run.verify} {
		if err = phase(ctx); err != nil {
			break
		}
	}
	if err = errors.Join(err, run.close()); err != nil {
		return nil, err
	}
	return run.doc, nil
}

// settingsOf lists what the run was made with.
func settingsOf(o IngestOptions) []Setting {
	all := []Setting{
		{"entries", strconv.FormatInt(o.Entries, 10)},
		{"flush-entries", strconv.Itoa(o.FlushEntries)},
		{"tablets", strconv.Itoa(o.Tablets)},
		{"pairs", strconv.Itoa(o.Pairs)},
		{"shape", strings.Join(o.Shapes, ",")},
		{"seed", strconv.FormatUint(o.Seed, 10)},
	}
	if len(o.Codecs) > 0 {
		all = append(all, Setting{"codec", strings.Join(o.Codecs, ",")})
	}
	for _, name := range slices.Sorted(maps.Keys(o.Properties)) {
		all = append(all, Setting{name, o.Properties[name]})
	}
	return all
}

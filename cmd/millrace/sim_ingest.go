package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"millrace/sim/experiment"
	"millrace/tablet/iter"
)

func newSimIngest(e *env) *cobra.Command {
	m := manual{
		use:   "ingest [flags]",
		short: "ingest, compact with the old and the new merge, verify",
		long: `
Writes linked lists of entries into a table of several tablets, as Accumulo's continuous ingest does, with flushes and
compactions going on; times full compactions of the same files with each merge in turn; compacts for good; and reads
every entry back to find lost or damaged ones.

This is the experiment of ACCUMULO-2827. The merge called old takes the current source out of its heap and puts it back
for each entry; new lets it stay while it wins. Random rows are hard on new: with ten files of one size the next entry
comes from the same file one time in ten. The engine's own merge, tree, is timed with them.

--shape deals the entries that ingest has left to other files, and times full compactions of those too. natural is as
flushes and compactions leave files; equal are ten files of one size, each entry in one of them at random; long-run are
ten files of one size whose keys interleave in a few long stretches. --codec writes each shape in each of the codecs,
none and gz as bounds, say: what a merge saves is a share of the whole, and the codec's is the largest.

Properties are those of the ticket: ratio 4, 10 files a tablet, one pass over up to 20 files. --entries 1000000000
--flush-entries 1000000 is its size. --quick takes snappy, one cycle of linked lists and one pair of compactions, unless
told otherwise. The log is left out (durability none), as it is not what is measured, unless --set table.durability=sync,
flush or log asks for it.

With --data a run that was interrupted goes on, even if its process was killed: the same command looks for everything
that was acknowledged, by flushes alone below durability flush, and writes on from the last flush. The seed,
--flush-entries and --tablets stay those of the first run; other settings and properties are those given now.`,
		memory: `tserver.memory.maps.max (33% of --memory-limit) of entries, tserver.total.mutation.queue.max (5%) on their way there, a
block of each file being compacted, 20 bytes for each of --flush-entries, and 24 bytes an entry to verify. Files of a shape
or codec are written a tenth of all entries at a time, which must fit in tserver.memory.maps.max.`,
		exits: []int{3, 4, 5},
		examples: `
$ millrace sim ingest --quick --entries 100000
continuous ingest on …
…
full compaction of the same files, 1 times each in turn, page cache warm
  shape    codec   merge  files  median     min     max     CPU  entries/s  compares/entry  heap ops/entry  mean run  merge ns/entry  share
  natural  snappy  old       …
  natural  snappy  new       …
  natural  snappy  tree      …
…
verified 99,996 entries in … s: 0 undefined, 0 corrupt, 96,149 referenced, 3,847 not referenced
…
JSON  not written (--json FILE)

$ millrace sim ingest --entries 20000 --tablets 2 --pairs 2 --set table.file.compress.type=lz4 --format markdown
| shape | codec | variant | entries | files | full_ns | …
…
| natural | lz4 | old | …
| natural | lz4 | new | …
| natural | lz4 | tree | …
$ millrace sim ingest --entries 20000 --tablets 2 --pairs 1 --variants new,tree --shape equal,long-run --codec none,gz --format csv
shape,codec,variant,entries,files,full_ns,…
equal,none,new,…
…
long-run,gz,tree,…
`[1:],
	}
	var o ingestFlags
	c := newCommand(m, args(0, 0, "none"), func(cmd *cobra.Command, _ []string) error {
		return e.simIngest(cmd, &o)
	})
	o.register(c)
	flags := c.Flags()
	flags.Int64Var(&o.entries, "entries", defaultIngestEntries, "how many entries to write, up to the next flush")
	flags.IntVar(&o.flushEntries, "flush-entries", 0, "entries between the generator's flushes; default a hundredth of --entries")
	flags.IntVar(&o.tablets, "tablets", 8, "how many tablets the table has")
	flags.IntVar(&o.pairs, "pairs", 5, "how often to time each merge, in turn")
	flags.StringSliceVar(&o.variants, "variants", []string{iter.Old.String(), iter.New.String(), iter.Tree.String()}, "merges to compare: "+strings.Join(modeNames(), ", "))
	flags.StringSliceVar(&o.shapes, "shape", []string{experiment.ShapeNatural}, "shapes of files: "+strings.Join(experiment.IngestShapes(), ", "))
	flags.StringSliceVar(&o.codecs, "codec", nil, "codecs of files: "+strings.Join(experiment.IngestCodecs(), ", ")+"; default the table's")
	completeFlag(c, "variants", cobra.FixedCompletions(modeNames(), cobra.ShellCompDirectiveNoFileComp))
	completeFlag(c, "shape", cobra.FixedCompletions(experiment.IngestShapes(), cobra.ShellCompDirectiveNoFileComp))
	completeFlag(c, "codec", cobra.FixedCompletions(experiment.IngestCodecs(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

type ingestFlags struct {
	simFlags
	entries      int64
	flushEntries int
	tablets      int
	pairs        int
	variants     []string
	shapes       []string
	codecs       []string
}

const (
	defaultIngestEntries = 2_000_000
	quickIngestPairs     = 1
	// quickIngestFlushes is a whole cycle: 25 steps and the closing of the loop.
	quickIngestFlushes = 26
)

// options turns flags into the experiment's settings. --quick changes only what was not given.
func (f *ingestFlags) options(given func(flag string) bool) (experiment.IngestOptions, error) {
	properties, err := f.properties()
	if err != nil {
		return experiment.IngestOptions{}, err
	}
	for flag, value := range map[string]int64{"entries": f.entries, "tablets": int64(f.tablets), "pairs": int64(f.pairs)} {
		if value < 1 {
			return experiment.IngestOptions{}, usagef("--%s is %d, want at least 1", flag, value)
		}
	}
	o := experiment.IngestOptions{
		Entries: f.entries, FlushEntries: f.flushEntries, Tablets: f.tablets, Pairs: f.pairs, Seed: f.seed,
		Properties: properties, MemoryLimit: int64(f.memory), Shapes: f.shapes, Codecs: f.codecs,
	}
	if o.Variants, err = parseModes(f.variants); err != nil {
		return o, err
	}
	if f.quick {
		f.hurry(&o, given)
	}
	return o, o.Validate()
}

// hurry is --quick: a fast codec, one cycle of linked lists, a pair of compactions; whatever was not asked for otherwise.
func (f *ingestFlags) hurry(o *experiment.IngestOptions, given func(flag string) bool) {
	if !given("pairs") {
		o.Pairs = quickIngestPairs
	}
	if !given("flush-entries") {
		o.FlushEntries = int(max(f.entries/quickIngestFlushes, 2))
	}
	const codec = "table.file.compress.type"
	if _, set := o.Properties[codec]; !set && len(o.Codecs) == 0 {
		o.Properties[codec] = "snappy"
	}
}

func (e *env) simIngest(cmd *cobra.Command, f *ingestFlags) error {
	o, err := f.options(cmd.Flags().Changed)
	if err != nil {
		return err
	}
	s := study[*experiment.IngestDocument]{
		flags: &f.resultFlags, store: &f.simFlags,
		run: func(ctx context.Context, w *workspace, show func(experiment.Phase)) (*experiment.IngestDocument, error) {
			return experiment.Ingest(ctx, w.fs, o, show)
		},
		print:   func(doc *experiment.IngestDocument, w *workspace) error { return e.printIngest(doc, f, w) },
		verdict: func(doc *experiment.IngestDocument) error { return experiment.Failed(doc.Checks) },
	}
	return s.do(cmd.Context(), e)
}

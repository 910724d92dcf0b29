package main

import (
	"context"

	"github.com/spf13/cobra"

	"millrace/sim/experiment"
	"millrace/sim/workload"
)

func newSimHeap(e *env) *cobra.Command {
	m := manual{
		use:   "heap [flags]",
		short: "drain merges, by runs of keys, sources and kind of merge",
		long: `
Drains merges of sorted sources in memory, with each kind of merge in turn, and says what it costs by how many keys one
source supplies before another takes over, and by how many sources there are. Every output is held against a sort.

This is the first experiment of ACCUMULO-2827, with its axes. The merge called old takes the current source out of its
heap and puts it back for each entry; new lets it stay while it wins; swap is new that exchanges it with the heap's root
in one pass; tree is the engine's own, a tree of losers over codes that hands out runs of entries; tree-entry is the same
one entry at a time. The row floor is the same calls without a merge. ci keys are those of continuous ingest, long keys
share most of their rows. In rows without a stretch entries are dealt at random, four to one source for each to one of
the others.

Times are processor time of one thread, the median of several runs; where old and new, and new and tree, cost the same is
computed from them. They fail nothing, unless --expect says that what is known to be within reach must be reached.
--quick sweeps three numbers of sources and six stretches.`[1:],
		memory: `some 800 bytes for each of --entries.`,
		exits:  []int{4},
		examples: `
$ millrace sim heap --quick --entries 2000
merges in memory on …
…
checks
  ok      outputs in the order of a reference sort: …
…
$ millrace sim heap --entries 2000 --keys ci --sources 4 --repeated 1,64 --variants old,new --format csv
keys,sources,repeated,dealt,variant,ns_per_entry,…
ci,4,1,stretches,old,…
…
$ millrace sim heap --quick --entries 2000 --plots charts --csv rows.csv --json heap.json
…
charts  charts, 8 of them
rows    rows.csv
JSON    heap.json
`[1:],
	}
	var f heapFlags
	c := newCommand(m, args(0, 0, "none"), func(cmd *cobra.Command, _ []string) error {
		return e.simHeap(cmd, &f)
	})
	f.register(c)
	flags := c.Flags()
	flags.IntVar(&f.o.Entries, "entries", 1<<16, "entries of a merge")
	flags.StringSliceVar(&f.o.Keys, "keys", keySetNames(), "kinds of keys")
	flags.IntSliceVar(&f.o.Sources, "sources", []int{2, 4, 8, 16, 32, 64, 128}, "numbers of sources")
	flags.IntSliceVar(&f.o.Repeats, "repeated", nil, "stretches: keys that one source supplies before another takes over; default 1 to 65536")
	flags.IntVar(&f.o.Runs, "runs", 5, "how often to time each merge, in turn")
	flags.StringSliceVar(&f.variants, "variants", modeNames(), "merges to compare")
	flags.StringVar(&f.csv, "csv", "", "also write all rows as CSV to `FILE`")
	flags.StringVar(&f.plots, "plots", "", "also draw the ticket's charts as SVG in `DIR`: old, new, both, both with tree")
	flags.BoolVar(&f.expect, "expect", false, "fail, with exit code 4, if a time is not within its bar")
	completeFlag(c, "variants", cobra.FixedCompletions(modeNames(), cobra.ShellCompDirectiveNoFileComp))
	completeFlag(c, "keys", cobra.FixedCompletions(keySetNames(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func keySetNames() (names []string) {
	for _, set := range workload.KeySets() {
		names = append(names, set.Name)
	}
	return names
}

type heapFlags struct {
	resultFlags
	o          experiment.HeapOptions
	variants   []string
	csv, plots string
	expect     bool
}

// What --quick sweeps: whatever was not asked for otherwise.
var (
	quickHeapSources = []int{2, 16, 128}
	quickHeapRepeats = []int{1, 4, 16, 64, 1024, 65536}
)

func (f *heapFlags) options(given func(flag string) bool) (o experiment.HeapOptions, err error) {
	o = f.o
	o.Seed = f.seed
	if o.Variants, err = parseModes(f.variants); err != nil {
		return o, err
	}
	for flag, n := range map[string]int{"entries": o.Entries, "runs": o.Runs} {
		if n < 1 {
			return o, usagef("--%s is %d, want at least 1", flag, n)
		}
	}
	if f.quick && !given("sources") {
		o.Sources = quickHeapSources
	}
	if f.quick && !given("repeated") {
		o.Repeats = quickHeapRepeats
	}
	return o, o.Validate()
}

func (e *env) simHeap(cmd *cobra.Command, f *heapFlags) error {
	o, err := f.options(cmd.Flags().Changed)
	if err != nil {
		return err
	}
	s := study[*experiment.HeapDocument]{
		flags: &f.resultFlags, csv: f.csv, plots: f.plots, plotNames: o.PlotNames(),
		run: func(ctx context.Context, _ *workspace, show func(experiment.Phase)) (*experiment.HeapDocument, error) {
			return experiment.Heap(ctx, o, show)
		},
		tables:  func(doc *experiment.HeapDocument) (*grid, []experiment.Plot) { return heapGrid(doc), doc.Plots() },
		print:   func(doc *experiment.HeapDocument, _ *workspace) error { return e.printHeap(doc, f) },
		verdict: func(doc *experiment.HeapDocument) error { return failed(doc.Checks, doc.Bars, f.expect) },
	}
	return s.do(cmd.Context(), e)
}

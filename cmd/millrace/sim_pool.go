package main

import (
	"context"

	"github.com/spf13/cobra"

	"millrace/sim/experiment"
)

func newSimPool(e *env) *cobra.Command {
	m := manual{
		use:   "pool [flags]",
		short: "get and close merges, new and from pools",
		long: `
Gets a merge and closes it, nothing read, again and again on all processors, while the collector has many small objects
to look at: what a merge object costs made anew (fresh), from a free list of its owner (freelist, the engine's own way),
from a pool for all goroutines (syncpool), from one list behind a lock (mutex), and, of a single source, left out (direct).
Nested means that one of the sources is a merge of as many sources, got and closed along.

This is the experiment of CASSANDRA-15392. A first pass times each call for the percentiles, which contain the clock's own
cost, a line of its own; a second one without a clock gives the mean. The ticket's table is printed beside ours.

What the ticket leaves open comes after: short merges that are read to their end, 64 sources with 32 entries each; short
seeks over ten files, as look-ups do; and whole compactions of those files: bytes and objects allocated for each, with
nothing pooled, with merges, and with batches or cursors too.

Times fail nothing, unless --expect says that what is known to be within reach must be reached. --quick takes few samples
of three numbers of sources.`[1:],
		memory: `some 200 KB for each of --goroutines, and --ballast.`,
		exits:  []int{4},
		examples: `
$ millrace sim pool --quick --samples 5000 --seeks 100 --sources 2
get and close of merges on …
…
checks
…
$ millrace sim pool --quick --samples 5000 --seeks 100 --sources 1 --variants fresh,freelist --format csv
sources,variant,nested,samples,mean_ns,…
0,clock,false,…
1,fresh,false,…
1,freelist,false,…
`[1:],
	}
	var f poolFlags
	c := newCommand(m, args(0, 0, "none"), func(cmd *cobra.Command, _ []string) error {
		return e.simPool(cmd, &f)
	})
	f.register(c)
	flags := c.Flags()
	flags.IntSliceVar(&f.o.Sources, "sources", []int{1, 2, 5, 8, 10, 32, 64, 255}, "numbers of sources")
	flags.StringSliceVar(&f.o.Variants, "variants", experiment.PoolVariants(), "ways to come by a merge")
	flags.IntVar(&f.o.Samples, "samples", 1_000_000, "how often to get and close each, in each pass; over many sources less often")
	flags.IntVar(&f.o.Goroutines, "goroutines", 0, "how many do it at once; default GOMAXPROCS")
	flags.IntVar(&f.o.Ballast, "ballast", 200_000, "small objects that the collector has to look at")
	flags.IntVar(&f.o.Seeks, "seeks", 30_000, "short seeks to measure")
	flags.BoolVar(&f.expect, "expect", false, "fail, with exit code 4, if a time is not within its bar")
	completeFlag(c, "variants", cobra.FixedCompletions(experiment.PoolVariants(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

type poolFlags struct {
	resultFlags
	o      experiment.PoolOptions
	expect bool
}

// What --quick measures: whatever was not asked for otherwise.
var quickPoolSources = []int{1, 2, 10}

const (
	quickPoolSamples = 200_000
	quickPoolSeeks   = 5_000
	quickFileEntries = 20_000
)

func (f *poolFlags) options(given func(flag string) bool) (o experiment.PoolOptions, err error) {
	o = f.o
	o.Seed = f.seed
	for flag, n := range map[string]int{"samples": o.Samples, "seeks": o.Seeks, "ballast": o.Ballast} {
		if n < 1 {
			return o, usagef("--%s is %d, want at least 1", flag, n)
		}
	}
	if given("goroutines") && o.Goroutines < 1 {
		return o, usagef("--goroutines is %d, want at least 1", o.Goroutines)
	}
	if f.quick {
		o.FileEntries = quickFileEntries
		if !given("sources") {
			o.Sources = quickPoolSources
		}
		if !given("samples") {
			o.Samples = quickPoolSamples
		}
		if !given("seeks") {
			o.Seeks = quickPoolSeeks
		}
	}
	return o, o.Validate()
}

func (e *env) simPool(cmd *cobra.Command, f *poolFlags) error {
	o, err := f.options(cmd.Flags().Changed)
	if err != nil {
		return err
	}
	s := study[*experiment.PoolDocument]{
		flags: &f.resultFlags,
		run: func(ctx context.Context, _ *workspace, show func(experiment.Phase)) (*experiment.PoolDocument, error) {
			return experiment.Pool(ctx, o, show)
		},
		print:   func(doc *experiment.PoolDocument, _ *workspace) error { return e.printPool(doc, f) },
		verdict: func(doc *experiment.PoolDocument) error { return failed(doc.Checks, doc.Bars, f.expect) },
	}
	return s.do(cmd.Context(), e)
}

package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"millrace/sim/experiment"
	"millrace/writer"
)

func newSimWriter(e *env) *cobra.Command {
	m := manual{
		use:   "writer [flags]",
		short: "add mutations from many threads, by kind of batch writer",
		long: `
Adds a million mutations from several threads through one batch writer, with each kind of writer in turn: to a store, and
then to where applying them is free, so that the writer itself is the limit: with many tablets, and with a map of tablets
that is forgotten five times in a run and takes 10 ms to be had again.

This is the experiment of ACCUMULO-1755. With locked whoever fills half of the memory bins it to tablets, and nobody may
add meanwhile; handoff, the merged change, has one thread that bins, and whoever fills another set meanwhile bins it
himself, under the same lock; nosync, the ticket's second experiment, is handoff without one lock around add; actors is
the engine's own: several actors bin full buffers, so that no add waits for binning.

The number of sets that locked, handoff and nosync send follows from Accumulo's estimate of a mutation's memory, and is
checked, as is that every mutation is acknowledged, and in the store once. Times are medians of several runs; one Add in
61 is timed. They fail nothing, unless --expect says that what is known to be within reach must be reached. Ratios of
throughput are taken pair by pair, with the interval that has the mean in it with a probability of 95 %.

Mutations are in the log's file when they are acknowledged (durability log), not synced, and stay in memory until the run
is over, unless --set says otherwise. --quick times each place once, with fewer of them, unless told otherwise. With
--data DIR tables are made in the store that is there, or a new one, and removed again.`[1:],
		memory: `some 500 bytes for each of --mutations: they are made before the clock starts, and stay.`,
		exits:  []int{4, 5},
		examples: `
$ millrace sim writer --quick --mutations 20000 --tablets 100
batch writers on …
…
into a store: …
  memory  threads  variant  …
…
checks
  ok      estimated bytes of a mutation: 270
…
$ millrace sim writer --mutations 20000 --threads 2 --memory 1M --tablets 100 --runs 2 --variants handoff,actors --format csv
variant,threads,memory_bytes,tablets,apply,map,total_ns,…
handoff,2,1048576,8,real,warm,…
…
`[1:],
	}
	var f writerRunFlags
	c := newCommand(m, args(0, 0, "none"), func(cmd *cobra.Command, _ []string) error {
		return e.simWriter(cmd, &f)
	})
	f.register(c)
	flags := c.Flags()
	flags.IntVar(&f.o.Mutations, "mutations", 1_000_000, "mutations of a run, from all threads together")
	flags.IntSliceVar(&f.o.Threads, "threads", []int{1, 2, 4, 8, 16}, "numbers of threads that add")
	flags.StringSliceVar(&f.bounds, "memory", []string{"1M", "10M", "100M"}, "bounds of the writer's memory")
	flags.IntVar(&f.o.StoreTablets, "store-tablets", 8, "tablets of the store's table")
	flags.IntSliceVar(&f.o.Tablets, "tablets", []int{1000, 10_000}, "numbers of tablets where applying is free")
	flags.StringSliceVar(&f.variants, "variants", writerNames(), "writers to compare")
	flags.IntVar(&f.o.Runs, "runs", 5, "how often to time each writer, in turn")
	flags.IntVar(&f.warmUps, "warm-ups", 1, "turns before those, which do not count")
	flags.StringVar(&f.csv, "csv", "", "also write all rows as CSV to `FILE`")
	flags.BoolVar(&f.expect, "expect", false, "fail, with exit code 4, if a time is not within its bar")
	completeFlag(c, "variants", cobra.FixedCompletions(writerNames(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// writerNames are the variants, from the oldest on.
func writerNames() []string {
	return []string{writer.Locked.String(), writer.Handoff.String(), writer.NoSync.String(), writer.Actors.String()}
}

type writerRunFlags struct {
	simFlags
	o        experiment.WriterOptions
	bounds   []string
	variants []string
	warmUps  int
	csv      string
	expect   bool
}

// What --quick takes: the places that bars name, once each.
var (
	quickWriterThreads = []int{1, 8, 16}
	quickWriterTablets = []int{10_000}
)

func (f *writerRunFlags) options(given func(flag string) bool) (o experiment.WriterOptions, err error) {
	o = f.o
	o.Seed, o.MemoryLimit, o.WarmUps = f.seed, int64(f.memory), f.warmUps
	for flag, n := range map[string]int{"mutations": o.Mutations, "store-tablets": o.StoreTablets, "runs": o.Runs} {
		if n < 1 {
			return o, usagef("--%s is %d, want at least 1", flag, n)
		}
	}
	if f.warmUps < 0 {
		return o, usagef("--warm-ups is %d, want at least 0", f.warmUps)
	}
	if o.Properties, err = f.properties(); err != nil {
		return o, err
	}
	for _, text := range f.bounds {
		var s size
		if err := s.Set(text); err != nil {
			return o, usagef("--memory %s: %v", printable(text), err)
		}
		o.MemoryBytes = append(o.MemoryBytes, int64(s))
	}
	for _, name := range f.variants {
		v, err := writer.ParseVariant(name)
		if err != nil {
			return o, usagef("--variants: %v", err)
		}
		if !slices.Contains(o.Variants, v) {
			o.Variants = append(o.Variants, v)
		}
	}
	if f.quick {
		hurryWriter(&o, given)
	}
	if o.WarmUps == 0 {
		o.WarmUps = -1 // none, not the default
	}
	return o, o.Validate()
}

// hurryWriter is --quick: whatever was not asked for otherwise.
func hurryWriter(o *experiment.WriterOptions, given func(flag string) bool) {
	if !given("threads") {
		o.Threads = quickWriterThreads
		o.Brief = !given("memory")
	}
	if !given("tablets") {
		o.Tablets = quickWriterTablets
	}
	if !given("runs") {
		o.Runs = 1
	}
	if !given("warm-ups") {
		o.WarmUps = 0
	}
}

func (e *env) simWriter(cmd *cobra.Command, f *writerRunFlags) error {
	o, err := f.options(cmd.Flags().Changed)
	if err != nil {
		return err
	}
	s := study[*experiment.WriterDocument]{
		flags: &f.resultFlags, csv: f.csv, store: &f.simFlags,
		run: func(ctx context.Context, w *workspace, show func(experiment.Phase)) (*experiment.WriterDocument, error) {
			return experiment.Writer(ctx, w.fs, o, show)
		},
		tables:  func(doc *experiment.WriterDocument) (*grid, []experiment.Plot) { return writerGrid(doc), nil },
		print:   func(doc *experiment.WriterDocument, w *workspace) error { return e.printWriter(doc, f, w) },
		verdict: func(doc *experiment.WriterDocument) error { return failed(doc.Checks, doc.Bars, f.expect) },
	}
	return s.do(cmd.Context(), e)
}

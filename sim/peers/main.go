package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"millrace/internal/clock"
	"millrace/sim/experiment"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		stop()
		os.Exit(1)
	}
}

// peers are all stores, ours first.
func peers() []experiment.Peer {
	return []experiment.Peer{experiment.Ours(), {Name: "pebble", Open: openPebble, Times: 2}, {Name: "goleveldb", Open: openLevel}}
}

func run(ctx context.Context, args []string, out, errs io.Writer) error {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(errs)
	var o experiment.PeersOptions
	flags.IntVar(&o.Mutations, "mutations", 1_000_000, "mutations of a run, from all threads together")
	flags.IntVar(&o.Tablets, "tablets", 8, "tablets of ours")
	flags.IntVar(&o.Runs, "runs", 5, "how often to time each store, in turn")
	flags.IntVar(&o.WarmUps, "warm-ups", 1, "turns before those, which do not count")
	flags.Uint64Var(&o.Seed, "seed", 1, "decides the order of the rows")
	threads := flags.String("threads", "1,4,16", "numbers of threads that add")
	memory := flags.String("memory", "1,10,100", "bounds of the writer's memory in MiB")
	names := flags.String("stores", "millrace,pebble,goleveldb", "stores to compare; others with the first")
	asJSON := flags.Bool("json", false, "print the result document instead of tables")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("no arguments are wanted: %q", flags.Args())
	}
	var err error
	if o.Threads, err = numbers(*threads); err != nil {
		return err
	}
	mebibytes, err := numbers(*memory)
	if err != nil {
		return err
	}
	for _, m := range mebibytes {
		o.MemoryBytes = append(o.MemoryBytes, int64(m)<<20)
	}
	if o.WarmUps == 0 {
		o.WarmUps = -1
	}
	chosen, err := choose(*names)
	if err != nil {
		return err
	}
	doc, err := experiment.Peers(ctx, o, chosen, progress(errs))
	if err != nil {
		return err
	}
	if *asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		err = e.Encode(doc)
	} else {
		err = print(out, doc)
	}
	if err != nil {
		return err
	}
	return experiment.Failed(doc.Checks)
}

// progress draws one line on a terminal, and nothing elsewhere.
func progress(errs io.Writer) func(experiment.Phase) {
	f, ok := errs.(*os.File)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	c := clock.Real{}
	start := c.Now()
	return func(p experiment.Phase) {
		left := "?"
		if p.Done > 0 {
			left = (clock.Since(c, start) * time.Duration(p.Total-p.Done) / time.Duration(p.Done)).Round(time.Second).String()
		}
		fmt.Fprintf(f, "\r%s: %d of %d %s, %s left\x1b[K", p.Name, p.Done, p.Total, p.Unit, left)
		if p.Done+1 >= p.Total {
			fmt.Fprint(f, "\r\x1b[K")
		}
	}
}

func numbers(list string) (all []int, err error) {
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q in %q is not a number above 0", text, list)
		}
		all = append(all, n)
	}
	return all, nil
}

func choose(names string) (chosen []experiment.Peer, err error) {
	all := peers()
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(p experiment.Peer) bool { return p.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no store is called %q", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"millrace/internal/vfs"
	"millrace/sim/experiment"
	"millrace/tablet/storage"
)

func newSim(e *env) *cobra.Command {
	return newGroup("sim", "experiments on the real engine", `
Experiments that Accumulo's developers once had to script by hand, each one command on the real engine: real files, real
syncs, real actors. Variants run side by side in one run, on the same data.

A run checks exact things only, such as counts and hashes, and exits with 4 when one does not hold. Times are reported
with their spread and never fail a run, unless --expect holds them against bars.`[1:],
		newSimIngest(e), newSimHeap(e), newSimPool(e), newSimWriter(e))
}

// resultFlags are the flags of every experiment.
type resultFlags struct {
	format format
	seed   uint64
	json   string
	quick  bool
	force  bool
}

func (f *resultFlags) register(c *cobra.Command) {
	f.format.register(c, formatText, formatJSON, formatCSV, formatMarkdown)
	flags := c.Flags()
	flags.Uint64Var(&f.seed, "seed", 1, "decides every random choice of the data")
	flags.StringVar(&f.json, "json", "", "also write the result document to `FILE`")
	flags.BoolVar(&f.force, "force", false, "replace files that are there")
	flags.BoolVar(&f.quick, "quick", false, "a first look, in seconds")
}

// simFlags are the flags of an experiment on a store.
type simFlags struct {
	resultFlags
	data   string
	set    []string
	memory size
}

func (f *simFlags) register(c *cobra.Command) {
	f.resultFlags.register(c)
	flags := c.Flags()
	flags.StringVar(&f.data, "data", "", "keep the files in `DIR`, which is empty, missing or that of an earlier run; default: a temporary directory, removed")
	flags.StringArrayVar(&f.set, "set", nil, "`PROPERTY=VALUE` by Accumulo's name; may be given several times")
	f.memory = 1 << 30
	flags.Var(&f.memory, "memory-limit", "what percentages in properties are of")
}

// properties takes --set apart.
func (f *simFlags) properties() (map[string]string, error) {
	all := map[string]string{}
	for _, s := range f.set {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return nil, usagef("--set %s is not PROPERTY=VALUE", printable(s))
		}
		all[name] = value
	}
	return all, nil
}

// workspace is where an experiment keeps its files.
type workspace struct {
	path  string
	fs    vfs.FS
	keep  bool
	close func() error
}

// workspace opens --data, or makes a temporary directory that goes away with it.
func (f *simFlags) workspace() (*workspace, error) {
	if f.data == "" {
		path, dir, cleanup, err := vfs.TempDir("millrace-sim")
		if err != nil {
			return nil, err
		}
		return &workspace{path: path, fs: dir, close: cleanup}, nil
	}
	dir, err := vfs.MakeDir(f.data)
	if err != nil {
		return nil, printablePath(err)
	}
	names, err := dir.List(".")
	if err == nil && len(names) > 0 && !slices.ContainsFunc(names, isStoreName) && !slices.Contains(names, storage.LockName) {
		err = usagef("--data %s is neither empty nor a store (it holds %s)", printable(f.data), printable(names[0]))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, vfs.Close(dir))
	}
	return &workspace{path: f.data, fs: dir, keep: true, close: func() error { return vfs.Close(dir) }}, nil
}

// phases draws the progress of an experiment, a line for each phase in turn.
type phases struct {
	e    *env
	name string
	line *progress
}

func (p *phases) show(phase experiment.Phase) {
	if p.line == nil || p.name != phase.Name {
		p.end()
		p.name, p.line = phase.Name, p.e.progress(phase.Name, phase.Unit, phase.Total)
	}
	p.line.set(phase.Done)
}

func (p *phases) end() {
	if p.line != nil {
		p.line.end()
		p.line = nil
	}
}

// checkLines print the checks of a run.
func checkLines(checks []experiment.Check) string {
	var b strings.Builder
	for _, c := range checks {
		if c.OK {
			fmt.Fprintf(&b, "  ok      %s: %s\n", c.Name, c.Value)
		} else {
			fmt.Fprintf(&b, "  FAILED  %s: %s, want %s\n", c.Name, c.Value, c.Want)
		}
	}
	return b.String()
}

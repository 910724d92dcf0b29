package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"millrace/internal/vfs"
	"millrace/sim/script"
	"millrace/tablet"
)

const scriptSchema = "millrace.script/1"

func newScript(e *env) *cobra.Command {
	m := manual{
		use:   "script [flags] FILE...",
		short: "run scripts of operations with expected results",
		long: `
Runs kv-ops/1 scripts, each on a fresh store in memory: a table, operations, and what each read must give. A directory
stands for the *.json files in it.

A script passes when every run of it does: as it stands; with --small, once more with the smallest blocks and messages;
with --permute N, N times more with flushes and partial compactions put in at random, unless it changes settings, makes
file calls fail or keeps scans open. A panic, an operation that takes too long, and a goroutine, a file or a lock that is
left behind are failures too, and so is an operation or a field that is not known.

Prints a line for each failure, with the number of the operation, counted from 0, what was found and what was expected,
and a line for each script that was skipped, with the ability it needs. Values are cut and quoted.`,
		memory:  `the scripts, and what one of them stores.`,
		exits:   []int{4},
		meaning: map[int]string{2: "wrong usage, or a script is not JSON", 4: "a script failed"},
		examples: `
$ millrace script cases
30 passed, 0 failed, 0 skipped

$ millrace script --small --permute 5 --format json cases/p01-ties-newest-written-wins.json
{
  "schema": "millrace.script/1",
  "passed": 1,
  "failed": 0,
  "skipped": 0,
  "runs": 7,
  "scripts": [
    {
      "script": "p01-ties-newest-written-wins",
      "file": "cases/p01-ties-newest-written-wins.json",
      "outcome": "passed",
      "runs": 7
    }
  ]
}`[1:],
	}
	var o scriptOptions
	c := newCommand(m, args(1, -1, "at least one script"), func(cmd *cobra.Command, args []string) error {
		return e.runScripts(cmd.Context(), args, o)
	})
	o.format.register(c, formatText, formatJSON)
	flags := c.Flags()
	flags.IntVar(&o.permute, "permute", 0, "how many more `RUNS` with flushes and partial compactions put in at random")
	flags.BoolVar(&o.small, "small", false, "one more run with the smallest blocks and messages")
	flags.Uint64Var(&o.seed, "seed", 1, "decides what is put in; each further run takes the next one")
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
	}
	return c
}

type scriptOptions struct {
	format  format
	permute int
	small   bool
	seed    uint64
}

// modes are the runs of a script.
func (o *scriptOptions) modes(s *script.Script) []script.Mode {
	list := []script.Mode{{}}
	if o.small {
		list = append(list, script.Mode{Small: true})
	}
	for i := range o.permute {
		if m := (script.Mode{Permuted: true, Seed: o.seed + uint64(i)}); m.Runs(s) {
			list = append(list, m)
		}
	}
	return list
}

// loadedScript is a script that was read; script is nil when wrong says why it cannot be run.
type loadedScript struct {
	path   string
	script *script.Script
	wrong  *script.Result
}

// scriptsDocument is what "script --format json" prints.
type scriptsDocument struct {
	Schema  string           `json:"schema"`
	Passed  int              `json:"passed"`
	Failed  int              `json:"failed"`
	Skipped int              `json:"skipped"`
	Runs    int              `json:"runs"`
	Scripts []scriptDocument `json:"scripts"`
}

type scriptDocument struct {
	Script   string            `json:"script"`
	File     string            `json:"file"`
	Outcome  string            `json:"outcome"`
	Runs     int               `json:"runs"`
	Lacks    string            `json:"lacks,omitempty"`
	Failures []failureDocument `json:"failures,omitempty"`
}

type failureDocument struct {
	Mode      string `json:"mode"`
	Operation string `json:"operation,omitempty"`
	Found     string `json:"found"`
	Expected  string `json:"expected"`
}

func (e *env) runScripts(ctx context.Context, paths []string, o scriptOptions) error {
	if o.permute < 0 {
		return usagef("--permute is %d, not at least 0", o.permute)
	}
	scripts, err := e.loadScripts(paths)
	if err != nil {
		return err
	}
	total := 0
	for _, s := range scripts {
		if s.script != nil {
			total += len(o.modes(s.script))
		}
	}
	p := e.progress("script", "runs", int64(total))
	defer p.end()
	doc := &scriptsDocument{Schema: scriptSchema, Scripts: []scriptDocument{}}
	for _, s := range scripts {
		if err := e.runScript(ctx, s, o, p, doc); err != nil {
			return err
		}
	}
	p.end()
	return e.endScripts(doc, o)
}

// runScript runs a script in all modes.
func (e *env) runScript(ctx context.Context, s loadedScript, o scriptOptions, p *progress, doc *scriptsDocument) error {
	d := scriptDocument{File: printable(s.path)}
	one := func(r script.Result) error {
		d.Script = r.Script
		if r.Outcome == script.Passed {
			return nil
		}
		d.Lacks = r.Lacks
		if r.Outcome == script.Failed {
			d.Failures = append(d.Failures, failureDocument{r.Mode.String(), r.Op, r.Found, r.Expected})
		}
		if !o.format.is(formatText) {
			return nil
		}
		_, err := fmt.Fprintln(e.out, printable(r.String()))
		return err
	}
	if s.wrong != nil {
		if err := one(*s.wrong); err != nil {
			return err
		}
	} else {
		for _, m := range o.modes(s.script) {
			r, err := script.Run(ctx, s.script, m)
			if err == nil {
				err = one(r)
			}
			if err != nil {
				return err
			}
			d.Runs++
			p.add(1)
			if r.Outcome == script.Skipped {
				break
			}
		}
	}
	doc.add(d)
	return nil
}

func (d *scriptsDocument) add(s scriptDocument) {
	outcome := script.Passed
	switch {
	case len(s.Failures) > 0:
		outcome = script.Failed
		d.Failed++
	case s.Lacks != "":
		outcome = script.Skipped
		d.Skipped++
	default:
		d.Passed++
	}
	s.Outcome = outcome.String()
	d.Runs += s.Runs
	d.Scripts = append(d.Scripts, s)
}

func (e *env) endScripts(doc *scriptsDocument, o scriptOptions) error {
	var err error
	if o.format.is(formatJSON) {
		err = e.writeJSON(doc)
	} else {
		_, err = fmt.Fprintf(e.out, "%d passed, %d failed, %d skipped\n", doc.Passed, doc.Failed, doc.Skipped)
	}
	if err == nil && doc.Failed > 0 {
		err = fmt.Errorf("%d of %d scripts failed: %w", doc.Failed, len(doc.Scripts), tablet.ErrExpectation)
	}
	return err
}

// longestScript bounds what is read of a script.
const longestScript = 256 << 20

// loadScripts reads all scripts before any is run, so that what is not JSON stops everything.
func (e *env) loadScripts(paths []string) (scripts []loadedScript, err error) {
	for _, path := range paths {
		files, err := e.scriptFiles(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			s, err := e.loadScript(file)
			if err != nil {
				return nil, err
			}
			scripts = append(scripts, s)
		}
	}
	return scripts, nil
}

// scriptFiles are the files that an argument names.
func (e *env) scriptFiles(path string) (files []string, err error) {
	info, err := e.files.stat(path)
	if err != nil {
		return nil, printablePath(err)
	}
	if !info.Dir {
		return []string{path}, nil
	}
	dir, _, err := e.files.split(filepath.Join(path, "file"))
	if err != nil {
		return nil, printablePath(err)
	}
	names, err := dir.List(".")
	if err = errors.Join(err, vfs.Close(dir)); err != nil {
		return nil, printablePath(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".") {
			files = append(files, filepath.Join(path, name))
		}
	}
	if len(files) == 0 {
		return nil, usagef("directory %s holds no *.json files", printable(path))
	}
	return files, nil
}

func (e *env) loadScript(path string) (loaded loadedScript, err error) {
	f, err := e.files.open(path)
	if err != nil {
		return loaded, printablePath(err)
	}
	text, err := vfs.ReadAll(f, longestScript)
	if err = errors.Join(err, f.Close()); err != nil {
		return loaded, printablePath(err)
	}
	loaded.path = path
	loaded.script, err = script.Parse(path, text)
	var wrong *script.OperationError
	if errors.As(err, &wrong) {
		r := script.Invalid(strings.TrimSuffix(filepath.Base(path), ".json"), err)
		loaded.wrong, err = &r, nil
	}
	return loaded, err
}

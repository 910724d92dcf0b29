package main

import (
	"context"
	"errors"

	"millrace/sim/experiment"
)

// study is what commands of experiments differ in; do is what they have in common. D is the result document.
type study[D any] struct {
	flags      *resultFlags
	csv, plots string    // where --csv and --plots go
	plotNames  []string  // of the files in --plots
	store      *simFlags // nil if the experiment has no files of its own
	run        func(ctx context.Context, w *workspace, show func(experiment.Phase)) (D, error)
	tables     func(doc D) (*grid, []experiment.Plot) // for --csv and --plots; nil if there are none
	print      func(doc D, w *workspace) error
	verdict    func(doc D) error
}

// do runs the experiment, saves and prints what it found, and returns what failed. Files of results are begun first, as
// nobody wants to hear after an hour that one cannot be written; the workspace is gone before anything is printed.
func (s *study[D]) do(ctx context.Context, e *env) (err error) {
	out, err := e.results(s.flags, s.csv, s.plots, s.plotNames)
	if err != nil {
		return err
	}
	defer func() { err = out.end(err) }()
	var w *workspace
	if s.store != nil {
		if w, err = s.store.workspace(); err != nil {
			return err
		}
	}
	line := phases{e: e}
	doc, err := s.run(ctx, w, line.show)
	line.end()
	if w != nil {
		err = errors.Join(err, w.close())
	}
	if err != nil {
		return err
	}
	var rows *grid
	var charts []experiment.Plot
	if s.tables != nil {
		rows, charts = s.tables(doc)
	}
	if err := out.save(doc, rows, charts); err != nil {
		return err
	}
	if err := s.print(doc, w); err != nil {
		return err
	}
	return s.verdict(doc)
}

// failed is the error of the first check, or if times count bar, that does not hold.
func failed(checks, bars []experiment.Check, expect bool) error {
	if err := experiment.Failed(checks); err != nil || !expect {
		return err
	}
	return experiment.Failed(bars)
}

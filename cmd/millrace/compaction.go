package main

import (
	"context"
	"errors"
	"math"
	"slices"

	"millrace/compactor/job"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/rfile"
	"millrace/tablet/rfile/bcfile"
)

// compaction is one job on files that arguments name: what compact and convert share.
type compaction struct {
	label   string // of its progress
	path    string // of the output
	inputs  []string
	force   bool
	like    string          // file whose groups are taken, if there is one beside the inputs
	readers []*rfile.Reader // oldest first, as the inputs
}

// outcome is what a compaction did.
type outcome struct {
	meta       tablet.FileMeta
	books      iter.Books
	stats      iter.Stats
	readBytes  int64
	notCarried []string // what the inputs have beside entries, and the output has not
}

// openInputs opens the inputs. close must be called in any case.
func (c *compaction) openInputs(e *env) error {
	for _, path := range c.inputs {
		r, err := e.openRFile(path)
		if err != nil {
			return err
		}
		c.readers = append(c.readers, r)
	}
	return nil
}

func (c *compaction) close() error {
	var errs []error
	for _, r := range c.readers {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// newest is the last of the inputs, whose codec and groups an output takes when no flag says otherwise.
func (c *compaction) newest() *rfile.Reader { return c.readers[len(c.readers)-1] }

// adopt completes writer flags from the newest input.
func (c *compaction) adopt(w *writerFlags) {
	if w.codec != "" {
		return
	}
	w.codec = c.newest().Container().Codec()
	if !slices.Contains(bcfile.Codecs(), w.codec) {
		w.codec = bcfile.Gz
	}
}

// run does the job that spec describes but for inputs and output, and publishes the output or leaves nothing behind.
func (c *compaction) run(ctx context.Context, e *env, spec job.Spec) (result outcome, err error) {
	out, err := e.create(c.path, c.force, append([]string{c.like}, c.inputs...)...)
	if err != nil {
		return result, err
	}
	defer func() { err = out.end(err) }()
	for _, r := range slices.Backward(c.readers) {
		spec.Inputs = append(spec.Inputs, job.File(r))
	}
	spec.Create = func() (vfs.File, error) { return out.handOver(), nil }
	spec.Remove = func() error { return nil } // the output's end does that
	j, err := job.New(spec, iter.NewPool())
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, j.Discard()) }()
	p := e.progress(c.label, "entries", entriesOf(c.readers))
	defer p.end()
	for done := false; !done; {
		const step = 16 << 10
		if done, err = j.Step(ctx, step); err != nil {
			return result, err
		}
		p.set(j.Progress().Read)
	}
	result.meta, result.books = j.Result()
	result.stats = j.Stats()
	for _, r := range c.readers {
		result.readBytes += r.Container().Size()
	}
	result.notCarried = notCarried(c.readers)
	return result, out.publishSynced()
}

// entriesOf is the number of entries in files, 0 when they do not tell without being read.
func entriesOf(readers []*rfile.Reader) int64 {
	total := int64(0)
	for _, r := range readers {
		for _, g := range r.Groups() {
			if !g.Tracked {
				return 0
			}
			for _, f := range g.Families {
				total += min(f.Count, math.MaxInt64-total)
			}
		}
	}
	return total
}

// notCarried names what files have beside entries and index: only who made that knows how to make it anew.
func notCarried(readers []*rfile.Reader) []string {
	names := []string{}
	for _, r := range readers {
		if r.Samples() != nil {
			names = append(names, "sample groups")
		}
		for _, m := range r.Container().Metas() {
			switch m.Name {
			case "BCFile.index", "RFile.index", bcfile.SumsName:
			default:
				names = append(names, m.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// groupSpecs are a layout's named groups, as a job wants them.
func groupSpecs(g grouping) []job.GroupSpec {
	var specs []job.GroupSpec
	for _, n := range g.named {
		specs = append(specs, job.GroupSpec{Name: n.name, Families: n.families})
	}
	return specs
}

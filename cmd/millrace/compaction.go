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
	"millrace/tablet/rfile/parallel"
)

// compaction is one job on files that arguments name: what compact and convert share.
type compaction struct {
	label   string // of its progress
	path    string // of the output
	inputs  []string
	force   bool
	like    string          // file whose groups are taken, if there is one beside the inputs
	verify  bool            // read outputs back before they get their names
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
func (c *compaction) adopt(w *writerFlags) error {
	if w.codec == "" {
		w.codec = c.newest().Container().Codec()
		if !slices.Contains(bcfile.Codecs(), w.codec) {
			w.codec = bcfile.Gz
		}
		if err := w.checkLevel(); err != nil {
			return err
		}
	}
	return w.adoptExtras(c.newest())
}

// run does the job that spec describes but for inputs and output, and publishes the output or leaves nothing behind.
func (c *compaction) run(ctx context.Context, e *env, spec job.Spec) (result outcome, err error) {
	out, err := e.create(c.path, c.force, append([]string{c.like}, c.inputs...)...)
	if err != nil {
		return result, err
	}
	defer func() { err = out.end(err) }()
	p := e.progress(c.label, "entries", entriesOf(c.readers))
	defer p.end()
	if result, err = c.write(ctx, spec, out, p); err != nil {
		return result, err
	}
	result.readBytes, result.notCarried = bytesOf(c.readers), notCarried(c.readers, spec.Writer)
	return result, out.publishSynced()
}

// write makes a complete and durable file, which has yet to get its name.
func (c *compaction) write(ctx context.Context, spec job.Spec, out *output, p *progress) (result outcome, err error) {
	for _, r := range slices.Backward(c.readers) {
		spec.Inputs = append(spec.Inputs, job.FileAhead(r, parallel.Ahead))
	}
	var behind parallel.Compressor
	defer behind.Close()
	spec.Writer.Behind = &behind
	spec.Create = func() (vfs.File, error) { return out.handOver(), nil }
	spec.Remove = func() error { return nil } // the output's end does that
	j, err := job.New(spec, iter.NewPool())
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, j.Discard()) }()
	before := p.done.Load()
	for done := false; !done; {
		const step = 16 << 10
		if done, err = j.Step(ctx, step); err != nil {
			return result, err
		}
		p.set(before + j.Progress().Read)
	}
	result.meta, result.books = j.Result()
	result.stats = j.Stats()
	if c.verify {
		return result, readBack(ctx, out, result.meta, p)
	}
	return result, nil
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

// notCarried names what files have beside entries and index, and an output written with these options has not.
func notCarried(readers []*rfile.Reader, o rfile.WriterOptions) []string {
	names := []string{}
	for _, r := range readers {
		if r.Samples() != nil && o.Sampler == nil {
			names = append(names, "sample groups")
		}
		for _, m := range r.Container().Metas() {
			switch {
			case m.Name == "BCFile.index", m.Name == "RFile.index", m.Name == bcfile.SumsName, m.Name == bloomBlock && o.Bloom != nil:
			default:
				names = append(names, m.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// bloomBlock is the named block of a Bloom filter.
const bloomBlock = "acu_bloom"

// groupSpecs are a layout's named groups, as a job wants them.
func groupSpecs(g grouping) []job.GroupSpec {
	var specs []job.GroupSpec
	for _, n := range g.named {
		specs = append(specs, job.GroupSpec{Name: n.name, Families: n.families})
	}
	return specs
}

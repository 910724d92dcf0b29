package job

import (
	"context"
	"errors"
	"fmt"

	"millrace/internal/invariant"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/rfile"
)

// Job is one compaction. It belongs to one goroutine, or actor, that also owns the pool.
type Job struct {
	spec Spec
	pool *iter.Pool

	file   vfs.File // nil before the first step, and after the last
	made   bool     // Create succeeded
	writer *rfile.Writer
	group  int // being written; len(spec.Groups) is the default group
	copier *copier

	books iter.Books // of finished groups
	stats iter.Stats
	meta  tablet.FileMeta
	done  bool
	err   error // of a step, for good
}

// New prepares a job. It touches neither inputs nor output; what is wrong with the spec is an error that wraps
// tablet.ErrUsage. The pool may be nil.
func New(spec Spec, pool *iter.Pool) (*Job, error) {
	spec = spec.clone()
	if err := spec.validate(); err != nil {
		return nil, fmt.Errorf("compaction: %w", err)
	}
	if err := spec.fuse(); err != nil {
		return nil, fmt.Errorf("compaction: %w", err)
	}
	j := &Job{spec: spec, pool: pool}
	// Iterators refuse wrong options when they are built. Better now than after the first groups.
	if _, err := j.iterators(iter.NewEntries(nil)); err != nil {
		return nil, fmt.Errorf("compaction: %w", err)
	}
	return j, nil
}

// Step works on at most so many entries, read or written, a batch more or less, and says whether the job is done: then
// the output is complete, synced and closed, though its name may not be durable yet. The last step writes the index.
// After an error the job is over, and Discard is all that is left to do.
func (j *Job) Step(ctx context.Context, entries int) (done bool, err error) {
	if j.err != nil || j.done {
		return j.done, j.err
	}
	if err := j.step(ctx, max(entries, 1)); err != nil {
		j.err = fmt.Errorf("compaction: %w", err)
		return false, j.err
	}
	return j.done, nil
}

func (j *Job) step(ctx context.Context, entries int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !j.made {
		if err := j.create(); err != nil {
			return err
		}
	}
	for entries > 0 {
		if j.group > len(j.spec.Groups) {
			return j.finish()
		}
		if j.copier == nil {
			if err := j.startGroup(ctx); err != nil {
				return err
			}
		}
		used, more, err := j.copier.copy(ctx, j.writer, entries)
		entries -= used
		if err != nil {
			return err
		}
		if !more {
			if err := j.endGroup(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (j *Job) create() error {
	f, err := j.spec.Create()
	if err != nil {
		return err
	}
	j.file, j.made = f, true
	j.writer, err = rfile.NewWriter(f, j.spec.Writer)
	return err
}

func (j *Job) startGroup(ctx context.Context) error {
	if j.group < len(j.spec.Groups) {
		g := j.spec.Groups[j.group]
		if err := j.writer.StartGroup(g.Name, g.Families); err != nil {
			return err
		}
	} else if err := j.writer.StartDefaultGroup(); err != nil {
		return err
	}
	families := j.spec.families(j.group)
	c, err := j.open(families)
	if err != nil {
		return err
	}
	j.copier = c // closed with the job from here on
	return c.seek(ctx, j.spec.Range, families)
}

// open builds the stack over new sources of all inputs.
func (j *Job) open(f tablet.Families) (*copier, error) {
	var sources []iter.Source
	size := batchEntries(len(j.spec.Inputs))
	for _, in := range j.spec.Inputs {
		sources = append(sources, sourcesOf(in, f, size)...)
	}
	var cursors []*rfile.Cursor
	if !j.spec.Recode {
		cursors = cursorsOf(sources)
	}
	books := newAudit(&j.spec)
	books.watch(sources)
	m := j.pool.Get(j.spec.Mode, sources)
	if j.spec.KeepAll {
		return &copier{merge: m, audit: books, cursors: cursors}, nil
	}
	c := &copier{merge: m, audit: books, cursors: cursors, limits: j.spec.Range, stack: iter.NewStack(m, iter.StackOptions{
		PropagateDeletes: !j.spec.Full, MaxVersions: j.spec.MaxVersions,
	})}
	if len(j.spec.Iterators) > 0 {
		top, err := j.iterators(iter.NewEntries(c.stack))
		if err != nil {
			return nil, errors.Join(err, m.Close())
		}
		c.top = top
	}
	return c, nil
}

func (j *Job) iterators(base iter.Iterator) (iter.Iterator, error) {
	env := iter.Env{Scope: iter.Major, FullMajor: j.spec.Full, User: j.spec.User, Table: j.spec.Table, Now: j.spec.Now}
	if j.spec.Minor {
		env.Scope = iter.Minor
	}
	return iter.Build(base, j.spec.Iterators, env)
}

func (j *Job) endGroup() error {
	j.account()
	j.copier.closeBooks()
	err := j.copier.close()
	j.copier = nil
	j.group++
	return err
}

// account adds the open group's counts to the job's.
func (j *Job) account() {
	j.books.Add(j.copier.books())
	s := j.copier.merge.Stats()
	j.stats.Entries += s.Entries
	j.stats.Comparisons += s.Comparisons
	j.stats.HeapOps += s.HeapOps
	j.stats.Switches += s.Switches
}

// finish completes the file.
func (j *Job) finish() error {
	meta, err := j.writer.Finish()
	if err != nil {
		return err
	}
	if err := j.file.Sync(); err != nil {
		return err
	}
	f := j.file
	j.file = nil
	if err := f.Close(); err != nil {
		return err
	}
	if err := j.books.Balance(); err != nil || j.books.Written != meta.Entries {
		invariant.Fail("compaction wrote %d entries: %v: %+v", meta.Entries, err, j.books)
	}
	j.meta, j.done = meta, true
	return nil
}

// Result is what is known of the output, and what became of every entry. It is meaningful once the job is done. An output
// without entries is a complete file all the same; its owner may drop it. Number, name and ages are the owner's to fill
// in.
func (j *Job) Result() (tablet.FileMeta, iter.Books) { return j.meta, j.books }

// Passed is the number of blocks that the output took over as they were stored.
func (j *Job) Passed() int64 {
	if j.writer == nil {
		return 0
	}
	return j.writer.Passed()
}

// Stats are the counts of the merges, once the job is done.
func (j *Job) Stats() iter.Stats { return j.stats }

// Progress is how far a job has come.
type Progress struct {
	Read    int64 // entries
	Written int64
	Bytes   int64 // of the output
}

// Progress may be asked between any two steps.
func (j *Job) Progress() Progress {
	p := Progress{Read: j.books.Read, Bytes: j.meta.Bytes}
	if j.copier != nil {
		p.Read += j.copier.books().Read
	}
	if j.writer != nil {
		p.Written = j.writer.Entries()
	}
	if j.writer != nil && !j.done {
		p.Bytes = j.writer.Bytes()
	}
	return p
}

// Discard ends the job: it lets go of the inputs, and unless the output is complete closes and removes it. It may be
// called at any time and more than once; after the job is done it does nothing.
func (j *Job) Discard() error {
	if j.err == nil && !j.done {
		j.err = fmt.Errorf("compaction discarded: %w", tablet.ErrClosed)
	}
	var errs []error
	if j.copier != nil {
		errs = append(errs, j.copier.close())
		j.copier = nil
	}
	if j.file != nil {
		errs = append(errs, j.file.Close())
		j.file = nil
	}
	if j.made && !j.done {
		errs = append(errs, j.spec.Remove())
		j.made = false
	}
	return errors.Join(errs...)
}

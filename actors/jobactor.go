package actors

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"path"
	"runtime"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/compactor/job"
	"millrace/internal/clock"
	"millrace/internal/invariant"
	"millrace/internal/vfs"
	"millrace/reader/scan"
	"millrace/tablet"
	"millrace/tablet/memtable"
)

// jobPlan is what a tablet hands to a job. The job takes over the leases.
type jobPlan struct {
	id     protocol.JobID
	kind   protocol.JobKind
	memory *memtable.Snapshot // of a minor compaction; newer than any file
	files  []*lease           // the newest first
	spec   job.Spec           // without inputs and output
	fs     vfs.FS
	name   string // of the output, in its final place
	// leave, if not nil, gives an output that could not be removed to those who try until it is.
	leave func()
	// progress, if not nil, is told how many entries each step has read.
	progress func(entries int64)
}

// remove takes the output away. What stays after an error is garbage, which no manifest names.
func (p *jobPlan) remove() error {
	err := p.fs.Remove(p.name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && p.leave != nil {
		p.leave()
	}
	return err
}

// release lets go of the inputs.
func (p *jobPlan) release() {
	for _, l := range p.files {
		l.Release()
	}
}

// jobActor runs one compaction, minor or major, in steps of 1 to 2 ms between which it hears of a cancellation. It writes
// one file, under its final and never reused number, and has synced file and directory when it sends JobDone, which is
// the tablet's to commit. Until then the file is the job's to remove, whatever ends it. The tablet stops the job when it
// has JobDone; a job that stopped itself would be heard to end before its last words, which travel in the slower lane.
//
// Its mailbox holds a continue and a cancel.
type jobActor struct {
	rt   *Runtime
	plan *jobPlan
	kit  *scan.Kit // from the first step until the job is discarded
	job  *job.Job

	began  time.Time
	cpu    time.Duration
	read   int64 // entries, as far as progress was told
	over   bool  // JobDone was sent
	remove bool  // the output is complete but nobody's yet
}

const jobBound = 2

// errCancelled ends a job that its tablet has cancelled.
var errCancelled = fmt.Errorf("job cancelled: %w", context.Canceled)

func newJobActor(rt *Runtime, p *jobPlan) *jobActor {
	return &jobActor{rt: rt, plan: p}
}

// Receive routes the job's messages.
func (a *jobActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *protocol.Continue:
		a.onContinue(c)
	case *actor.Started:
		a.began = a.rt.clock.Now()
		c.Send(c.Self(), keepOn)
	case *protocol.Cancel: // between two steps; too late once JobDone was sent
		a.finish(c, &protocol.JobDone{Err: errCancelled})
	case *actor.Stopping:
		a.discard()
	case *actor.Stopped, *actor.Restarting:
	default:
		invariant.Unexpected("job", m)
	}
}

func (a *jobActor) onContinue(c actor.Context) {
	if a.over {
		return
	}
	done, err := a.step()
	switch {
	case err != nil:
		a.finish(c, &protocol.JobDone{Err: err})
	case done:
		a.finish(c, a.complete())
	default:
		c.Send(c.Self(), keepOn)
	}
}

// run does all of a job on the caller's goroutine: for one that no actor is there for yet. An output that was written is
// the caller's.
func (a *jobActor) run(ctx context.Context) *protocol.JobDone {
	a.began = a.rt.clock.Now()
	for {
		done, err := a.step()
		if err == nil {
			err = ctx.Err()
		}
		m := &protocol.JobDone{Err: err}
		if err == nil && done {
			m = a.complete()
			a.remove = m.Err != nil
		}
		if done || m.Err != nil {
			a.discard()
			return m
		}
	}
}

// step does a bounded piece of work, and adds up the processor time that it takes.
func (a *jobActor) step() (done bool, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := clock.ThreadCPU()
	defer func() { a.cpu += clock.ThreadCPU() - before }()
	if a.job == nil {
		if err := a.open(); err != nil {
			return false, err
		}
	}
	done, err = a.job.Step(a.rt.work, stepEntries)
	if err != nil && a.rt.work.Err() != nil && errors.Is(err, context.Canceled) {
		err = fmt.Errorf("%w: %w", errClosed, err) // the store is being closed, and nobody has cancelled the job
	}
	if read := a.job.Progress().Read; a.plan.progress != nil && read > a.read {
		a.plan.progress(read - a.read)
		a.read = read
	}
	return done, err
}

// open opens the inputs.
func (a *jobActor) open() (err error) {
	spec := a.plan.spec
	a.kit = scan.TakeKit()
	if a.plan.memory != nil {
		spec.Inputs = append(spec.Inputs, job.Memory(a.plan.memory))
	}
	for _, l := range a.plan.files {
		r, err := l.Reader()
		if err != nil {
			return err
		}
		spec.Inputs = append(spec.Inputs, job.FilePooled(r, a.kit.Cursors))
	}
	spec.Create = a.create
	spec.Remove = a.plan.remove
	a.job, err = job.New(spec, a.kit.Merges)
	return err
}

// create begins the output. After an error it may be there all the same; it is nobody else's.
func (a *jobActor) create() (vfs.File, error) {
	f, err := a.plan.fs.Create(a.plan.name)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		_ = a.plan.remove()
	}
	return f, err
}

// complete makes a written file durable, or removes it if it holds nothing.
func (a *jobActor) complete() *protocol.JobDone {
	a.remove = true
	m := &protocol.JobDone{Merge: a.job.Stats(), CPU: a.cpu}
	m.Output, m.Books = a.job.Result()
	m.Output.Number, m.Output.Name = uint64(a.plan.id), a.plan.name
	switch {
	case a.plan.kind == protocol.Scratch:
		m.Took = clock.Since(a.rt.clock, a.began) // hashing is not part of it
		m.Hash, m.Err = hashFile(a.plan.fs, &m.Output)
		m.Err = errors.Join(m.Err, a.removeOutput())
		return m
	case m.Output.Entries == 0:
		m.Err = a.removeOutput()
	default:
		m.Err = a.plan.fs.SyncDir(path.Dir(a.plan.name))
	}
	m.Took = clock.Since(a.rt.clock, a.began)
	return m
}

func (a *jobActor) removeOutput() error {
	a.remove = false
	return a.plan.remove()
}

// finish sends JobDone, once, and lets go of everything.
func (a *jobActor) finish(c actor.Context, m *protocol.JobDone) {
	if a.over {
		return
	}
	a.over = true
	m.Job = a.plan.id
	if m.Err != nil {
		m.Output = tablet.FileMeta{}
	} else if a.remove {
		plan := a.plan
		m.Discard = func() { _ = plan.remove() }
		a.remove = false
	}
	a.discard()
	c.Send(c.Parent(), m)
}

// discard lets go of inputs, and of an output that was not handed over.
func (a *jobActor) discard() {
	var errs []error
	if a.job != nil {
		errs = append(errs, a.job.Discard())
	}
	if a.kit != nil {
		a.kit.Release()
		a.kit = nil
	}
	if a.remove {
		errs = append(errs, a.removeOutput())
	}
	a.plan.release()
	if err := errors.Join(errs...); err != nil {
		a.rt.log.Warn("job could not clean up", slog.Uint64("job", uint64(a.plan.id)), slog.Any("err", err))
	}
}

// hashFile reads a file whole, which has to be what was written.
func hashFile(fsys vfs.FS, meta *tablet.FileMeta) (sum [32]byte, err error) {
	f, err := fsys.Open(meta.Name)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h, crc := sha256.New(), crc32.New(crc32.MakeTable(crc32.Castagnoli))
	n, err := io.Copy(io.MultiWriter(h, crc), io.NewSectionReader(f, 0, meta.Bytes))
	switch {
	case err != nil:
		return sum, fmt.Errorf("hash %s: %w", meta.Name, err)
	case n != meta.Bytes:
		return sum, tablet.Corruptf(f.Name(), n, "the file ends here, of %d bytes written", meta.Bytes)
	case crc.Sum32() != meta.CRC:
		return sum, tablet.Corruptf(f.Name(), 0, "CRC32C of the file is %08x, of what was written %08x", crc.Sum32(), meta.CRC)
	}
	return [32]byte(h.Sum(nil)), nil
}

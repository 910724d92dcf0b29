package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"millrace/actors/protocol"
	"millrace/compactor/job"
	"millrace/tablet"
	"millrace/tablet/hosted"
	"millrace/tablet/manifest"
	"millrace/tablet/storage"
	"millrace/tablet/wal"
)

// refill puts what the log holds beyond files into the tablets' memory. Where that gets more than memory may hold, as
// after its limit was lowered, the largest memtables are written to files on the way.
//
// Such a file may end in the middle of a session, so nothing names it before the log is read whole and the rest of its
// tablet is in files too: then one record names all of them, together with the sessions. A crash before that leaves files
// that nobody names, and a log that still has everything.
type refill struct {
	core    *core
	found   *storage.Loaded
	tablets map[uint64]*refillTablet
	writer  *manifest.Writer // once something was flushed
	bytes   int64            // in memory
	peak    int64
	written []tablet.FileMeta
}

// refillTablet is a tablet while it is filled.
type refillTablet struct {
	*tabletHandle
	settings *TableSettings
	bytes    int64           // in memory
	edits    []manifest.Edit // what was flushed of it
}

func newRefill(k *core, found *storage.Loaded, tables []*loadedTable) *refill {
	r := &refill{core: k, found: found, tablets: make(map[uint64]*refillTablet)}
	for _, t := range tables {
		for _, h := range t.handles {
			r.tablets[h.number] = &refillTablet{tabletHandle: h, settings: t.settings}
		}
	}
	return r
}

// run reads the log. After an error nothing of it counts.
func (r *refill) run(ctx context.Context) (*wal.Report, error) {
	report, err := r.found.Replay(ctx, func(e *wal.Entry) error { return r.entry(ctx, e) })
	if err != nil {
		return nil, r.giveUp(err)
	}
	for _, s := range report.Sessions { // those of entries that files have, too
		if t := r.tablets[s.Tablet]; t != nil {
			t.tablet.RaiseSession(s.Session)
		}
	}
	if r.writer != nil {
		if err := r.finish(ctx, &report); err != nil {
			return nil, err
		}
	}
	r.core.rt.log.Info("log replayed", slog.Int64("entries", report.Entries), slog.Int64("peak bytes", r.peak), slog.Int("files", len(r.written)))
	return &report, nil
}

// entry puts one entry into memory, and makes room if need be.
func (r *refill) entry(ctx context.Context, e *wal.Entry) error {
	t := r.tablets[e.Tablet]
	if t == nil {
		return fmt.Errorf("tablet %d is not loaded: %w", e.Tablet, tablet.ErrCorrupt)
	}
	t.replay(&protocol.Logged{Session: e.Session, Timestamp: e.Timestamp, Step: e.Step, Mutations: e.Mutations})
	r.count(t)
	if r.bytes > r.core.server.MemoryBytes { // the largest has at least what this entry took
		return r.flush(ctx, r.largest())
	}
	return nil
}

func (r *refill) count(t *refillTablet) {
	active, frozen := t.tablet.Memory()
	r.bytes += active + frozen - t.bytes
	t.bytes = active + frozen
	r.peak = max(r.peak, r.bytes)
}

func (r *refill) largest() (most *refillTablet) {
	for _, t := range ordered(r.tablets) {
		if most == nil || t.bytes > most.bytes {
			most = t
		}
	}
	return most
}

// flush writes a tablet's memory to a file, as a flush of a running store does. The manifest's new file is begun before
// the first, so that what is written has a number of this run, and what earlier tries have left can go.
func (r *refill) flush(ctx context.Context, t *refillTablet) error {
	if r.writer == nil {
		w, err := manifest.NewWriter(r.core.fs, r.found.State, manifest.Options{NextNumber: r.core.number})
		if err != nil {
			return err
		}
		r.writer = w
		r.core.sweep(r.found, w)
	}
	if _, ok := t.tablet.Freeze(); !ok {
		return nil
	}
	t.tablet.Configure(onlyMemory{r.core.planner(t.settings)}, t.settings.KeyBytesMax)
	f, _ := t.tablet.NextFlush()
	t.tablet.Configure(r.core.planner(t.settings), t.settings.KeyBytesMax)
	done := r.core.flushNow(ctx, t, f)
	if done.Err != nil {
		return fmt.Errorf("flush %v while the log is read: %w", t.extent, done.Err)
	}
	edit := manifest.Install{Tablet: t.number, Session: f.Session, Time: t.tablet.Time()}
	var output *tablet.FileMeta
	if done.Output.Entries > 0 {
		done.Output.Ages = f.Ages
		output, edit.Add = &done.Output, &manifest.FileRef{FileMeta: done.Output}
		r.written = append(r.written, done.Output)
		r.core.files.hold(*output)
	}
	t.edits = append(t.edits, edit)
	if err := t.tablet.Install(f.Age, output); err != nil {
		return err
	}
	r.count(t)
	return nil
}

// onlyMemory is a planner that has flushes take no file along.
type onlyMemory struct{ hosted.Planner }

func (onlyMemory) TakeAlong(hosted.Situation) (uint64, bool) { return 0, false }

// flushNow runs a minor compaction at once.
func (k *core) flushNow(ctx context.Context, t *refillTablet, f hosted.Flush) *protocol.JobDone {
	id := k.number()
	p := &jobPlan{
		id: protocol.JobID(id), kind: protocol.Minor, memory: f.Snapshot, fs: k.fs,
		spec: k.minorSpec(t.extent, t.settings, id), name: manifest.FileName("F", id),
	}
	return newJobActor(k.rt, p).run(ctx)
}

// jobSpec is what all jobs of a tablet have in common; the iterators are those of major ones.
func (k *core) jobSpec(e tablet.Extent, s *TableSettings, id uint64) job.Spec {
	spec := job.Spec{
		Range: e.DataRange(), Table: e.Table, Mode: k.mode, Now: k.rt.clock.Now,
		MaxVersions: s.Iterators.Major.MaxVersions, Iterators: s.Iterators.Major.Iterators,
	}
	spec.Writer.Codec, spec.Writer.BlockBytes, spec.Writer.IndexBlockBytes = s.Codec, s.BlockBytes, s.IndexBlockBytes
	spec.Writer.FileID = k.rt.fileID(id)
	for _, g := range s.Groups {
		spec.Groups = append(spec.Groups, job.GroupSpec{Name: g.Name, Families: g.Families})
	}
	return spec
}

// minorSpec is jobSpec for a flush.
func (k *core) minorSpec(e tablet.Extent, s *TableSettings, id uint64) job.Spec {
	spec := k.jobSpec(e, s, id)
	spec.Minor = true
	spec.MaxVersions, spec.Iterators = s.Iterators.Minor.MaxVersions, s.Iterators.Minor.Iterators
	return spec
}

// finish flushes what is left of the tablets that were flushed, and names all files.
func (r *refill) finish(ctx context.Context, report *wal.Report) error {
	edits := []manifest.Edit{manifest.Advance{NextNumber: r.core.number(), NextLSN: report.NextLSN}}
	for _, t := range ordered(r.tablets) {
		if len(t.edits) == 0 {
			continue
		}
		if err := r.flush(ctx, t); err != nil {
			return r.giveUp(err)
		}
		edits = append(edits, t.edits...)
	}
	done, err := r.writer.Record(edits...)
	if err != nil { // the files may be named or not: the next opening finds out
		return errors.Join(err, r.writer.Close())
	}
	r.core.state.Store(done.State)
	return nil
}

// giveUp removes what was written, and was named nowhere.
func (r *refill) giveUp(err error) error {
	for _, f := range r.written {
		_ = r.core.fs.Remove(f.Name) // what stays is swept by the next opening
	}
	if r.writer != nil {
		err = errors.Join(err, r.writer.Close())
	}
	return err
}

// filed tells a log what its entries need not be kept for any more.
func (r *refill) filed(log *wal.Log) {
	for _, t := range ordered(r.tablets) {
		if n := len(t.edits); n > 0 {
			log.Flushed(t.number, t.edits[n-1].(manifest.Install).Session)
		}
	}
}

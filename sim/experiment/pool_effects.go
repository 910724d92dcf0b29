package experiment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"

	"github.com/HdrHistogram/hdrhistogram-go"

	"millrace/compactor/job"
	"millrace/internal/clock"
	"millrace/internal/vfs"
	"millrace/reader/scan"
	"millrace/sim/workload"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/rfile"
)

const (
	workSeek       = "seek"
	workCompaction = "compaction"
)

func newSeeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 2)) }

// effectFiles are files of a tablet, in memory, that seeks and compactions read.
type effectFiles struct {
	fs   vfs.FS
	keys []tablet.Entry
	open []*rfile.Reader
}

// What the files are: the ticket's count, small blocks for seeks, no codec, so that it is not what is measured.
const (
	effectFileCount   = 10
	effectBlockBytes  = 8 << 10
	effectCompactions = 7
)

func openEffectFiles(o PoolOptions) (f *effectFiles, err error) {
	f = &effectFiles{fs: vfs.Mem(), keys: workload.IngestKeys(newSeeded(o.Seed), o.FileEntries)}
	for i, entries := range workload.DealStretches(f.keys, effectFileCount, 1) {
		if err := f.write(fmt.Sprintf("%d.rf", i), entries); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *effectFiles) write(name string, entries []tablet.Entry) error {
	file, err := f.fs.Create(name)
	if err != nil {
		return err
	}
	w, err := rfile.NewWriter(file, rfile.WriterOptions{Codec: "none", BlockBytes: effectBlockBytes})
	if err != nil {
		return err
	}
	if err := w.StartDefaultGroup(); err != nil {
		return err
	}
	for i := range entries {
		if err := w.Append(&entries[i].Key, entries[i].Value); err != nil {
			return err
		}
	}
	if _, err := w.Finish(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if file, err = f.fs.Open(name); err != nil {
		return err
	}
	r, err := rfile.Open(file, rfile.ReaderOptions{})
	if err != nil {
		return err
	}
	f.open = append(f.open, r)
	return nil
}

func (f *effectFiles) close() {
	for _, r := range f.open {
		r.Close()
	}
}

// effect measures an operation that is done again and again.
type effect struct {
	row            EffectRow
	do             func(ctx context.Context) error
	times          *hdrhistogram.Histogram
	mallocs, bytes uint64
}

func newEffect(work, pooled string, do func(ctx context.Context) error) *effect {
	return &effect{row: EffectRow{Work: work, Pooled: pooled}, do: do, times: newLatencies()}
}

func (e *effect) measure(ctx context.Context, times int) error {
	if err := e.do(ctx); err != nil { // fills what is kept
		return err
	}
	runtime.GC()
	var before, after runtime.MemStats
	var real clock.Real
	runtime.ReadMemStats(&before)
	for range times {
		start := real.Now()
		if err := e.do(ctx); err != nil {
			return err
		}
		latency(e.times, real.Now().Sub(start))
	}
	runtime.ReadMemStats(&after)
	e.row.Times += times
	e.row.GCCycles += int64(after.NumGC - before.NumGC)
	e.mallocs += after.Mallocs - before.Mallocs
	e.bytes += after.TotalAlloc - before.TotalAlloc
	return ctx.Err()
}

func (e *effect) finish() EffectRow {
	n := float64(e.row.Times)
	e.row.Bytes, e.row.Allocs = float64(e.bytes)/n, float64(e.mallocs)/n
	e.row.MeanNS = e.times.Mean()
	e.row.P50NS, e.row.P99NS, e.row.P999NS = e.times.ValueAtQuantile(50), e.times.ValueAtQuantile(99), e.times.ValueAtQuantile(99.9)
	return e.row
}

// add finishes effects of one work, the first of which has nothing pooled.
func (d *PoolDocument) add(effects []*effect) {
	none := 0.0
	for i, e := range effects {
		row := e.finish()
		if i == 0 {
			none = row.Bytes
		} else if none > 0 {
			row.LessBytes = 1 - row.Bytes/none
		}
		d.Effects = append(d.Effects, row)
	}
}

// seeks opens a reader on all files, seeks it to a row, reads the first entry and closes it, as a look-up does.
func (r *poolRun) seeks(ctx context.Context) error {
	files, err := openEffectFiles(r.o)
	if err != nil {
		return err
	}
	defer files.close()
	seek := func(pooled string, pool *iter.Pool, cursors *rfile.Cursors) *effect {
		rng := newSeeded(r.o.Seed)
		sources := make([]iter.Source, len(files.open))
		return newEffect(workSeek, pooled, func(ctx context.Context) error {
			return files.seek(ctx, pool, cursors, sources, files.keys[rng.IntN(len(files.keys))].Key.Row())
		})
	}
	effects := []*effect{seek(pooledNone, nil, nil), seek(pooledMerges, iter.NewPool(), nil), seek(pooledCursors, iter.NewPool(), &rfile.Cursors{})}
	const turns = 10
	for turn := range turns {
		r.progress(Phase{Name: "short seeks", Done: int64(turn), Total: turns, Unit: "turns"})
		for _, e := range effects {
			if err := e.measure(ctx, max(r.o.Seeks/turns, 1)); err != nil {
				return err
			}
		}
	}
	r.doc.add(effects)
	return nil
}

func (f *effectFiles) seek(ctx context.Context, pool *iter.Pool, cursors *rfile.Cursors, sources []iter.Source, row []byte) error {
	for i, file := range f.open {
		sources[i] = cursors.Get(file, file.Groups()[0], rfile.CursorOptions{})
	}
	c, err := scan.OpenCursor(pool, sources, scan.Spec{MaxVersions: 1})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Seek(ctx, tablet.ExactRow(row)); err != nil {
		return err
	}
	if e, ok := c.Top(); !ok || string(e.Key.Row()) != string(row) {
		return fmt.Errorf("row %q is not found: %w", row, tablet.ErrExpectation)
	}
	return nil
}

// compactions compacts all files with a job of its own each time.
func (r *poolRun) compactions(ctx context.Context) error {
	files, err := openEffectFiles(r.o)
	if err != nil {
		return err
	}
	defer files.close()
	compact := func(pooled string, pool *iter.Pool, cursors *rfile.Cursors) *effect {
		return newEffect(workCompaction, pooled, func(ctx context.Context) error { return files.compact(ctx, pool, cursors) })
	}
	effects := []*effect{
		compact(pooledNone, nil, nil), compact(pooledMerges, iter.NewPool(), nil), compact(pooledCursors, iter.NewPool(), &rfile.Cursors{}),
	}
	for turn := range effectCompactions {
		r.progress(Phase{Name: "compactions", Done: int64(turn), Total: effectCompactions, Unit: "turns"})
		for _, e := range effects {
			if err := e.measure(ctx, 1); err != nil {
				return err
			}
		}
	}
	r.doc.add(effects)
	return nil
}

func (f *effectFiles) compact(ctx context.Context, pool *iter.Pool, cursors *rfile.Cursors) error {
	const name, stepEntries = "out.rf", 4096
	spec := job.Spec{
		Full: true, MaxVersions: 1, Writer: rfile.WriterOptions{Codec: "none"},
		Create: func() (vfs.File, error) { return f.fs.Create(name) },
		Remove: func() error { return f.fs.Remove(name) },
	}
	for _, file := range f.open {
		spec.Inputs = append(spec.Inputs, job.FilePooled(file, cursors))
	}
	j, err := job.New(spec, pool)
	if err != nil {
		return err
	}
	defer j.Discard()
	for done := false; !done; {
		if done, err = j.Step(ctx, stepEntries); err != nil {
			return err
		}
	}
	if _, books := j.Result(); books.Written != int64(len(f.keys)+len(f.open)) {
		return fmt.Errorf("compaction wrote %d entries of %d: %w", books.Written, len(f.keys)+len(f.open), tablet.ErrExpectation)
	}
	return f.fs.Remove(name)
}

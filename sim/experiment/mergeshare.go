package experiment

import (
	"context"
	"runtime"
	"time"

	"millrace/internal/clock"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/rfile"
)

// mergeCost is what a merge of some files takes beside reading them, in processor time.
type mergeCost struct {
	entries int64
	drain   time.Duration // reading, decompressing and decoding every file, one after the other
	merge   time.Duration // the same through the merge
}

// perEntry is the merge's own time for one entry: never below 0, since the two drains are measured apart.
func (c mergeCost) perEntry() float64 {
	if c.entries == 0 {
		return 0
	}
	return max(0, float64(c.merge-c.drain)/float64(c.entries))
}

// measureTurns is how often each drain is measured; the least of its times counts.
const measureTurns = 3

// measureMerges drains files one after the other, and through each merge, newest first, in turn, on one thread.
func measureMerges(ctx context.Context, fs vfs.FS, files []tablet.FileMeta, modes []iter.Mode) ([]mergeCost, error) {
	costs := make([]mergeCost, len(modes))
	least := func(d *time.Duration, f func() error) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		start := clock.ThreadCPU()
		err := f()
		if took := clock.ThreadCPU() - start; *d == 0 || took < *d {
			*d = took
		}
		return err
	}
	var drain time.Duration
	for range measureTurns {
		entries := int64(0)
		err := least(&drain, func() (err error) {
			entries, err = drainFiles(ctx, fs, files)
			return err
		})
		if err != nil {
			return nil, err
		}
		for i, mode := range modes {
			costs[i].entries = entries
			if err := least(&costs[i].merge, func() error { return drainMerged(ctx, fs, files, mode) }); err != nil {
				return nil, err
			}
		}
	}
	for i := range costs {
		costs[i].drain = drain
	}
	return costs, nil
}

// drainFiles reads each file to its end.
func drainFiles(ctx context.Context, fs vfs.FS, files []tablet.FileMeta) (entries int64, err error) {
	for _, f := range files {
		sources, closeAll, err := openSources(fs, []tablet.FileMeta{f})
		if err != nil {
			return entries, err
		}
		for _, s := range sources {
			n, err := drainSource(ctx, s)
			if err != nil {
				closeAll()
				return entries, err
			}
			entries += n
		}
		closeAll()
	}
	return entries, nil
}

// drainMerged reads a merge of all files to its end.
func drainMerged(ctx context.Context, fs vfs.FS, files []tablet.FileMeta, mode iter.Mode) error {
	sources, closeAll, err := openSources(fs, files)
	if err != nil {
		return err
	}
	defer closeAll()
	m := iter.NewPool().Get(mode, sources)
	defer m.Close()
	return drainMerge(ctx, m)
}

// openSources opens a cursor on each group of each file. closeAll closes the files; the cursors are the caller's.
func openSources(fs vfs.FS, files []tablet.FileMeta) (sources []iter.Source, closeAll func(), err error) {
	var open []*rfile.Reader
	closeAll = func() {
		for _, r := range open {
			r.Close()
		}
	}
	for _, meta := range files {
		f, err := fs.Open(meta.Name)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		r, err := rfile.Open(f, rfile.ReaderOptions{})
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		open = append(open, r)
		for _, g := range r.Groups() {
			sources = append(sources, r.Cursor(g, rfile.CursorOptions{}))
		}
	}
	return sources, closeAll, nil
}

func drainSource(ctx context.Context, s iter.Source) (entries int64, err error) {
	defer s.Close()
	if err := s.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		return 0, err
	}
	for {
		b, err := s.Next(ctx)
		if b == nil || err != nil {
			return entries, err
		}
		entries += int64(b.Len())
	}
}

func drainMerge(ctx context.Context, m *iter.Merge) error {
	if err := m.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		return err
	}
	runs := make([]iter.Run, 256)
	for {
		n, err := m.Fill(ctx, runs)
		if n == 0 || err != nil {
			return err
		}
	}
}

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

// measureMerge drains files once each on its own and once through a merge, newest first, on one thread.
func measureMerge(ctx context.Context, fs vfs.FS, files []tablet.FileMeta, mode iter.Mode) (c mergeCost, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := clock.ThreadCPU()
	for _, f := range files {
		sources, closeAll, err := openSources(fs, []tablet.FileMeta{f})
		if err != nil {
			return c, err
		}
		for _, s := range sources {
			n, err := drainSource(ctx, s)
			if err != nil {
				closeAll()
				return c, err
			}
			c.entries += n
		}
		closeAll()
	}
	c.drain = clock.ThreadCPU() - start

	start = clock.ThreadCPU()
	sources, closeAll, err := openSources(fs, files)
	if err != nil {
		return c, err
	}
	defer closeAll()
	m := iter.NewPool().Get(mode, sources)
	defer m.Close()
	if err := drainMerge(ctx, m); err != nil {
		return c, err
	}
	c.merge = clock.ThreadCPU() - start
	return c, nil
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

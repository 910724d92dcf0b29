package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/rfile"
)

// sortRuns are the temporary files of a sort: RFiles with the groups of the output, each sorted. They lie in levels: a
// level that is full is merged into one file of the next, so that few are ever open at once. Files of a higher level are
// older, and within a level they lie from old to new, so that equal keys keep their order through all merges.
type sortRuns struct {
	parent vfs.FS
	name   string // of the directory
	layout grouping
	fanIn  int
	levels [][]string
	number int
	made   bool
}

// Each file of a merge costs a read-ahead, a block, its stored form and a batch of keys.
const bytesOfRun = 1 << 20

func newSortRuns(parent vfs.FS, name string, layout grouping, budget int) *sortRuns {
	return &sortRuns{parent: parent, name: name, layout: layout, fanIn: min(max(budget/bytesOfRun, 2), 128)}
}

func (s *sortRuns) empty() bool { return s.number == 0 }

// write makes a file of what fill appends, the newest of the lowest level.
func (s *sortRuns) write(ctx context.Context, fill func(context.Context, *rfile.Writer) error) error {
	if !s.made {
		if err := s.parent.MkdirAll(s.name); err != nil {
			return err
		}
		s.made = true
	}
	name, err := s.newFile(ctx, fill)
	if err != nil {
		return err
	}
	return s.put(ctx, 0, name)
}

// put adds a file to a level, and merges the level if that fills it.
func (s *sortRuns) put(ctx context.Context, level int, name string) error {
	if level == len(s.levels) {
		s.levels = append(s.levels, nil)
	}
	s.levels[level] = append(s.levels[level], name)
	if len(s.levels[level]) < s.fanIn {
		return nil
	}
	merged, err := s.mergeFiles(ctx, s.levels[level])
	if err != nil {
		return err
	}
	s.levels[level] = nil
	return s.put(ctx, level+1, merged)
}

// newFile writes a temporary file. It is not synced: after a crash nobody wants it.
func (s *sortRuns) newFile(ctx context.Context, fill func(context.Context, *rfile.Writer) error) (name string, err error) {
	s.number++
	name = fmt.Sprintf("%s/%06d.rf", s.name, s.number)
	f, err := s.parent.Create(name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w, err := rfile.NewWriter(f, rfile.WriterOptions{Codec: "lz4"})
	if err != nil {
		return "", err
	}
	if err := fill(ctx, w); err != nil {
		return "", err
	}
	_, err = w.Finish()
	return name, err
}

// mergeFiles merges files, oldest first, into one and removes them.
func (s *sortRuns) mergeFiles(ctx context.Context, names []string) (string, error) {
	name, err := s.newFile(ctx, func(ctx context.Context, w *rfile.Writer) error { return s.copyAll(ctx, names, w, nil) })
	if err != nil {
		return "", err
	}
	for _, n := range names {
		if err := s.parent.Remove(n); err != nil {
			return "", err
		}
	}
	return name, nil
}

// mergeInto writes all entries of all files to an output.
func (s *sortRuns) mergeInto(ctx context.Context, w *rfile.Writer, p *progress) error {
	var names []string
	for _, level := range slices.Backward(s.levels) {
		names = append(names, level...)
	}
	for len(names) > s.fanIn { // the newest, which are the smallest
		first := len(names) - min(len(names)-s.fanIn+1, s.fanIn)
		merged, err := s.mergeFiles(ctx, names[first:])
		if err != nil {
			return err
		}
		names = append(names[:first:first], merged)
	}
	return s.copyAll(ctx, names, w, p)
}

// copyAll merges files, oldest first, group by group.
func (s *sortRuns) copyAll(ctx context.Context, names []string, w *rfile.Writer, p *progress) (err error) {
	var readers []*rfile.Reader
	defer func() {
		for _, r := range readers {
			err = errors.Join(err, r.Close())
		}
	}()
	for _, name := range names {
		f, err := s.parent.Open(name)
		if err != nil {
			return err
		}
		r, err := rfile.Open(f, rfile.ReaderOptions{})
		if err != nil {
			return err
		}
		readers = append(readers, r)
	}
	for g := range s.layout.groups() {
		if err := s.layout.start(w, g); err != nil {
			return err
		}
		var sources []iter.Source
		for _, r := range readers { // what comes first wins among equal keys
			sources = append(sources, r.Cursor(r.Groups()[g], rfile.CursorOptions{}))
		}
		if err := appendAll(ctx, w, sources, p); err != nil {
			return err
		}
	}
	return nil
}

// appendAll appends all entries of sources to the open group of a writer, and closes the sources. p may be nil.
func appendAll(ctx context.Context, w *rfile.Writer, sources []iter.Source, p *progress) (err error) {
	s, err := newScan(ctx, sources, tablet.Range{}, tablet.Families{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	return s.each(ctx, func(b *tablet.Batch, run iter.Run) error {
		if p != nil {
			p.add(int64(run.Len()))
		}
		return w.AppendRun(b, run.Code, int(run.Lo), int(run.Hi))
	})
}

// remove takes away the files and their directory.
func (s *sortRuns) remove() error {
	if !s.made {
		return nil
	}
	names, err := s.parent.List(s.name)
	for _, n := range names {
		if e := s.parent.Remove(s.name + "/" + n); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	if err != nil {
		return err
	}
	s.made = false
	return s.parent.Remove(s.name)
}

package script

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"millrace/actors"
	"millrace/internal/clock"
	"millrace/tablet"
)

var errUsage = tablet.ErrUsage

type flushStep struct{ expect outcome }

func parseFlush(o *object, _ string) step { return &flushStep{expect: parseOutcome(o)} }

func (s *flushStep) run(ctx context.Context, r *runner) error {
	return s.expect.of(s.expect.try(ctx, func() error { return r.store.Flush(ctx, tableName) }))
}

// compactStep is a full compaction, or a partial one of some files.
type compactStep struct {
	full        bool
	oldest      int // of a partial one: so many of the oldest, or
	newest      int // of the newest, or
	indexes     []int
	cancelAfter int64 // entries; 0: not
	expect      outcome
}

func parseCompact(o *object, _ string) step {
	s := &compactStep{full: o.choice("mode", "full", "partial") == "full"}
	if !s.full {
		o.must("files")
		raw, _ := o.take("files")
		if err := s.parseFiles(raw); err != nil {
			o.failf("field %q: %w", "files", err)
		}
	}
	s.cancelAfter, _ = o.number("cancelAfterEntries", 1)
	s.expect = parseOutcome(o)
	return s
}

// parseFiles reads oldest:N, newest:N or a list of indexes.
func (s *compactStep) parseFiles(raw json.RawMessage) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		side, number, _ := strings.Cut(text, ":")
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || side != "oldest" && side != "newest" {
			return fmt.Errorf("%q is neither oldest:N nor newest:N", text)
		}
		if side == "oldest" {
			s.oldest = n
		} else {
			s.newest = n
		}
		return nil
	}
	list, err := listOf(raw)
	for _, raw := range list {
		n, e := strconv.Atoi(string(raw))
		if e != nil || n < 0 {
			return fmt.Errorf("%s is no index of a file", excerpt(raw))
		}
		s.indexes = append(s.indexes, n)
	}
	return err
}

func (s *compactStep) run(ctx context.Context, r *runner) error {
	err := s.expect.try(ctx, func() error { return s.compact(ctx, r) })
	if s.cancelAfter > 0 && errors.Is(err, context.Canceled) {
		err = nil
	}
	return s.expect.of(err)
}

func (s *compactStep) compact(ctx context.Context, r *runner) error {
	if s.full {
		return r.compact(ctx, nil, s.cancelAfter)
	}
	numbers, err := r.numbers(ctx, func(n int) []int {
		switch {
		case s.oldest > 0:
			return span(0, min(s.oldest, n))
		case s.newest > 0:
			return span(max(n-s.newest, 0), n)
		}
		return s.indexes
	})
	if err != nil || len(numbers) == 0 {
		return err
	}
	return r.compact(ctx, numbers, s.cancelAfter)
}

func span(lo, hi int) (list []int) {
	for i := lo; i < hi; i++ {
		list = append(list, i)
	}
	return list
}

// partial compacts a run of each tablet's files, from lo up to before hi of n, counted from the oldest.
func (r *runner) partial(ctx context.Context, choose func(n int) (lo, hi int), cancelAfter int64) error {
	numbers, err := r.numbers(ctx, func(n int) []int {
		if n == 0 {
			return nil
		}
		return span(choose(n))
	})
	if err != nil || len(numbers) == 0 {
		return err
	}
	return r.compact(ctx, numbers, cancelAfter)
}

// numbers are those of the files that choose names by index, from the oldest of n, in each tablet.
func (r *runner) numbers(ctx context.Context, choose func(n int) []int) (numbers []uint64, err error) {
	tablets, err := r.store.Stats(ctx, tableName)
	if err != nil {
		return nil, err
	}
	for _, t := range tablets {
		files := slices.Clone(t.Files)
		slices.SortFunc(files, func(a, b tablet.FileMeta) int { return cmp.Compare(a.Ages.Oldest, b.Ages.Oldest) })
		for _, i := range choose(len(files)) {
			if i < len(files) && !slices.Contains(numbers, files[i].Number) {
				numbers = append(numbers, files[i].Number)
			}
		}
	}
	return numbers, nil
}

// compact compacts fully, or the files with these numbers, and cancels that once so many entries were read.
func (r *runner) compact(ctx context.Context, numbers []uint64, cancelAfter int64) error {
	partial := len(numbers) > 0
	o := actors.CompactOptions{Files: numbers, NoFlush: partial, KeepDeletes: partial}
	if cancelAfter > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		o.Progress = func(entries int64) {
			if entries >= cancelAfter {
				cancel()
			}
		}
	}
	_, err := r.store.Compact(ctx, tableName, o)
	return err
}

// filesStep counts the table's data files.
type filesStep struct{ expect, most int } // -1: any

func parseFiles(o *object, _ string) step {
	s := &filesStep{expect: o.count("expect", 0, -1), most: o.count("max", 0, -1)}
	if s.expect < 0 && s.most < 0 {
		o.failf("neither %q nor %q is there", "expect", "max")
	}
	return s
}

func (s *filesStep) run(ctx context.Context, r *runner) error {
	if r.mode.Permuted {
		return nil
	}
	names, err := r.files(ctx)
	switch n := len(names); {
	case err != nil:
		return err
	case s.expect >= 0 && n != s.expect:
		return mismatchf(fmt.Sprintf("%d files", s.expect), "%d files", n)
	case s.most >= 0 && n > s.most:
		return mismatchf(fmt.Sprintf("%d files at most", s.most), "%d files", n)
	}
	return nil
}

// files are the names of the data files that the table refers to, sorted.
func (r *runner) files(ctx context.Context) (names []string, err error) {
	tablets, err := r.store.Stats(ctx, tableName)
	for _, t := range tablets {
		for _, f := range t.Files {
			names = append(names, path.Base(f.Name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// dirStep wants no temporary file, and no data file that the table does not refer to.
type dirStep struct{}

// run waits for background work, which is done when the directory stands as it must; if that is not soon, it never is.
func (dirStep) run(ctx context.Context, r *runner) error {
	const every = time.Millisecond
	for waited := time.Duration(0); ; waited += every {
		want, err := r.files(ctx)
		if err != nil {
			return err
		}
		got, temporary, err := r.disk.list()
		if err != nil {
			return err
		}
		if len(temporary) == 0 && slices.Equal(got, want) {
			return nil
		}
		if waited >= graceTime {
			return mismatchf(fmt.Sprintf("the files %q alone", want), "files %q, temporary ones %q", got, temporary)
		}
		if err := clock.Sleep(ctx, clock.Real{}, every); err != nil {
			return err
		}
	}
}

// list names the data files, and what is temporary anywhere.
func (d *disk) list() (data, temporary []string, err error) {
	for _, dir := range []string{".", "data", "wal", "manifest"} {
		names, err := d.mem.List(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		for _, name := range names {
			if strings.Contains(name, "tmp") {
				temporary = append(temporary, path.Join(dir, name))
			} else if dir == "data" {
				data = append(data, name)
			}
		}
	}
	return data, temporary, nil
}

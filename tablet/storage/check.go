package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"millrace/internal/vfs"
	"millrace/tablet/manifest"
	"millrace/tablet/wal"
)

// CheckOptions say how Check works.
type CheckOptions struct {
	// Deep decodes every entry besides, and holds order, counts, rows and indexes against each other.
	Deep bool
	// Progress, if not nil, is told now and then how much is done of how much, in bytes. A deep check counts data files
	// twice.
	Progress func(done, total int64)
}

// Check holds a store that nobody has open against all that is known of it: the manifest's structure, the log's segments,
// and of every data file that is named its length, identity and sums, block by block. Memory is bounded by the state, one
// block and one record. Nothing is changed, not even the lock's file.
//
// What is wrong with the store is in the report. The error says that the check itself could not be made: the store is in
// use (a *LockedError), or the context has ended.
func Check(ctx context.Context, fsys vfs.FS, o CheckOptions) (*CheckReport, error) {
	held, err := vfs.Hold(fsys, LockName)
	switch {
	case errors.Is(err, vfs.ErrLocked):
		return nil, locked(fsys, err)
	case err == nil:
		defer held.Close()
	case !errors.Is(err, fs.ErrNotExist): // without the file nobody has the store
		return nil, fmt.Errorf("check store: %w", err)
	}
	c := &checker{ctx: ctx, fs: fsys, o: o, report: &CheckReport{}}
	if err := c.run(); err != nil {
		return nil, fmt.Errorf("check store: %w", err)
	}
	slices.SortStableFunc(c.report.Findings, func(a, b Finding) int { return int(a.Kind) - int(b.Kind) })
	return c.report, nil
}

type checker struct {
	ctx    context.Context
	fs     vfs.FS
	o      CheckOptions
	report *CheckReport

	total, base int64 // of the progress, and what of it the files before were
}

func (c *checker) find(f Finding) { c.report.Findings = append(c.report.Findings, f) }

// progress says how many bytes of the work on the present file are done.
func (c *checker) progress(bytes int64) {
	if c.o.Progress != nil {
		c.o.Progress(min(c.base+bytes, c.total), c.total)
	}
}

// done ends the work on a file of a length.
func (c *checker) done(bytes int64) {
	c.base += bytes
	c.progress(0)
}

func (c *checker) run() error {
	c.foreign(".", func(name string) bool {
		return name == LockName || name == HolderName || slices.Contains(dirs, name)
	})
	found, err := manifest.Read(c.ctx, c.fs)
	if cancelled(c.ctx, err) {
		return err
	}
	if err != nil {
		c.find(findingOf(manifest.Dir, err))
		return c.withoutManifest()
	}
	l := &Loaded{State: found.State, Manifest: found, fs: c.fs, Foreign: found.Foreign}
	if err := l.list(); err != nil {
		c.find(findingOf(manifest.DataDir, err))
	}
	if l.Segments, err = wal.List(c.fs); err != nil {
		c.find(findingOf(wal.Dir, err))
	}
	c.measure(l)
	c.manifest(l)
	for _, name := range l.Foreign {
		c.find(Finding{Kind: Foreign, File: name, What: "not a name of ours"})
	}
	for _, name := range l.Orphans {
		c.find(Finding{Kind: Orphan, File: name, What: "the manifest does not name it"})
	}
	if err := c.log(l); err != nil {
		return err
	}
	for f := range l.State.Files() {
		if err := c.dataFile(l, f); err != nil {
			return err
		}
	}
	return c.ctx.Err()
}

// foreign lists what is not ours in a directory.
func (c *checker) foreign(dir string, ours func(string) bool) {
	list, err := c.fs.List(dir)
	if err != nil {
		c.find(findingOf(dir, err))
	}
	for _, name := range list {
		if !ours(name) {
			c.find(Finding{Kind: Foreign, File: name, What: "not a name of ours"})
		}
	}
}

// measure sets what the progress counts to.
func (c *checker) measure(l *Loaded) {
	c.total = c.size(manifest.Name(l.Manifest.Number))
	for _, n := range l.Segments {
		c.total += c.size(wal.Name(n))
	}
	for f := range l.State.Files() {
		c.total += c.passes() * f.Bytes
	}
}

func (c *checker) passes() int64 {
	if c.o.Deep {
		return 2
	}
	return 1
}

// size is a file's length, 0 if it cannot be told.
func (c *checker) size(name string) int64 {
	info, err := c.fs.Stat(name)
	if err != nil {
		return 0
	}
	return info.Bytes
}

// manifest reports on the manifest, which was read.
func (c *checker) manifest(l *Loaded) {
	found, r := l.Manifest, c.report
	for t := range l.State.Tables() {
		r.Tables++
		r.Tablets += t.TabletCount()
	}
	r.Files, r.Closed = l.State.FileCount(), found.End.Sealed
	for _, n := range found.Unfinished {
		c.find(Finding{Kind: Unfinished, File: manifest.Name(n), What: "a crash left it before it was begun"})
	}
	for _, n := range found.Older {
		c.find(Finding{Kind: Unfinished, File: manifest.Name(n), What: "a newer manifest has taken its place"})
	}
	if found.Number == 0 {
		if len(l.Orphans)+len(l.Segments) > 0 {
			c.find(Finding{Kind: Damage, File: manifest.Dir, What: "no whole manifest, in a store with data files or a log"})
		}
		return
	}
	r.Manifest = manifest.Name(found.Number)
	size := c.size(r.Manifest)
	r.Bytes += size
	if found.End.Torn {
		c.find(tornFinding(r.Manifest, found.End.Offset, size, found.End.Marred))
	}
	c.done(size)
}

// log reads all segments.
func (c *checker) log(l *Loaded) error {
	report, err := l.Replay(c.ctx, func(*wal.Entry) error { return c.ctx.Err() })
	if cancelled(c.ctx, err) {
		return err
	}
	if err != nil {
		c.find(findingOf(wal.Dir, err))
	}
	c.report.Segments, c.report.LogEntries = len(l.Segments), report.Entries
	bytes := int64(0)
	for i := range report.Segments {
		s := &report.Segments[i]
		bytes += s.Bytes
		if s.Torn {
			c.find(tornFinding(wal.Name(s.Number), s.End, s.Bytes, s.Marred))
		}
	}
	c.report.Bytes += bytes
	c.done(bytes)
	return nil
}

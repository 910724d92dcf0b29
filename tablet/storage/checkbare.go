package storage

import (
	"errors"

	"millrace/tablet/manifest"
	"millrace/tablet/rfile/bcfile"
	"millrace/tablet/wal"
)

// withoutManifest checks what can be checked of a store whose manifest cannot be read: that each file of ours is sound in
// itself. What is not in a file is then not known.
func (c *checker) withoutManifest() error {
	l := &Loaded{State: manifest.Empty(), fs: c.fs}
	if err := l.list(); err != nil {
		c.find(findingOf(manifest.DataDir, err))
	}
	var err error
	if l.Segments, err = wal.List(c.fs); err != nil {
		c.find(findingOf(wal.Dir, err))
	}
	for _, name := range l.Orphans { // all data files
		c.total += c.size(name)
	}
	for _, n := range l.Segments {
		c.total += c.size(wal.Name(n))
	}
	for _, name := range l.Foreign {
		c.find(Finding{Kind: Foreign, File: name, What: "not a name of ours"})
	}
	if err := c.log(l); err != nil {
		return err
	}
	for _, name := range l.Orphans {
		if err := c.bareFile(name); err != nil {
			return err
		}
	}
	return c.ctx.Err()
}

// bareFile checks a data file of which nothing is known. Its error is the context's.
func (c *checker) bareFile(name string) error {
	size := c.size(name)
	file, err := c.fs.Open(name)
	if err == nil {
		var got bcfile.Report
		got, err = bcfile.Verify(c.ctx, file, c.progress)
		c.report.Bytes += got.Bytes
		c.report.Blocks += int64(got.Blocks)
		err = errors.Join(err, file.Close())
	}
	if cancelled(c.ctx, err) {
		return err
	}
	if err != nil {
		c.find(findingOf(name, err))
	}
	c.done(size)
	return nil
}

package storage

import (
	"bytes"
	"context"
	"fmt"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/manifest"
	"millrace/tablet/rfile"
	"millrace/tablet/rfile/bcfile"
)

// dataFile checks one data file that the manifest names. Its error is the context's.
func (c *checker) dataFile(l *Loaded, f *manifest.FileRef) error {
	err := c.checkFile(l, f)
	if cancelled(c.ctx, err) {
		return err
	}
	if err != nil {
		c.find(findingOf(f.Name, err))
	}
	c.report.Entries += f.Entries
	c.done(c.passes() * f.Bytes)
	return nil
}

// checkFile is nil if all of a file is what the manifest says.
func (c *checker) checkFile(l *Loaded, f *manifest.FileRef) error {
	if err := l.checkThere(f); err != nil {
		return err
	}
	file, err := c.fs.Open(f.Name)
	if err != nil {
		return err
	}
	if err := c.checkBytes(file, f); err != nil || !c.o.Deep {
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
		return err
	}
	return c.checkEntries(file, f)
}

// checkBytes reads the whole file and holds it against its own sums and the manifest's.
func (c *checker) checkBytes(file vfs.File, f *manifest.FileRef) error {
	got, err := bcfile.VerifyWith(c.ctx, file, bcfile.ReaderOptions{}, c.progress)
	if err != nil {
		return err
	}
	c.report.Bytes += got.Bytes
	c.report.Blocks += int64(got.Blocks)
	wrong := func(what string, args ...any) error { return tablet.Corruptf(f.Name, 0, what, args...) }
	switch {
	case !got.HasSums && f.ID != ([16]byte{}):
		return wrong("no checksums, in a file that the manifest knows by identity %x", f.ID)
	case got.FileID != f.ID:
		return wrong("identity is %x, the manifest says %x: another file, or an older one of this name", got.FileID, f.ID)
	case got.Bytes != f.Bytes || got.CRC != f.CRC:
		return wrong("%d bytes with CRC32C %08x, the manifest says %d with %08x", got.Bytes, got.CRC, f.Bytes, f.CRC)
	}
	return nil
}

// checkEntries decodes the whole file and holds it against the manifest. It closes the file.
func (c *checker) checkEntries(file vfs.File, f *manifest.FileRef) (err error) {
	r, err := rfile.Open(file, rfile.ReaderOptions{FileID: f.ID})
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := r.Close(); err == nil {
			err = closeErr
		}
	}()
	groups, err := r.Verify(c.ctx, rfile.VerifyOptions{Progress: func(entries int64) {
		c.progress(f.Bytes + int64(float64(f.Bytes)*min(1, float64(entries)/float64(f.Entries))))
	}})
	if err != nil {
		return err
	}
	var entries, deletes int64
	var rows rowSpan
	for _, g := range groups {
		entries += g.Entries
		deletes += g.Deletes
		if err := rows.add(c.ctx, r, g.Group); err != nil {
			return err
		}
	}
	c.report.Decoded += entries
	switch {
	case entries != f.Entries || deletes != f.Deletes:
		return tablet.Corruptf(f.Name, 0, "%d entries, %d of them deletes; the manifest says %d and %d", entries, deletes, f.Entries, f.Deletes)
	case f.FirstRow != nil && (!bytes.Equal(rows.first, f.FirstRow) || !bytes.Equal(rows.last, f.LastRow)):
		return tablet.Corruptf(f.Name, 0, "rows %q to %q, the manifest says %q to %q", rows.first, rows.last, f.FirstRow, f.LastRow)
	}
	return nil
}

// rowSpan is the first and the last row of groups.
type rowSpan struct{ first, last []byte }

// add takes in a group, by its entries next to both ends of its index.
func (s *rowSpan) add(ctx context.Context, r *rfile.Reader, g *rfile.Group) error {
	if !g.HasFirstKey {
		return nil
	}
	last, err := lastRow(ctx, r, g)
	if err != nil {
		return fmt.Errorf("%s: last row: %w", r.Name(), err)
	}
	if first := g.FirstKey.Row(); s.first == nil || bytes.Compare(first, s.first) < 0 {
		s.first = append([]byte{}, first...)
	}
	if s.last == nil || bytes.Compare(last, s.last) > 0 {
		s.last = append([]byte{}, last...)
	}
	return nil
}

// lastRow reads a group's last block.
func lastRow(ctx context.Context, r *rfile.Reader, g *rfile.Group) ([]byte, error) {
	var keys []tablet.Key // those of the last two index entries: the last block begins behind the first of them
	err := r.Walk(ctx, g, rfile.Visitor{Leaf: func(l rfile.LeafInfo) error {
		keys = append(keys, l.Key.Clone())
		keys = keys[max(len(keys)-2, 0):]
		return nil
	}})
	if err != nil {
		return nil, err
	}
	var from tablet.Range
	if len(keys) == 2 {
		if from, err = tablet.NewRange(&tablet.Bound{Key: keys[0]}, nil); err != nil {
			return nil, err
		}
	}
	c := r.Cursor(g, rfile.CursorOptions{})
	defer c.Close()
	if err := c.Seek(ctx, from, tablet.Families{}); err != nil {
		return nil, err
	}
	var last []byte
	for {
		b, err := c.Next(ctx)
		if err != nil || b == nil {
			return last, err
		}
		k := b.Key(b.Len() - 1)
		last = append(last[:0], k.Row()...)
	}
}

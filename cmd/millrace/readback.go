package main

import (
	"context"
	"errors"
	"fmt"

	"millrace/tablet"
	"millrace/tablet/rfile"
	"millrace/tablet/rfile/bcfile"
)

// readBack verifies an output that is complete and has no name yet, as "verify --deep" does, and holds it against what its
// writer says of it. An output without checksums is as good as its codec can tell. p counts entries.
func readBack(ctx context.Context, o *output, m tablet.FileMeta, p *progress) error {
	if err := readOutput(ctx, o, m, p); err != nil {
		return fmt.Errorf("%s, read back: %w", o.path, err)
	}
	return nil
}

func readOutput(ctx context.Context, o *output, m tablet.FileMeta, p *progress) (err error) {
	f, err := o.dir.Open(o.temp)
	if err != nil {
		return err
	}
	if _, err := bcfile.VerifyFrame(ctx, f, bcfile.ReaderOptions{}); err != nil {
		return errors.Join(err, f.Close())
	}
	r, err := rfile.Open(f, rfile.ReaderOptions{FileID: m.ID})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	v := &verdict{File: o.path, Deep: true}
	if err := v.judgeIndexes(ctx, r); err != nil {
		return err
	}
	if *v.Entries != m.Entries {
		return tablet.Corruptf(r.Name(), 0, "%d entries, where %d were written", *v.Entries, m.Entries)
	}
	done := p.done.Load()
	p.of(done, p.total.Load()+m.Entries)
	return v.judgeEntries(ctx, r, false, meter{p: p, base: done, bytes: m.Entries})
}

package main

import (
	"context"
	"encoding/hex"
	"errors"
	"path/filepath"
	"time"

	"millrace/compactor/job"
	"millrace/tablet"
)

// division writes the files of a split, one after the other.
type division struct {
	*compaction
	o       splitOptions
	spec    job.Spec
	tiles   tiling
	started time.Time
	plan    *loadPlan
	doc     divided
}

func (d *division) run(ctx context.Context, e *env, path string) (err error) {
	out, err := e.createDir(path)
	if err != nil {
		return err
	}
	defer func() { err = out.end(err) }()
	var plan *output
	if d.o.plan != "" {
		if plan, err = e.createPlan(d.o.plan, false, d.inputs...); err != nil {
			return err
		}
		out.add(plan)
		d.plan = newLoadPlan()
	}
	p := e.progress(d.label, "entries", entriesOf(d.readers))
	defer p.end()
	if err := d.writeAll(ctx, out, p); err != nil {
		return err
	}
	if plan != nil {
		if err := writePlan(plan, d.plan); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return out.commit()
}

// writeAll makes the files of all tablets that the input has rows of.
func (d *division) writeAll(ctx context.Context, out *outputDir, p *progress) (err error) {
	w, err := newRowWalk(ctx, d.newest(), d.tiles)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	next := 0
	for {
		at, _, ok, err := w.step(ctx)
		if err != nil {
			return err
		}
		if !ok {
			at = len(d.tiles)
		}
		for ; next < at; next++ {
			d.doc.Empty = append(d.doc.Empty, next+1)
		}
		if !ok {
			return nil
		}
		if err := d.writeOne(ctx, out, at, p); err != nil {
			return err
		}
		next = at + 1
	}
}

// writeOne makes the file of one tablet.
func (d *division) writeOne(ctx context.Context, out *outputDir, at int, p *progress) error {
	path := fileOfTablet(out.path, at+1, len(d.tiles))
	name := filepath.Base(path)
	o, err := out.create(name)
	if err != nil {
		return err
	}
	spec := d.spec
	spec.Range = rowsOf(d.tiles[at].Extent)
	done, err := d.write(ctx, spec, o, p)
	if err != nil {
		return err
	}
	m := done.meta
	d.doc.Files = append(d.doc.Files, newPortion(path, at, d.tiles[at].Extent, m))
	d.doc.Entries += m.Entries
	d.doc.Bytes += m.Bytes
	switch {
	case d.plan == nil:
	case d.o.planType.value == planFile:
		d.plan.addRows(name, m.FirstRow, m.LastRow)
	default:
		d.plan.addExtent(name, d.tiles[at].Extent)
	}
	return nil
}

func newPortion(path string, at int, e tablet.Extent, m tablet.FileMeta) *portion {
	p := &portion{File: path, Tablet: at + 1, PrevRow: hexRow(e.PrevEndRow), EndRow: hexRow(e.EndRow), FirstRow: hex.EncodeToString(m.FirstRow),
		LastRow: hex.EncodeToString(m.LastRow), Bytes: m.Bytes, Entries: m.Entries, Deletes: m.Deletes, CRC32C: m.CRC, rows: showExtent(e)}
	if m.ID != ([16]byte{}) {
		p.FileID = hex.EncodeToString(m.ID[:])
	}
	return p
}

// hexRow is nil, null in JSON, for a bound that is none.
func hexRow(row []byte) *string {
	if row == nil {
		return nil
	}
	text := hex.EncodeToString(row)
	return &text
}

package rfile

import (
	"errors"

	"millrace/tablet"
	"millrace/tablet/rfile/bcfile"
)

// explain is what is wrong with a block in which the skim found something wrong: what a cursor says of it that comes from
// the block before. So there is one source of such texts.
func (c *blockCheck) explain(b *leafBlock) error {
	d := decoder{batch: &tablet.Batch{}}
	if b.number > 0 {
		if err := c.decode(&d, b.before, b.inThat, nil); err != nil {
			d.forget() // it is told of that block
		}
	}
	err := c.decode(&d, b.region, b.entries, b)
	if err == nil {
		err = d.bad("not the keys of a block")
	}
	var wrong *formatError
	if errors.As(err, &wrong) {
		return tablet.Corruptf(c.v.r.Name(), b.region.Offset, "data block %d of %v: %v", b.number, c.v.g, err)
	}
	return err
}

// decode reads a block and decodes it whole, and holds it against what the index knows of it, if that is given.
func (c *blockCheck) decode(d *decoder, region bcfile.Region, entries int, index *leafBlock) error {
	raw, err := c.blocks.Read(region)
	if err != nil {
		return err
	}
	d.startBlock(raw, entries)
	for d.left > 0 {
		d.startBatch()
		bounded := d.first && index != nil && index.number > 0
		if _, err := d.next(new(tablet.EntryRef)); err != nil {
			return err
		}
		if bounded {
			if err := d.checkBound(&index.bound); err != nil {
				return err
			}
		}
	}
	if index == nil {
		return nil
	}
	return d.checkEnd(&index.key)
}

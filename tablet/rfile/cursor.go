package rfile

import (
	"context"
	"errors"
	"fmt"

	"millrace/tablet"
	"millrace/tablet/rfile/bcfile"
)

// CursorOptions tunes a Cursor. A zero field means its default.
type CursorOptions struct {
	// BatchEntries is the most entries of a batch. Default 256. A merge of many sources wants small batches, so that
	// those of all sources stay in the processor's cache; one source wants large ones.
	BatchEntries int
}

const (
	defaultBatchEntries = 256
	// maxArenaBytes ends a batch whose keys have grown large, so that its memory does not follow the keys' size.
	maxArenaBytes = 256 << 10
)

// Cursor walks one group of a file in key order, batch by batch. It is a source for a merge: see iter.Source for the
// contract of Seek and Next. It is not safe for concurrent use and must not outlive its Reader.
type Cursor struct {
	r      *Reader
	g      *Group
	path   *path
	blocks *bcfile.BlockReader
	batch  tablet.Batch
	dec    decoder
	size   int // most entries of a batch

	rng      tablet.Range
	families tablet.Families
	filtered bool // some family is not wanted

	block       int // number of the block being decoded
	blockOffset int64
	seeking     bool // no entry at or after the start of the range has been met yet
	checkEnd    bool // the block may hold keys past the range
	positioned  bool // a block is open
	done        bool
	err         error

	bound    tablet.Key // index key of the block before, which this block's keys must not precede
	hasBound bool
}

// Cursor returns a cursor on one of the file's groups, not yet positioned: Seek comes first.
func (r *Reader) Cursor(g *Group, o CursorOptions) *Cursor {
	if o.BatchEntries <= 0 {
		o.BatchEntries = defaultBatchEntries
	}
	c := &Cursor{r: r, g: g, path: newPath(r, g), blocks: r.bc.NewBlockReader(), size: o.BatchEntries, done: true}
	c.dec.batch = &c.batch
	return c
}

// String names the cursor for messages.
func (c *Cursor) String() string { return fmt.Sprintf("%s, %v", c.r.Name(), c.g) }

// Seek positions the cursor before the first entry of the range whose family is wanted. The range's keys must stay
// unchanged until the next Seek.
func (c *Cursor) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	if c.blocks == nil {
		return c.err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.rng, c.families, c.filtered = r, f, !f.All()
	c.done, c.err, c.positioned, c.seeking, c.hasBound = false, nil, false, true, false
	c.dec.forget()
	c.batch.Reset()
	if f.None() || r.Empty() {
		c.done = true
		return nil
	}
	found, err := c.find()
	if err != nil {
		return c.fail(err)
	}
	c.done = !found
	return nil
}

// find moves the index path to the block where the range begins.
func (c *Cursor) find() (bool, error) {
	start, ok := c.rng.Start()
	if !ok || c.g.HasFirstKey && tablet.Compare(&start.Key, &c.g.FirstKey) <= 0 {
		return c.path.first()
	}
	return c.path.seek(&start.Key)
}

// fail makes an error stick: after it the cursor gives nothing until the next Seek.
func (c *Cursor) fail(err error) error {
	c.err, c.done = err, true
	c.path.forget()
	return err
}

// Next returns the next batch, nil at the end. It is valid until the cursor's next call.
func (c *Cursor) Next(ctx context.Context) (*tablet.Batch, error) {
	if c.err != nil {
		return nil, c.err
	}
	for !c.done {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !c.positioned {
			if err := c.openBlock(); err != nil {
				return nil, c.fail(err)
			}
		}
		if err := c.fill(); err != nil {
			return nil, c.fail(c.locate(err))
		}
		if c.dec.left == 0 && !c.done {
			if err := c.closeBlock(); err != nil {
				return nil, c.fail(err)
			}
		}
		if len(c.batch.Refs) > 0 {
			return &c.batch, nil
		}
	}
	return nil, nil
}

// openBlock reads the block that the path is at.
func (c *Cursor) openBlock() error {
	e, err := c.path.entry()
	if err != nil {
		return err
	}
	raw, err := c.blocks.Read(e.region)
	if err != nil {
		return err
	}
	c.dec.startBlock(raw, e.entries)
	c.block, c.blockOffset, c.positioned = c.path.leaf, e.region.Offset, true
	c.checkEnd = c.rng.AfterEnd(&e.key)
	return nil
}

// closeBlock holds a block that was decoded to its end against the index, and moves to the next one.
func (c *Cursor) closeBlock() error {
	if n := len(c.dec.raw) - c.dec.at; n != 0 {
		return c.locate(c.dec.bad("%d bytes after the last entry", n))
	}
	e, err := c.path.entry()
	if err != nil {
		return err
	}
	if last := c.dec.prevKey(); tablet.Compare(&last, &e.key) > 0 {
		return c.locate(c.dec.bad("last key %v lies behind the index key %v", last, e.key))
	}
	c.bound.Assign(&e.key)
	c.hasBound, c.positioned = true, false
	more, err := c.path.next()
	c.done = !more
	return err
}

// fill decodes entries into the batch until it is full or the block is used up.
func (c *Cursor) fill() error {
	d := &c.dec
	d.startBatch()
	b := &c.batch
	for d.left > 0 && len(b.Refs) < c.size && (len(b.Refs) == 0 || len(b.Arena) < maxArenaBytes) {
		atFirst := d.first
		ref, code, err := d.next()
		if err != nil {
			return err
		}
		if atFirst && c.hasBound {
			if err := c.checkBound(&ref); err != nil {
				return err
			}
		}
		if c.seeking || c.checkEnd || c.filtered {
			if code, err = c.admit(&ref, code); err != nil {
				if errors.Is(err, errSkip) {
					continue
				}
				break // past the end of the range
			}
		}
		if len(b.Refs) > 0 {
			b.Facts.MaxCode = max(b.Facts.MaxCode, code)
		}
		b.Facts.Deletes = b.Facts.Deletes || ref.Deleted
		b.Refs = append(b.Refs, ref)
		b.Codes = append(b.Codes, code)
	}
	c.setFacts()
	return nil
}

func (c *Cursor) setFacts() {
	f := &c.batch.Facts
	f.Block = c.block
	f.FirstOf = len(c.batch.Refs) > 0 && c.batch.Refs[0].At == 0
	f.LastOf = c.dec.left == 0
	f.Encoded = c.r.version >= 7
	f.Contiguous = !c.filtered
}

var errSkip = errors.New("entry is not wanted")

// errPast ends the walk.
var errPast = errors.New("past the range")

// admit decides whether an entry belongs to what was asked for. It returns the entry's code against the entry delivered
// before it, errSkip, or errPast.
func (c *Cursor) admit(ref *tablet.EntryRef, code uint64) (uint64, error) {
	key := c.keyOf(ref)
	if c.seeking && c.rng.BeforeStart(&key) {
		c.compact()
		return 0, errSkip
	}
	if c.checkEnd && c.rng.AfterEnd(&key) {
		c.done = true
		return 0, errPast
	}
	code = max(code, c.dec.fold)
	if c.filtered && !c.families.Accepts(key.Family()) {
		c.dec.fold = code
		c.compact()
		return 0, errSkip
	}
	c.dec.fold = 0
	if c.seeking {
		c.seeking = false
		return c.codeAtStart(&key), nil
	}
	return code, nil
}

// codeAtStart codes the first entry delivered against the base that all sources of a merge share after a seek.
func (c *Cursor) codeAtStart(key *tablet.Key) uint64 {
	if start, ok := c.rng.Start(); ok && start.Inclusive {
		return tablet.CodeOf(&start.Key, key)
	}
	return tablet.CodeOfFirst(key)
}

// compact keeps skipped keys from piling up in the arena.
func (c *Cursor) compact() {
	if len(c.batch.Refs) == 0 {
		c.dec.startBatch()
	}
}

func (c *Cursor) keyOf(ref *tablet.EntryRef) tablet.Key {
	return tablet.KeyView(c.batch.Arena[ref.KeyAt:ref.KeyAt+ref.KeyBytes], ref.Ends, ref.Timestamp, ref.Deleted)
}

// checkBound holds a block's first key against the index key of the block before it.
func (c *Cursor) checkBound(ref *tablet.EntryRef) error {
	key := c.keyOf(ref)
	if tablet.Compare(&key, &c.bound) < 0 {
		return c.dec.bad("first key %v lies before the index key %v of the block before", key, c.bound)
	}
	return nil
}

// locate gives an error inside a block its place in the file.
func (c *Cursor) locate(err error) error {
	var fe *formatError
	if errors.As(err, &fe) {
		return tablet.Corruptf(c.r.Name(), c.blockOffset, "data block %d of %v: %v", c.block, c.g, err)
	}
	return err
}

// Close releases the cursor's buffers. The reader stays open. A second Close does nothing.
func (c *Cursor) Close() error {
	if c.blocks == nil {
		return nil
	}
	c.done, c.err = true, fmt.Errorf("cursor on %s: %w", c, tablet.ErrClosed)
	c.blocks.Close()
	c.path.close()
	c.blocks, c.batch = nil, tablet.Batch{}
	return nil
}

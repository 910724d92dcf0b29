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
	// Cache keeps blocks between cursors. Without one a cursor keeps the block and the index nodes that it is at.
	Cache BlockCache
	// Ahead, if not nil, reads the data blocks in place of the cursor: for walks from one end to the other. Where there
	// is a cache it serves what that does not keep. A cursor that has one must be closed.
	Ahead func(*Reader, *Group) BlockAhead
	// NoBlockIndex makes every seek read a block from its front; see BlockIndex.
	NoBlockIndex bool
	// NoBloom leaves the file's Bloom filter out of account.
	NoBloom bool
	// Listed takes the file at its word about families: a group that lists none but wanted ones is not looked through for
	// others, so that its batches are as they are stored. It is for those who would see an unwanted family, as a Writer
	// does, which refuses it.
	Listed bool
	// CopyIndex copies an index node and decodes its offsets when it is entered, instead of using it where it lies. It
	// is for comparison.
	CopyIndex bool
}

const (
	defaultBatchEntries = 256
	// maxArenaBytes ends a batch whose keys have grown large, so that its memory does not follow the keys' size.
	maxArenaBytes = 256 << 10
)

// Cursor walks one group of a file in key order, batch by batch. It is a source for a merge: see iter.Source for the
// contract of Seek and Next. It is not safe for concurrent use and must not outlive its Reader.
//
// Seeks are cheap where they can be: what the last batch still holds is delivered again, a place ahead in the same block
// is reached from where the cursor stands, and the block in memory is never read twice.
type Cursor struct {
	r     *Reader
	g     *Group
	o     CursorOptions
	path  path
	data  blockFetch
	dec   decoder
	batch tablet.Batch // what was decoded last: what was delivered, and perhaps one entry past the range
	out   tablet.Batch // the part of it that is delivered
	again redelivery

	rng      tablet.Range
	target   target // the range's start
	families tablet.Families
	filter   familySet // a copy of families
	filtered bool      // some family is not wanted

	open  openBlock
	own   BlockIndex // of the open block, when no cache keeps one
	found bool       // the path is at a block; it is the open one if positioned

	skipping   bool // no entry at or after the start of the range has been met yet
	seeking    bool // nothing has been delivered since the seek
	checkEnd   bool // the block may hold keys past the range
	positioned bool // the decoder is in the block that the path is at
	ended      bool // the path has left the last block
	done       bool
	err        error

	bound    tablet.Key // index key of the block before, which this block's keys must not precede
	hasBound bool

	home    *Cursors            // where Close brings it, if not nil
	next    *Cursor             // below it in the free list
	resting *bcfile.BlockReader // while it is there
}

// openBlock is the block whose bytes the decoder has. It may be used up.
type openBlock struct {
	number  int
	entries int
	region  bcfile.Region // of no bytes when there is none
	cached  *Block        // nil when no cache keeps it
	key     tablet.Key    // index key, a view of the path; good while positioned
}

// Cursor returns a cursor on one of the file's groups, not yet positioned: Seek comes first.
func (r *Reader) Cursor(g *Group, o CursorOptions) *Cursor {
	c := &Cursor{}
	c.begin(r, g, o, &bcfile.BlockReader{})
	return c
}

// begin makes a cursor that holds nothing but buffers one on a group.
func (c *Cursor) begin(r *Reader, g *Group, o CursorOptions, blocks *bcfile.BlockReader) {
	if o.BatchEntries <= 0 {
		o.BatchEntries = defaultBatchEntries
	}
	blocks.Use(r.bc)
	c.r, c.g, c.o, c.done, c.err = r, g, o, true, nil
	c.path.begin(r, g, o)
	c.data = blockFetch{kind: DataBlock, cache: o.Cache, blocks: blocks}
	if o.Ahead != nil {
		c.data.ahead = o.Ahead(r, g)
	}
	c.again.from = -1
	c.dec.batch = &c.batch
}

// String names the cursor for messages.
func (c *Cursor) String() string { return fmt.Sprintf("%s, %v", c.r.Name(), c.g) }

// fail makes an error stick: after it the cursor gives nothing until the next Seek, which begins anew.
func (c *Cursor) fail(err error) error {
	c.err, c.done = err, true
	c.path.forget()
	c.found = false
	c.dropBlock()
	return err
}

// Next returns the next batch, nil at the end. It is valid until the cursor's next call.
func (c *Cursor) Next(ctx context.Context) (*tablet.Batch, error) {
	if c.err != nil {
		return nil, c.err
	}
	if c.again.from >= 0 && c.deliverAgain() {
		return &c.out, nil
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
		if len(c.out.Refs) > 0 {
			return &c.out, nil
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
	c.dropBlock()
	raw, cached, err := c.data.get(e.region)
	if err != nil {
		return err
	}
	c.own.reset()
	c.open = openBlock{entries: e.entries, region: e.region, cached: cached}
	c.dec.raw = raw
	return c.enterBlock(&e)
}

// enterBlock sets the decoder into the open block, which is the one that the path is at: to its front, or to a point of
// its index that lies nearer to the start of the range.
func (c *Cursor) enterBlock(e *indexEntry) error {
	c.dec.startBlock(c.dec.raw, e.entries)
	c.open.number, c.open.key, c.positioned = c.path.leaf, e.key, true
	c.checkEnd = c.rng.AfterEnd(&e.key)
	if !c.skipping || c.o.NoBlockIndex {
		return nil
	}
	x := c.blockIndex()
	grew, err := x.visit(c.dec.raw, e.entries, &c.dec.skim)
	if err != nil {
		return c.locate(c.dec.explain())
	}
	if b := c.open.cached; grew && b != nil && b.Grown != nil {
		b.Grown(b)
	}
	c.jump()
	return nil
}

// blockIndex is the open block's index, which a cache keeps or the cursor.
func (c *Cursor) blockIndex() *BlockIndex {
	if c.open.cached != nil {
		return &c.open.cached.Index
	}
	return &c.own
}

// jump moves the decoder on to the last point of the block's index before the range, if one lies ahead.
func (c *Cursor) jump() {
	list := c.blockIndex().list.Load()
	if list == nil || c.o.NoBlockIndex {
		return
	}
	if p := list.before(&c.rng); p != nil && int(p.at) > c.dec.at {
		c.batch.Refs, c.batch.Codes = c.batch.Refs[:0], c.batch.Codes[:0] // what follows them is skipped
		c.dec.resume(list, p)
	}
}

// dropBlock forgets the block in memory and what was decoded of it.
func (c *Cursor) dropBlock() {
	c.open.region, c.open.cached, c.open.key = bcfile.Region{}, nil, tablet.Key{}
	c.batch.Refs, c.batch.Codes, c.positioned = c.batch.Refs[:0], c.batch.Codes[:0], false
}

// closeBlock holds a block that was decoded to its end against the index, and moves to the next one.
func (c *Cursor) closeBlock() error {
	if err := c.dec.checkEnd(&c.open.key); err != nil {
		return c.locate(err)
	}
	c.bound.Assign(&c.open.key)
	c.hasBound, c.positioned = true, false
	more, err := c.path.next()
	c.done, c.ended = !more, !more
	return err
}

// locate gives an error inside a block its place in the file.
func (c *Cursor) locate(err error) error {
	var fe *formatError
	if errors.As(err, &fe) {
		return tablet.Corruptf(c.r.Name(), c.open.region.Offset, "data block %d of %v: %v", c.open.number, c.g, err)
	}
	return err
}

// Close releases the cursor's buffers, or goes home with them. The reader stays open. A second Close does nothing.
func (c *Cursor) Close() error {
	switch {
	case c.data.blocks == nil:
	case c.home != nil:
		c.home.put(c)
	default:
		err := fmt.Errorf("cursor on %s: %w", c, tablet.ErrClosed)
		c.data.close()
		c.path.close()
		*c = Cursor{done: true, err: err}
	}
	return nil
}

package rfile

import (
	"context"
	"errors"
	"sync"

	"millrace/tablet"
	"millrace/tablet/rfile/bcfile"
)

// checkBlocks checks all data blocks, each by itself: a block's first key stands alone, and when the first key of each is
// not below the index key of the block before, and its last one not above its own, then keys ascend across blocks, too.
func (v *verifier) checkBlocks(ctx context.Context) error {
	feed, err := newBlockFeed(ctx, v.r, v.g, func(entries int64) { v.o.Progress(v.before + entries) })
	if err != nil {
		return err
	}
	defer feed.path.close()
	var mu sync.Mutex
	v.o.Spread(func() {
		c := &blockCheck{v: v, blocks: v.r.bc.NewBlockReader()}
		defer c.blocks.Close()
		c.run(feed)
		mu.Lock()
		defer mu.Unlock()
		v.found.add(&c.found)
	})
	return feed.err
}

// blockCheck checks blocks, one after another, with buffers of its own.
type blockCheck struct {
	v      *verifier
	blocks *bcfile.BlockReader
	skim   skim
	found  findings
	key    []byte // of a key that is needed as a whole
}

func (c *blockCheck) run(feed *blockFeed) {
	var portion []leafBlock
	for {
		if portion = feed.next(portion); len(portion) == 0 {
			return
		}
		c.blocks.Expect(portion[len(portion)-1].region.End())
		before := c.found.entries
		for i := range portion {
			b := &portion[i]
			if !feed.report(b, c.check(b)) {
				return
			}
		}
		feed.progress(&c.found, before)
	}
}

// check reads a block and holds all of it against the rules of the format and what the index says.
func (c *blockCheck) check(b *leafBlock) error {
	raw, err := c.blocks.Read(b.region)
	if err != nil {
		return err
	}
	err = c.entries(raw, b)
	var fe *formatError
	if errors.As(err, &fe) {
		return tablet.Corruptf(c.v.r.Name(), b.region.Offset, "data block %d of %v: %v", b.number, c.v.g, err)
	}
	return err
}

func (c *blockCheck) entries(raw []byte, b *leafBlock) error {
	s := &c.skim
	s.open(raw, b.entries)
	if b.entries > 0 {
		if err := c.first(b); err != nil {
			return err
		}
		if err := c.others(); err != nil {
			return err
		}
		if last := c.lastKey(); tablet.Compare(&last, &b.key) > 0 {
			return s.bad("last key %v lies behind the index key %v", last, b.key)
		}
	}
	if n := len(raw) - s.at; n != 0 {
		return s.bad("%d bytes after the last entry", n)
	}
	c.found.entries += int64(b.entries)
	return nil
}

func (c *blockCheck) first(b *leafBlock) error {
	if err := c.skim.firstKey(); err != nil {
		return err
	}
	if b.number == 0 {
		first := c.lastKey()
		c.found.first, c.found.hasFirst = first.Clone(), true
	} else if first := c.lastKey(); tablet.Compare(&first, &b.bound) < 0 {
		return c.skim.bad("first key %v lies before the index key %v of the block before", first, b.bound)
	}
	return c.take(0)
}

func (c *blockCheck) others() error {
	s := &c.skim
	for s.left > 0 {
		if err := s.next(); err != nil {
			return err
		}
		if err := c.take(s.place); err != nil {
			return err
		}
	}
	return nil
}

// take puts the last key into the books. It first differs from the one before at a place.
func (c *blockCheck) take(at place) error {
	s, v := &c.skim, c.v
	if s.deleted {
		c.found.deletes++
	}
	if v.g.Tracked {
		if at >= placeOf(2, 0) && c.found.counter != nil {
			*c.found.counter++ // row and family are those of the entry before
		} else {
			c.found.count(s.fields[1])
		}
	}
	if v.bloom == nil || at >= placeOf(int(v.bloom.functor), 0) {
		return nil
	}
	if k := c.lastKey(); !v.bloom.mayContain(v.bloom.functor.of(&k)) {
		return v.lacks(&k)
	}
	return nil
}

// lastKey is the key decoded last, a view until the next one.
func (c *blockCheck) lastKey() tablet.Key {
	var ends tablet.Ends
	c.key, ends = c.skim.appendKey(c.key[:0])
	return tablet.KeyView(c.key, ends, c.skim.ts, c.skim.deleted)
}

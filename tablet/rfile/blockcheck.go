package rfile

import (
	"context"
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
		c := newBlockCheck(v)
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
	// What the skim has to stop at: a change of what the filter knows of keys, or of the family where those are counted.
	below   place
	changed byte
	hidden  error // the block's first key that the filter lacks
}

func newBlockCheck(v *verifier) *blockCheck {
	c := &blockCheck{v: v, blocks: v.r.bc.NewBlockReader()}
	if v.bloom != nil {
		c.below = placeOf(int(v.bloom.functor), 0)
	}
	if v.g.Tracked {
		c.changed = flagFamSame
	}
	return c
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
	if c.entries(raw, b) {
		return c.hidden
	}
	return c.explain(b)
}

// entries looks at all entries of a block and says whether it is sound.
func (c *blockCheck) entries(raw []byte, b *leafBlock) (sound bool) {
	s := &c.skim
	s.open(raw, b.entries)
	s.deletes, c.hidden = 0, nil
	if b.entries > 0 && !c.keys(b) || s.at != len(raw) {
		return false
	}
	c.found.entries += int64(b.entries)
	c.found.deletes += int64(s.deletes)
	return true
}

func (c *blockCheck) keys(b *leafBlock) (sound bool) {
	s := &c.skim
	if err := s.firstKey(); err != nil {
		return false
	}
	first := c.lastKey()
	if b.number == 0 {
		c.found.first, c.found.hasFirst = first.Clone(), true
	} else if tablet.Compare(&first, &b.bound) < 0 {
		return false
	}
	c.take(0)
	for s.left > 0 {
		before := s.left
		met, err := s.pass(c.below, c.changed, 0)
		if err != nil {
			return false
		}
		passed := before - s.left
		if met {
			passed--
		}
		if c.v.g.Tracked {
			*c.found.counter += int64(passed)
		}
		if met {
			c.take(s.place)
		}
	}
	last := c.lastKey()
	return tablet.Compare(&last, &b.key) <= 0
}

// take puts the last key into the books. It first differs from the one before at a place.
func (c *blockCheck) take(at place) {
	v := c.v
	if v.g.Tracked {
		c.found.count(c.skim.fields[1].view())
	}
	if v.bloom == nil || at >= c.below || c.hidden != nil {
		return
	}
	if k := c.lastKey(); !v.bloom.mayContain(v.bloom.functor.of(&k)) {
		c.hidden = v.lacks(&k)
	}
}

// lastKey is the key decoded last, a view until the next one.
func (c *blockCheck) lastKey() tablet.Key {
	var ends tablet.Ends
	c.key, ends = c.skim.appendKey(c.key[:0])
	return tablet.KeyView(c.key, ends, c.skim.ts, c.skim.deleted())
}

package rfile

import (
	"bytes"
	"context"
	"sort"

	"millrace/tablet"
)

// Seek positions the cursor before the first entry of the range whose family is wanted. The range's keys must stay
// unchanged until the next Seek. A block that is needed is read by Next.
func (c *Cursor) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	if c.data.blocks == nil {
		return c.err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.again.restore(&c.batch)
	if !c.filter.take(f) {
		c.batch.Refs, c.batch.Codes = c.batch.Refs[:0], c.batch.Codes[:0] // others were left out of it
	}
	c.rng, c.families, c.filtered = r, f, !f.All() && !(c.o.Listed && c.r.holdsOnly(c.g, f))
	c.done, c.err = false, nil
	start, hasStart := c.rng.Start()
	c.seeking, c.skipping = true, hasStart
	if f.None() || r.Empty() {
		c.done = true
		return nil
	}
	if hasStart {
		c.target = targetOf(&start)
		if c.inBatch() || c.ahead(&start.Key) {
			return nil
		}
	}
	if denied, err := c.denied(); denied || err != nil {
		c.done = true
		if err != nil {
			return c.fail(err)
		}
		return nil
	}
	if err := c.find(hasStart, &start.Key); err != nil {
		return c.fail(err)
	}
	return nil
}

// denied says whether the file's Bloom filter rules the range out. Nothing is read for a range that it cannot tell of.
func (c *Cursor) denied() (bool, error) {
	if !c.r.hasBloom || c.o.NoBloom {
		return false, nil
	}
	if _, near := functor(1).covers(&c.rng); !near { // the other functors look at more fields
		return false, nil
	}
	b, err := c.r.Bloom()
	return b != nil && !b.MayContain(&c.rng), err
}

// inBatch looks for the start of the range between the entries decoded last. If it lies there, the batch is delivered
// again from that place on, and what follows goes on as it would have.
func (c *Cursor) inBatch() bool {
	n := len(c.batch.Refs)
	if n < 2 || !c.beforeStart(0) || c.beforeStart(n-1) {
		return false
	}
	c.again.from = 1 + sort.Search(n-2, func(i int) bool { return !c.beforeStart(i + 1) })
	c.skipping, c.done = false, c.ended
	c.checkEnd = c.positioned && c.rng.AfterEnd(&c.open.key)
	return true
}

func (c *Cursor) beforeStart(i int) bool {
	key := c.batch.Key(i)
	return c.rng.BeforeStart(&key)
}

// ahead says whether the range begins behind the last key decoded, but in the same block, or in the one that is next
// to be opened: then the cursor goes on from where it stands.
func (c *Cursor) ahead(start *tablet.Key) bool {
	d := &c.dec
	if !c.found || c.ended || !d.hasPrev {
		return false
	}
	if last := d.prevKey(); !c.rng.BeforeStart(&last) {
		return false
	}
	if !c.positioned {
		e, err := c.path.entry()
		return err == nil && tablet.Compare(start, &e.key) <= 0
	}
	if tablet.Compare(start, &c.open.key) > 0 {
		return false
	}
	c.checkEnd = c.rng.AfterEnd(&c.open.key)
	d.fold = 0
	c.jump()
	return true
}

// find moves the index path to the block where the range begins, and into that block if it is the one in memory.
func (c *Cursor) find(hasStart bool, start *tablet.Key) error {
	c.positioned, c.hasBound, c.ended = false, false, false
	c.dec.forget()
	c.batch.Refs, c.batch.Codes = c.batch.Refs[:0], c.batch.Codes[:0]
	var err error
	if !hasStart || c.g.HasFirstKey && tablet.Compare(start, &c.g.FirstKey) <= 0 {
		c.found, err = c.path.first()
	} else {
		c.found, err = c.path.seek(start)
	}
	c.done = !c.found
	if err != nil || !c.found || c.open.region.Stored == 0 {
		return err
	}
	e, err := c.path.entry()
	if err != nil || e.region != c.open.region || e.entries != c.open.entries {
		return err
	}
	return c.enterBlock(&e)
}

// redelivery is what a cursor knows of handing out a batch a second time.
type redelivery struct {
	from    int  // entry of the batch that Next begins with; -1 for none
	past    bool // the batch's last entry lies past the range that it was decoded for
	changed bool // the code of entry at was replaced
	at      int
	code    uint64
}

// restore puts back the code that a seek replaced.
func (a *redelivery) restore(b *tablet.Batch) {
	if a.changed && a.at < len(b.Codes) {
		b.Codes[a.at] = a.code
	}
	a.changed, a.from = false, -1
}

// deliverAgain makes out the part of the batch that lies in the range, and says whether there is any.
func (c *Cursor) deliverAgain() bool {
	lo, hi := c.again.from, len(c.batch.Refs)
	c.again.from = -1
	if _, bounded := c.rng.End(); bounded {
		hi = lo + sort.Search(hi-lo, func(i int) bool {
			key := c.batch.Key(lo + i)
			return c.rng.AfterEnd(&key)
		})
	}
	c.done = c.done || hi < len(c.batch.Refs)
	if lo == hi {
		return false
	}
	c.again.changed, c.again.at, c.again.code = true, lo, c.batch.Codes[lo]
	key := c.batch.Key(lo)
	c.batch.Codes[lo] = c.codeAtStart(&key)
	c.seeking = false
	b := &c.out
	*b = c.batch
	b.Refs, b.Codes = b.Refs[lo:hi:hi], b.Codes[lo:hi:hi]
	b.Facts = tablet.BatchFacts{}
	c.setFacts()
	for i := range b.Refs {
		b.Facts.Deletes = b.Facts.Deletes || b.Refs[i].Deleted
		if i > 0 {
			b.Facts.MaxCode = max(b.Facts.MaxCode, b.Codes[i])
		}
	}
	return true
}

// familySet is a copy of the families of the seek before, whose names belonged to the caller.
type familySet struct {
	names     [][]byte
	inclusive bool
	known     bool
}

// take makes s a copy of f and says whether it was one already.
func (s *familySet) take(f tablet.Families) (same bool) {
	names := f.Names()
	same = s.known && s.inclusive == f.Inclusive() && len(s.names) == len(names)
	for i := 0; same && i < len(names); i++ {
		same = bytes.Equal(s.names[i], names[i])
	}
	if same {
		return true
	}
	s.names = s.names[:0]
	for _, n := range names {
		s.names = append(s.names, bytes.Clone(n))
	}
	s.inclusive, s.known = f.Inclusive(), true
	return false
}

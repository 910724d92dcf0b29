package rfile

import "millrace/tablet"

// fill decodes entries into the batch until it is full or the block is used up.
func (c *Cursor) fill() error {
	d := &c.dec
	d.startBatch()
	c.again.changed = false
	b := &c.batch
	past := false
	if c.skipping {
		ref, found, err := c.skip()
		if err != nil {
			return err
		}
		if !found {
			c.deliver(false)
			return nil
		}
		c.skipping = false
		past = c.keepFound(&ref)
	}
	for d.left > 0 && !past && len(b.Refs) < c.o.BatchEntries && (len(b.Refs) == 0 || len(b.Arena) < maxArenaBytes) {
		looked := c.seeking || c.checkEnd || c.filtered
		if !looked && !d.first {
			if err := d.fill(c.o.BatchEntries - len(b.Refs)); err != nil {
				return err
			}
			break
		}
		atFirst := d.first
		ref := d.slot()
		code, err := d.next(ref)
		if err != nil {
			return err
		}
		if atFirst && c.hasBound {
			if err := c.dec.checkBound(&c.bound); err != nil {
				return err
			}
		}
		if looked {
			var v verdict
			if code, v = c.admit(ref, code); v == unwanted {
				continue
			} else if v == pastRange {
				past = true
				break
			}
		}
		d.keep(ref, code)
	}
	c.deliver(past)
	return nil
}

// skip passes over the block's entries before the range.
func (c *Cursor) skip() (ref tablet.EntryRef, found bool, err error) {
	d := &c.dec
	if d.left > 0 && d.first && d.hasPrev { // the block after one that was read
		if _, err = d.next(&ref); err != nil {
			return ref, false, err
		}
		if c.hasBound {
			if err := c.dec.checkBound(&c.bound); err != nil {
				return ref, false, err
			}
		}
		if key := c.keyOf(&ref); !c.rng.BeforeStart(&key) {
			return ref, true, nil
		}
	}
	if d.left == 0 {
		return ref, false, nil
	}
	return d.skipTo(&c.target)
}

// keepFound takes the first entry at or after the start into the batch, if it is wanted, and says whether it lies past
// the range.
func (c *Cursor) keepFound(ref *tablet.EntryRef) (past bool) {
	code, v := c.admit(ref, 0)
	if v == wanted {
		c.batch.Facts.Deletes = ref.Deleted
		c.batch.Refs, c.batch.Codes = append(c.batch.Refs, *ref), append(c.batch.Codes, code)
	}
	return v == pastRange
}

// deliver makes out the batch without the entry past the range.
func (c *Cursor) deliver(past bool) {
	c.out = c.batch
	if n := len(c.batch.Refs); past && c.again.past {
		c.out.Refs, c.out.Codes = c.batch.Refs[:n-1], c.batch.Codes[:n-1]
	}
	c.setFacts()
}

// setFacts fills in what the entries of out themselves do not say.
func (c *Cursor) setFacts() {
	f, n := &c.out.Facts, len(c.out.Refs)
	f.Block = c.open.number
	f.FirstOf = n > 0 && c.out.Refs[0].At == 0
	f.LastOf = n > 0 && int(c.out.Refs[n-1].End) == len(c.out.Raw)
	f.Encoded = c.r.version >= 7
	f.Contiguous = !c.filtered
}

type verdict uint8

const (
	wanted verdict = iota
	unwanted
	pastRange
)

// admit decides whether an entry belongs to what was asked for, and returns its code against the entry delivered before
// it. One past the range ends the walk; it stays in the batch, undelivered, for the next seek.
func (c *Cursor) admit(ref *tablet.EntryRef, code uint64) (uint64, verdict) {
	key := c.keyOf(ref)
	code = max(code, c.dec.fold)
	accepted := !c.filtered || c.families.Accepts(key.Family())
	if c.checkEnd && c.rng.AfterEnd(&key) {
		c.done, c.again.past = true, accepted
		if accepted {
			c.batch.Refs, c.batch.Codes, c.dec.fold = append(c.batch.Refs, *ref), append(c.batch.Codes, code), 0
		} else {
			c.dec.fold = code
		}
		return 0, pastRange
	}
	if !accepted {
		c.dec.fold = code
		c.compact()
		return 0, unwanted
	}
	c.dec.fold = 0
	if c.seeking {
		c.seeking = false
		return c.codeAtStart(&key), wanted
	}
	return code, wanted
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

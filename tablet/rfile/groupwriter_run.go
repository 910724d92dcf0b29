package rfile

import (
	"sort"

	"millrace/tablet"
)

// appendRun adds a stretch of a batch. An encoded entry depends on nothing but the one before it, so behind the first
// entry the batch's own bytes are right as they are; only what begins a run or a block is encoded, and what may end one
// is looked at entry by entry.
func (g *groupWriter) appendRun(b *tablet.Batch, code uint64, lo, hi int) error {
	if err := g.putBatch(b, code, lo, hi); err != nil || g.pass.from == nil {
		return err
	}
	return g.seal()
}

func (g *groupWriter) putBatch(b *tablet.Batch, code uint64, lo, hi int) error {
	copies := b.Facts.Encoded && b.Facts.Contiguous
	bulk := copies && !g.watched()
	var k heldKey
	var encoded []byte
	for i := lo; i < hi; i++ {
		if bulk && i > lo && g.entries > 0 {
			if n := g.fits(b.Refs[i:hi]); n > 0 {
				if err := g.putRun(b, i, i+n); err != nil {
					return err
				}
				if i += n; i == hi {
					return nil
				}
			}
		}
		switch {
		case !g.any:
			first := b.Key(i)
			g.startGroup(&first)
			code = tablet.CodeOfFirst(&first)
		case i > lo:
			code = b.Codes[i]
			if copies {
				r := &b.Refs[i]
				encoded = b.Raw[r.At:r.End]
			}
		}
		k.viewEntry(b, i)
		same, shared := sharing(code)
		if err := g.put(&k, b.Value(i), same, shared, encoded); err != nil {
			return err
		}
	}
	return nil
}

// sharing says what a code promises: the fields before same are equal, and shared bytes of the field at same.
func sharing(code uint64) (same, shared int) {
	if code < tablet.CodeSameCell {
		return 4, 0
	}
	return tablet.CodeField(code), int(tablet.CodeShared(code))
}

// fits says how many of some entries, which lie back to back, go into the open block before it has to be considered
// whether to cut it: all that begin while it has not passed its size.
func (g *groupWriter) fits(refs []tablet.EntryRef) int {
	room := g.limit() - len(g.block)
	if room < 0 {
		return 0
	}
	from := refs[0].At
	n := len(refs)
	if last := refs[n-1].At; int64(last-from) > int64(room) {
		n = sort.Search(n, func(i int) bool { return int64(refs[i].At-from) > int64(room) })
	}
	if most := maxBlockBytes - int64(len(g.block)); n > 0 && int64(refs[n-1].End-from) > most {
		n = sort.Search(n, func(i int) bool { return int64(refs[i].End-from) > most })
	}
	return n
}

// putRun is put for entries lo to hi of a batch, all of which go into the open block as they stand. Each is in the books
// as if it had come alone.
func (g *groupWriter) putRun(b *tablet.Batch, lo, hi int) error {
	refs := b.Refs[lo:hi]
	m := g.meta
	oldest, newest := m.MinTimestamp, m.MaxTimestamp
	for i := range refs {
		r := &refs[i]
		if int64(r.KeyBytes)+int64(r.End-r.ValueAt) > maxEntryBytes {
			return errEntryBytes(b.Key(lo+i), int(r.End-r.ValueAt))
		}
		oldest, newest = min(oldest, r.Timestamp), max(newest, r.Timestamp)
		g.sizes.add(int(r.KeyBytes))
	}
	if g.g.Tracked || len(g.w.owner) > 0 {
		if err := g.countRun(b, lo, hi); err != nil {
			return err
		}
	}
	if b.Facts.Deletes {
		for i := range refs {
			if refs[i].Deleted {
				m.Deletes++
			}
		}
	}
	m.MinTimestamp, m.MaxTimestamp = oldest, newest
	m.Entries += int64(len(refs))
	g.entries += len(refs)
	g.block = append(g.block, b.Raw[refs[0].At:refs[len(refs)-1].End]...)
	var last heldKey
	last.viewEntry(b, hi-1)
	g.prev.take(&last)
	return nil
}

// countRun is count for entries of a batch. Those that go on with row and family of the one before are counted together.
func (g *groupWriter) countRun(b *tablet.Batch, lo, hi int) error {
	for i := lo; i < hi; {
		same, _ := sharing(b.Codes[i])
		r := &b.Refs[i]
		family := b.Arena[r.KeyAt+r.Ends.Row : r.KeyAt+r.Ends.Family]
		if err := g.count(family, same); err != nil {
			return err
		}
		first := i
		for i++; i < hi && b.Codes[i] < tablet.CodeSameFamily; i++ {
		}
		if g.counter != nil {
			*g.counter += int64(i - first - 1)
		}
	}
	return nil
}

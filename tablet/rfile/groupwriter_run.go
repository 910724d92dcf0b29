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
	bulk := b.Facts.Encoded && !g.watched()
	var k heldKey
	for i := lo; i < hi; i++ {
		stands := i > lo && standsBehind(b, i)
		if stands && bulk && g.entries > 0 {
			if n := g.fits(b.Refs[i:together(b, i, hi)]); n > 0 {
				if err := g.putRun(b, i, i+n); err != nil {
					return err
				}
				if i += n; i == hi {
					return nil
				}
				stands = standsBehind(b, i)
			}
		}
		var encoded []byte
		switch {
		case !g.any:
			first := b.Key(i)
			g.startGroup(&first)
			code = tablet.CodeOfFirst(&first)
		case i > lo:
			code = b.Codes[i]
			if stands {
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

// standsBehind says whether entry i is encoded as what comes behind entry i-1. Entries of families that are not wanted may
// have stood between them.
func standsBehind(b *tablet.Batch, i int) bool {
	return b.Facts.Encoded && (b.Facts.Contiguous || b.Refs[i].At == b.Refs[i-1].End)
}

// together is the end of the entries from i on, up to hi, each of which stands behind the one before it.
func together(b *tablet.Batch, i, hi int) int {
	if b.Facts.Contiguous {
		return hi
	}
	for i++; i < hi && b.Refs[i].At == b.Refs[i-1].End; i++ {
	}
	return i
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
	if int64(len(b.Raw))+int64(len(b.Arena)) > maxEntryBytes { // else no entry can be too large
		for i := range refs {
			if r := &refs[i]; int64(r.KeyBytes)+int64(r.End-r.ValueAt) > maxEntryBytes {
				return errEntryBytes(b.Key(lo+i), int(r.End-r.ValueAt))
			}
		}
	}
	oldest, newest := m.MinTimestamp, m.MaxTimestamp
	for i := range refs {
		ts := refs[i].Timestamp
		oldest, newest = min(oldest, ts), max(newest, ts)
	}
	g.sizes.addAll(refs)
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

// countRun is count for entries of a batch. Those of the family that is being counted are counted together.
func (g *groupWriter) countRun(b *tablet.Batch, lo, hi int) error {
	here := 0
	for i := lo; i < hi; i++ {
		if g.counter != nil {
			if b.Codes[i] < tablet.CodeSameFamily {
				here++
				continue
			}
			if r := &b.Refs[i]; g.g.Tracked && equalShort(g.family, b.Arena[r.KeyAt+r.Ends.Row:r.KeyAt+r.Ends.Family]) {
				here++
				continue
			}
			*g.counter += int64(here)
			here = 0
		}
		r := &b.Refs[i]
		same, _ := sharing(b.Codes[i])
		if err := g.count(b.Arena[r.KeyAt+r.Ends.Row:r.KeyAt+r.Ends.Family], same); err != nil {
			return err
		}
	}
	if g.counter != nil {
		*g.counter += int64(here)
	}
	return nil
}

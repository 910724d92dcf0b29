package rfile

import (
	"encoding/binary"
	"fmt"
	"slices"

	"millrace/tablet"
)

// decoder turns the relative keys of one group's blocks into batches, block after block. It keeps the last key it saw,
// wanted or not, at the front of the batch's arena: relative keys refer to it, and so do codes, across blocks too.
//
// The walk costs no comparison of keys. Which field differs, and where, is what the file stores; the decoder looks only
// at the bytes from there on, which also proves that the keys ascend.
type decoder struct {
	batch *tablet.Batch
	raw   []byte
	at    int // position in raw
	left  int // entries of the block not yet decoded
	// The key decoded last, and the one being decoded, by turns: last is keys[turn]. hasPrev is false before the first one.
	keys    [2]keyPlace
	turn    uint8
	hasPrev bool
	first   bool // the next entry is the first of its block
	// fold is the largest code of the entries skipped since the last one kept: the code of the next one kept is the
	// larger of the two. Source: the max rule of offset-value codes.
	fold uint64
	skim skim
}

// keyPlace is a key whose bytes lie in the batch's arena. As in a heldKey, its parts are stored and loaded one by one.
type keyPlace struct {
	at      uint32
	borders [5]uint32 // of the four fields, from at
	ts      int64
	deleted bool
}

func (p *keyPlace) bytes() uint32 { return p.borders[4] }

func (p *keyPlace) ends() tablet.Ends {
	return tablet.Ends{Row: p.borders[1], Family: p.borders[2], Qualifier: p.borders[3]}
}

// set makes p the place of an entry's key.
func (p *keyPlace) set(at, bytes uint32, ends tablet.Ends, ts int64, deleted bool) {
	p.at, p.ts, p.deleted = at, ts, deleted
	p.borders[1], p.borders[2], p.borders[3], p.borders[4] = ends.Row, ends.Family, ends.Qualifier, bytes
}

// tell stores the key's parts into an entry.
func (p *keyPlace) tell(ref *tablet.EntryRef) {
	ref.KeyAt, ref.KeyBytes = p.at, p.borders[4]
	ref.Ends.Row, ref.Ends.Family, ref.Ends.Qualifier = p.borders[1], p.borders[2], p.borders[3]
	ref.Timestamp, ref.Deleted = p.ts, p.deleted
}

// last is the key decoded last.
func (d *decoder) last() *keyPlace { return &d.keys[d.turn&1] }

// startBlock sets the decoder to the front of a decompressed block of n entries.
func (d *decoder) startBlock(raw []byte, n int) {
	d.raw, d.at, d.left, d.first = raw, 0, n, true
}

// forget drops the last key: the next entry is coded against the empty key.
func (d *decoder) forget() { d.hasPrev, d.fold = false, 0 }

// startBatch empties the batch but for the last key, which it moves to the front of the arena.
func (d *decoder) startBatch() {
	b := d.batch
	n := 0
	if d.hasPrev {
		last := d.last()
		n = copy(b.Arena[:last.bytes()], b.Arena[last.at:last.at+last.bytes()])
		last.at = 0
	}
	b.Refs, b.Codes, b.Arena = b.Refs[:0], b.Codes[:0], b.Arena[:n]
	b.Raw, b.Facts = d.raw, tablet.BatchFacts{}
}

// prevKey is a view of the last key.
func (d *decoder) prevKey() tablet.Key {
	return d.view(d.last())
}

func (d *decoder) view(p *keyPlace) tablet.Key {
	return tablet.KeyView(d.batch.Arena[p.at:p.at+p.bytes()], p.ends(), p.ts, p.deleted)
}

// skipTo passes over the block's entries before the target, from where the decoder stands, and returns the first other
// one, if the block has one. The last key decoded, if there is one, lies before the target, and at least one entry is
// left.
func (d *decoder) skipTo(t *target) (ref tablet.EntryRef, found bool, err error) {
	s := &d.skim
	if d.first {
		s.open(d.raw, d.left)
		before, err := s.first(t)
		if err != nil {
			return ref, false, d.explain()
		}
		found = !before
	} else {
		prev := d.prevKey()
		s.load(d.raw, d.at, d.left, &prev)
	}
	if !found {
		if found, err = s.to(t); err != nil {
			return ref, false, d.explain()
		}
	}
	b := d.batch
	ref.KeyAt = uint32(len(b.Arena))
	b.Arena, ref.Ends = s.appendKey(b.Arena)
	ref.KeyBytes = uint32(len(b.Arena)) - ref.KeyAt
	ref.Timestamp, ref.Deleted, ref.Shared = s.ts, s.deleted(), uint32(s.recorded)
	ref.At, ref.ValueAt, ref.End = uint32(s.start), uint32(s.valueAt), uint32(s.at)
	d.at, d.left, d.first = s.at, s.left, false
	d.last().set(ref.KeyAt, ref.KeyBytes, ref.Ends, ref.Timestamp, ref.Deleted)
	d.hasPrev = true
	return ref, found, nil
}

// explain is what is wrong with the rest of the block, in which a skim found something wrong.
func (d *decoder) explain() error {
	for d.left > 0 {
		d.startBatch()
		if _, err := d.next(new(tablet.EntryRef)); err != nil {
			return err
		}
	}
	return d.bad("not the keys of a block")
}

// checkEnd holds the end of a decoded block against its key in the index.
func (d *decoder) checkEnd(index *tablet.Key) error {
	if n := len(d.raw) - d.at; n != 0 {
		return d.bad("%d bytes after the last entry", n)
	}
	if last := d.prevKey(); tablet.Compare(&last, index) > 0 {
		return d.bad("last key %v lies behind the index key %v", last, *index)
	}
	return nil
}

// checkBound holds a block's first key, decoded last, against the index key of the block before it.
func (d *decoder) checkBound(bound *tablet.Key) error {
	if first := d.prevKey(); tablet.Compare(&first, bound) < 0 {
		return d.bad("first key %v lies before the index key %v of the block before", first, *bound)
	}
	return nil
}

// resume moves the decoder to a point of the block's index.
func (d *decoder) resume(list *blockPoints, p *blockPoint) {
	b := d.batch
	d.last().set(uint32(len(b.Arena)), p.keyBytes, p.ends, p.timestamp, p.deleted)
	b.Arena = append(b.Arena, list.keys[p.keyAt:p.keyAt+p.keyBytes]...)
	d.hasPrev, d.first = true, false
	d.at, d.left = int(p.at), int(p.left)
}

// formatError is a broken rule at a place in the decompressed block.
type formatError struct {
	at   int
	what string
}

func (e *formatError) Error() string { return fmt.Sprintf("byte %d of the block: %s", e.at, e.what) }

func badAt(at int, format string, args ...any) error {
	return &formatError{at: at, what: fmt.Sprintf(format, args...)}
}

func (d *decoder) bad(format string, args ...any) error { return badAt(d.at, format, args...) }

// fill decodes entries into the batch, at most n, while the block has some and the arena is not full. All of them are wanted,
// and none is the first of its block.
func (d *decoder) fill(n int) error {
	b := d.batch
	have := len(b.Refs)
	b.Refs, b.Codes = slices.Grow(b.Refs, n), slices.Grow(b.Codes, n)
	refs, codes := b.Refs[:have+n], b.Codes[:have+n]
	for have < len(refs) && d.left > 0 && (have == 0 || len(b.Arena) < maxArenaBytes) {
		have = d.fillPlain(refs, codes, have)
		if have == len(refs) || d.left == 0 || have > 0 && len(b.Arena) >= maxArenaBytes {
			break
		}
		ref := &refs[have]
		code, err := d.next(ref)
		if err != nil {
			return err
		}
		if have > 0 {
			b.Facts.MaxCode = max(b.Facts.MaxCode, code)
		}
		b.Facts.Deletes = b.Facts.Deletes || ref.Deleted
		codes[have] = code
		have++
	}
	b.Refs, b.Codes = refs[:have], codes[:have]
	return nil
}

// slot is the place behind the batch's last entry, for next to decode into. An entry is not moved after that.
func (d *decoder) slot() *tablet.EntryRef {
	b := d.batch
	n := len(b.Refs)
	b.Refs = slices.Grow(b.Refs, 1)
	return &b.Refs[:n+1][n]
}

// keep takes the entry in the slot into the batch.
func (d *decoder) keep(ref *tablet.EntryRef, code uint64) {
	b := d.batch
	if len(b.Refs) > 0 {
		b.Facts.MaxCode = max(b.Facts.MaxCode, code)
	}
	b.Facts.Deletes = b.Facts.Deletes || ref.Deleted
	b.Refs, b.Codes = b.Refs[:len(b.Refs)+1], append(b.Codes, code)
}

// next decodes one entry behind the last one in the arena. The caller decides whether it joins the batch. The code is
// against the entry before it, kept or not.
//
// Where the decoder stands is kept in a local variable on the way, at: everything waits for it.
func (d *decoder) next(ref *tablet.EntryRef) (code uint64, err error) {
	raw, at := d.raw, d.at
	if at >= len(raw) {
		return 0, d.bad("block ends with %d entries to come", d.left)
	}
	ref.At = uint32(at)
	flags, prefixes := raw[at], byte(0)
	at++
	if flags&flagPrefixes != 0 {
		if at >= len(raw) {
			return 0, badAt(at, "block ends inside a key's flags")
		}
		prefixes = raw[at]
		at++
	}
	if flags&unknownFlags1 != 0 || prefixes&unknownFlags2 != 0 {
		return 0, badAt(at, "unknown key flags %02x %02x", flags, prefixes)
	}
	own := &d.keys[(d.turn^1)&1]
	own.at, own.deleted = uint32(len(d.batch.Arena)), flags&flagDeleted != 0
	if d.first {
		ref.Shared = 0
		code, at, err = d.firstKey(own, flags, at)
	} else {
		code, at, err = d.relativeKey(ref, own, flags, prefixes, at)
	}
	if err != nil {
		return 0, err
	}
	own.tell(ref)
	if len(raw)-at < 4 {
		return 0, badAt(at, "block ends inside a value's length")
	}
	n := binary.BigEndian.Uint32(raw[at:])
	if uint64(n) > uint64(len(raw)-at-4) {
		return 0, badAt(at, "value of %d bytes with %d bytes left", int32(n), len(raw)-at-4)
	}
	ref.ValueAt = uint32(at + 4)
	ref.End = ref.ValueAt + n
	d.at = at + 4 + int(n)
	d.left--
	d.turn ^= 1
	d.hasPrev, d.first = true, false
	return code, nil
}

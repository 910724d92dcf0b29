package rfile

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"millrace/internal/wire"
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
	// prev is the entry decoded last; its bytes are in the batch's arena. hasPrev is false before the first one.
	prev    tablet.EntryRef
	hasPrev bool
	first   bool // the next entry is the first of its block
	// fold is the largest code of the entries skipped since the last one kept: the code of the next one kept is the
	// larger of the two. Source: the max rule of offset-value codes.
	fold uint64
	skim skim
}

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
		n = copy(b.Arena[:d.prev.KeyBytes], b.Arena[d.prev.KeyAt:d.prev.KeyAt+d.prev.KeyBytes])
		d.prev.KeyAt = 0
	}
	b.Refs, b.Codes, b.Arena = b.Refs[:0], b.Codes[:0], b.Arena[:n]
	b.Raw, b.Facts = d.raw, tablet.BatchFacts{}
}

// prevKey is a view of the last key.
func (d *decoder) prevKey() tablet.Key {
	at := d.prev.KeyAt
	return tablet.KeyView(d.batch.Arena[at:at+d.prev.KeyBytes], d.prev.Ends, d.prev.Timestamp, d.prev.Deleted)
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
			return ref, false, err
		}
		found = !before
	} else {
		prev := d.prevKey()
		s.load(d.raw, d.at, d.left, &prev)
	}
	if !found {
		if found, err = s.to(t); err != nil {
			return ref, false, err
		}
	}
	b := d.batch
	ref.KeyAt = uint32(len(b.Arena))
	b.Arena, ref.Ends = s.appendKey(b.Arena)
	ref.KeyBytes = uint32(len(b.Arena)) - ref.KeyAt
	ref.Timestamp, ref.Deleted, ref.Shared = s.ts, s.deleted, uint32(s.recorded)
	ref.At, ref.ValueAt, ref.End = uint32(s.start), uint32(s.valueAt), uint32(s.at)
	d.at, d.left, d.first = s.at, s.left, false
	d.prev, d.hasPrev = ref, true
	return ref, found, nil
}

// resume moves the decoder to a point of the block's index.
func (d *decoder) resume(list *blockPoints, p *blockPoint) {
	b := d.batch
	d.prev = tablet.EntryRef{KeyAt: uint32(len(b.Arena)), KeyBytes: p.keyBytes, Ends: p.ends, Timestamp: p.timestamp, Deleted: p.deleted}
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

// next decodes one entry behind the last one in the arena. The caller decides whether it joins the batch. The code is
// against the entry before it, kept or not.
func (d *decoder) next() (ref tablet.EntryRef, code uint64, err error) {
	if d.at >= len(d.raw) {
		return ref, 0, d.bad("block ends with %d entries to come", d.left)
	}
	ref.At = uint32(d.at)
	flags, prefixes := d.raw[d.at], byte(0)
	d.at++
	if flags&flagPrefixes != 0 {
		if d.at >= len(d.raw) {
			return ref, 0, d.bad("block ends inside a key's flags")
		}
		prefixes = d.raw[d.at]
		d.at++
	}
	if flags&unknownFlags1 != 0 || prefixes&unknownFlags2 != 0 {
		return ref, 0, d.bad("unknown key flags %02x %02x", flags, prefixes)
	}
	ref.Deleted = flags&flagDeleted != 0
	if d.first {
		code, err = d.firstKey(&ref, flags)
	} else {
		code, err = d.relativeKey(&ref, flags, prefixes)
	}
	if err != nil {
		return ref, 0, err
	}
	if len(d.raw)-d.at < 4 {
		return ref, 0, d.bad("block ends inside a value's length")
	}
	n := binary.BigEndian.Uint32(d.raw[d.at:])
	if uint64(n) > uint64(len(d.raw)-d.at-4) {
		return ref, 0, d.bad("value of %d bytes with %d bytes left", int32(n), len(d.raw)-d.at-4)
	}
	ref.ValueAt = uint32(d.at + 4)
	ref.End = ref.ValueAt + n
	d.at = int(ref.End)
	d.left--
	d.prev, d.hasPrev, d.first = ref, true, false
	return ref, code, nil
}

// firstKey decodes the first key of a block, which stands alone, and codes it against the last key of the block before.
func (d *decoder) firstKey(ref *tablet.EntryRef, flags byte) (uint64, error) {
	if flags&relativeFlags != 0 {
		return 0, d.bad("the block's first key has flags %02x, which refer to a key before it", flags)
	}
	b := d.batch
	ref.KeyAt = uint32(len(b.Arena))
	for i := range 4 {
		n, err := d.length()
		if err != nil {
			return 0, err
		}
		b.Arena = append(b.Arena, d.raw[d.at:d.at+n]...)
		d.at += n
		setEnd(ref, i, uint32(len(b.Arena))-ref.KeyAt)
	}
	ref.KeyBytes = uint32(len(b.Arena)) - ref.KeyAt
	if err := d.timestamp(ref, 0); err != nil {
		return 0, err
	}
	key := tablet.KeyView(b.Arena[ref.KeyAt:], ref.Ends, ref.Timestamp, ref.Deleted)
	if !d.hasPrev {
		return tablet.CodeOfFirst(&key), nil
	}
	prev := d.prevKey()
	if tablet.Compare(&prev, &key) > 0 {
		return 0, d.bad("key %v follows %v of the block before", key, prev)
	}
	return tablet.CodeOf(&prev, &key), nil
}

// setEnd records where a field ends, from the key's start. The last field ends where the key does.
func setEnd(ref *tablet.EntryRef, field int, end uint32) {
	switch field {
	case 0:
		ref.Ends.Row = end
	case 1:
		ref.Ends.Family = end
	case 2:
		ref.Ends.Qualifier = end
	}
}

// fieldsOf lists the start and end of each field of a key.
func fieldsOf(r *tablet.EntryRef) [5]uint32 {
	return [5]uint32{0, r.Ends.Row, r.Ends.Family, r.Ends.Qualifier, r.KeyBytes}
}

// relativeKey decodes a key against the last one and returns its code.
//
// The fields flagged the same up to the first one that is not, and the prefix which that one shares, lie back to back in
// the last key: they are one copy.
func (d *decoder) relativeKey(ref *tablet.EntryRef, flags, prefixes byte) (uint64, error) {
	arena := d.batch.Arena
	ref.KeyAt = uint32(len(arena))
	prev := fieldsOf(&d.prev)
	last := arena[d.prev.KeyAt : d.prev.KeyAt+d.prev.KeyBytes]
	differs := bits.TrailingZeros8(^flags&allFieldsSame | 1<<4)
	shared := 0
	if prefixes&(1<<differs)&prefixFields != 0 {
		var err error
		if shared, err = d.prefixLength(int(prev[differs+1] - prev[differs])); err != nil {
			return 0, err
		}
	}
	arena = appendShort(arena, last, int(prev[differs])+shared)
	own := prev
	for i := differs; i < 4; i++ {
		bit := byte(1) << i
		if i > differs {
			keep := last[prev[i]:prev[i+1]]
			switch {
			case flags&bit != 0:
				arena = append(arena, keep...)
			case prefixes&bit != 0:
				n, err := d.prefixLength(len(keep))
				if err != nil {
					return 0, err
				}
				arena = append(arena, keep[:n]...)
			}
		}
		if flags&bit == 0 {
			n, err := d.length()
			if err != nil {
				return 0, err
			}
			arena = appendShort(arena, d.raw[d.at:], n)
			d.at += n
		}
		own[i+1] = uint32(len(arena)) - ref.KeyAt
	}
	ref.Ends = tablet.Ends{Row: own[1], Family: own[2], Qualifier: own[3]}
	ref.KeyBytes = uint32(len(arena)) - ref.KeyAt
	d.batch.Arena = arena
	if err := d.relativeTimestamp(ref, flags, prefixes); err != nil {
		return 0, err
	}
	ref.Shared = uint32(shared)
	return d.code(ref, &prev, &own, differs, shared)
}

// appendShort appends the first n bytes of src, which are few as a rule: then they are copied by two moves of whole words,
// where there is room to read and to write more than is wanted.
func appendShort(dst, src []byte, n int) []byte {
	const most = 16
	at := len(dst)
	if n <= most && len(src) >= most && cap(dst)-at >= most {
		to := dst[at : at+most]
		low, high := binary.NativeEndian.Uint64(src), binary.NativeEndian.Uint64(src[8:most])
		binary.NativeEndian.PutUint64(to, low)
		binary.NativeEndian.PutUint64(to[8:], high)
		return dst[:at+n]
	}
	return append(dst, src[:n]...)
}

// code finds the code of an entry whose first field not flagged as the same is differs, with shared recorded bytes.
// A writer may record less than is shared, even nothing for an equal field, so the bytes behind are looked at; in files
// from Accumulo the first look ends it.
func (d *decoder) code(ref *tablet.EntryRef, prev, own *[5]uint32, differs, shared int) (uint64, error) {
	arena := d.batch.Arena
	for f := differs; f < 4; f++ {
		old := arena[d.prev.KeyAt+prev[f] : d.prev.KeyAt+prev[f+1]]
		now := arena[ref.KeyAt+own[f] : ref.KeyAt+own[f+1]]
		for shared < len(old) && shared < len(now) && old[shared] == now[shared] {
			shared++
		}
		switch {
		case shared < len(now) && (shared == len(old) || old[shared] < now[shared]):
			return tablet.CodeInField(f, uint(shared), now), nil
		case shared < len(old):
			return 0, d.outOfOrder(ref)
		}
		shared = 0
	}
	if ref.Timestamp > d.prev.Timestamp || ref.Timestamp == d.prev.Timestamp && ref.Deleted && !d.prev.Deleted {
		return 0, d.outOfOrder(ref)
	}
	return tablet.CodeInVersion(d.prev.Timestamp, ref.Timestamp, d.prev.Deleted, ref.Deleted), nil
}

func (d *decoder) outOfOrder(ref *tablet.EntryRef) error {
	key := tablet.KeyView(d.batch.Arena[ref.KeyAt:], ref.Ends, ref.Timestamp, ref.Deleted)
	return d.bad("key %v follows %v", key, d.prevKey())
}

// length reads the length of a field and checks it against what is left of the block.
func (d *decoder) length() (int, error) {
	if d.at < len(d.raw) {
		if n := int(int8(d.raw[d.at])); n >= 0 && n < len(d.raw)-d.at {
			d.at++
			return n, nil
		}
	}
	v, n, err := wire.HVLong(d.raw[d.at:])
	if err != nil {
		return 0, d.bad("length of a field: %v", err)
	}
	if v < 0 || v > int64(len(d.raw)-d.at-n) {
		return 0, d.bad("field of %d bytes with %d bytes left", v, len(d.raw)-d.at-n)
	}
	d.at += n
	return int(v), nil
}

// prefixLength reads how many bytes of the previous key's field, had bytes long, are kept.
func (d *decoder) prefixLength(had int) (int, error) {
	v, n, err := d.vlong()
	if err != nil {
		return 0, d.bad("length of a shared prefix: %v", err)
	}
	if v < 0 || v > int64(had) {
		return 0, d.bad("shared prefix of %d bytes, of a field of %d", v, had)
	}
	d.at += n
	return int(v), nil
}

// vlong reads an integer where the decoder is, without moving on.
func (d *decoder) vlong() (int64, int, error) {
	rest := d.raw[d.at:]
	if v, ok := wire.HVLong1(rest); ok {
		return v, 1, nil
	}
	if len(rest) >= wire.MaxHVLongBytes {
		v, n := longHVLong(rest)
		return v, n, nil
	}
	return wire.HVLong(rest)
}

// longHVLong reads an integer of more than one byte, with room for the longest behind its start: eight bytes in one go,
// and those not wanted shifted out. The sign of a timestamp's difference is what nobody can foretell, so it is no branch.
func longHVLong(b []byte) (v int64, bytes int) {
	first := int64(int8(b[0]))
	n := int(-113-first)&7 + 1
	flip := (first + 120) >> 63 // all ones below -120
	return int64(binary.BigEndian.Uint64(b[1:])>>uint(64-8*n)) ^ flip, 1 + n
}

func (d *decoder) timestamp(ref *tablet.EntryRef, base int64) error {
	v, n, err := d.vlong()
	if err != nil {
		return d.bad("timestamp: %v", err)
	}
	d.at += n
	ref.Timestamp = base + v // wraps, as Java's does
	return nil
}

func (d *decoder) relativeTimestamp(ref *tablet.EntryRef, flags, prefixes byte) error {
	switch {
	case flags&flagTSSame != 0:
		ref.Timestamp = d.prev.Timestamp
		return nil
	case prefixes&prefixTS != 0:
		return d.timestamp(ref, d.prev.Timestamp)
	}
	return d.timestamp(ref, 0)
}

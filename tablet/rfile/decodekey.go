package rfile

import (
	"encoding/binary"
	"math/bits"

	"millrace/internal/wire"
	"millrace/tablet"
)

// firstKey decodes the first key of a block, which stands alone, and codes it against the last key of the block before.
// Like all that follow it takes the place of what it reads, and returns the place behind that.
func (d *decoder) firstKey(own *keyPlace, flags byte, at int) (code uint64, end int, err error) {
	if flags&relativeFlags != 0 {
		return 0, at, badAt(at, "the block's first key has flags %02x, which refer to a key before it", flags)
	}
	b := d.batch
	for i := range 4 {
		var n int
		if n, at, err = d.length(at); err != nil {
			return 0, at, err
		}
		b.Arena = append(b.Arena, d.raw[at:at+n]...)
		at += n
		own.borders[i+1] = uint32(len(b.Arena)) - own.at
	}
	if own.ts, at, err = d.timestamp(at); err != nil {
		return 0, at, err
	}
	key := d.view(own)
	if !d.hasPrev {
		return tablet.CodeOfFirst(&key), at, nil
	}
	prev := d.prevKey()
	if tablet.Compare(&prev, &key) > 0 {
		return 0, at, badAt(at, "key %v follows %v of the block before", key, prev)
	}
	return tablet.CodeOf(&prev, &key), at, nil
}

// relativeKey decodes a key against the last one and returns its code.
//
// The fields flagged the same up to the first one that is not, and the prefix which that one shares, lie back to back in
// the last key: they are one copy.
func (d *decoder) relativeKey(ref *tablet.EntryRef, own *keyPlace, flags, prefixes byte, at int) (code uint64, end int, err error) {
	prev, raw, arena := d.last(), d.raw, d.batch.Arena
	last := arena[prev.at : prev.at+prev.bytes()]
	differs := bits.TrailingZeros8(^flags&allFieldsSame | 1<<4)
	shared := 0
	if prefixes&(1<<differs)&prefixFields != 0 {
		if shared, at, err = d.prefixLength(at, int(prev.borders[differs+1]-prev.borders[differs])); err != nil {
			return 0, at, err
		}
	}
	arena = appendShort(arena, last, int(prev.borders[differs])+shared)
	for i := range differs {
		own.borders[i+1] = prev.borders[i+1]
	}
	for i := differs; i < 4; i++ {
		bit := byte(1) << i
		if i > differs && (flags|prefixes)&bit != 0 {
			n := int(prev.borders[i+1] - prev.borders[i])
			if flags&bit == 0 {
				if n, at, err = d.prefixLength(at, n); err != nil {
					return 0, at, err
				}
			}
			if n > 0 {
				arena = appendShort(arena, last[prev.borders[i]:], n)
			}
		}
		if flags&bit == 0 {
			n := 0
			if at < len(raw) && raw[at] < 128 && int(raw[at]) < len(raw)-at {
				n = int(raw[at])
				at++
			} else if n, at, err = d.length(at); err != nil {
				return 0, at, err
			}
			arena = appendShort(arena, raw[at:], n)
			at += n
		}
		own.borders[i+1] = uint32(len(arena)) - own.at
	}
	d.batch.Arena = arena
	switch {
	case flags&flagTSSame != 0:
		own.ts = prev.ts
	default:
		var v int64
		if v, at, err = d.timestamp(at); err != nil {
			return 0, at, err
		}
		if prefixes&prefixTS != 0 {
			v += prev.ts // wraps, as Java's does
		}
		own.ts = v
	}
	ref.Shared = uint32(shared)
	if differs < 4 { // the first look of code
		old, now := last[prev.borders[differs]:prev.borders[differs+1]], arena[own.at+own.borders[differs]:own.at+own.borders[differs+1]]
		if shared < len(now) && (shared == len(old) || old[shared] < now[shared]) {
			return tablet.CodeInField(differs, uint(shared), now), at, nil
		}
	}
	code, ascends := d.code(prev, own, differs, shared)
	if !ascends {
		return 0, at, badAt(at, "key %v follows %v", d.view(own), d.prevKey())
	}
	return code, at, nil
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

// code finds the code of a key whose first field not flagged as the same is differs, with shared recorded bytes, and says
// whether it is not below the one before. A writer may record less than is shared, even nothing for an equal field, so the
// bytes behind are looked at; in files from Accumulo the first look ends it.
func (d *decoder) code(prev, own *keyPlace, differs, shared int) (code uint64, ascends bool) {
	before, key := d.batch.Arena[prev.at:prev.at+prev.bytes()], d.batch.Arena[own.at:]
	for f := differs; f < 4; f++ {
		old, now := before[prev.borders[f]:prev.borders[f+1]], key[own.borders[f]:own.borders[f+1]]
		for shared < len(old) && shared < len(now) && old[shared] == now[shared] {
			shared++
		}
		switch {
		case shared < len(now) && (shared == len(old) || old[shared] < now[shared]):
			return tablet.CodeInField(f, uint(shared), now), true
		case shared < len(old):
			return 0, false
		}
		shared = 0
	}
	if own.ts > prev.ts || own.ts == prev.ts && own.deleted && !prev.deleted {
		return 0, false
	}
	return tablet.CodeInVersion(prev.ts, own.ts, prev.deleted, own.deleted), true
}

// length reads the length of a field and checks it against what is left of the block.
func (d *decoder) length(at int) (length, end int, err error) {
	v, n, err := wire.HVLong(d.raw[at:])
	if err != nil {
		return 0, at, badAt(at, "length of a field: %v", err)
	}
	if v < 0 || v > int64(len(d.raw)-at-n) {
		return 0, at, badAt(at, "field of %d bytes with %d bytes left", v, len(d.raw)-at-n)
	}
	return int(v), at + n, nil
}

// prefixLength reads how many bytes of the previous key's field, had bytes long, are kept.
func (d *decoder) prefixLength(at, had int) (length, end int, err error) {
	if at < len(d.raw) && d.raw[at] < 128 && int(d.raw[at]) <= had {
		return int(d.raw[at]), at + 1, nil
	}
	v, n, err := wire.HVLong(d.raw[at:])
	if err != nil {
		return 0, at, badAt(at, "length of a shared prefix: %v", err)
	}
	if v < 0 || v > int64(had) {
		return 0, at, badAt(at, "shared prefix of %d bytes, of a field of %d", v, had)
	}
	return int(v), at + n, nil
}

// timestamp reads a timestamp, or the difference from one.
func (d *decoder) timestamp(at int) (v int64, end int, err error) {
	rest := d.raw[at:]
	if v, ok := wire.HVLong1(rest); ok {
		return v, at + 1, nil
	}
	n := 0
	if len(rest) >= wire.MaxHVLongBytes {
		v, n = longHVLong(rest)
		return v, at + n, nil
	}
	if v, n, err = wire.HVLong(rest); err != nil {
		return 0, at, badAt(at, "timestamp: %v", err)
	}
	return v, at + n, nil
}

// longHVLong reads an integer of more than one byte, with room for the longest behind its start: eight bytes in one go,
// and those not wanted shifted out. The sign of a timestamp's difference is what nobody can foretell, so it is no branch.
func longHVLong(b []byte) (v int64, bytes int) {
	first := int64(int8(b[0]))
	n := int(-113-first)&7 + 1
	flip := (first + 120) >> 63 // all ones below -120
	return int64(binary.BigEndian.Uint64(b[1:])>>uint(64-8*n)) ^ flip, 1 + n
}

package rfile

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"millrace/internal/wire"
	"millrace/tablet"
)

// Nearly all entries are plain: no field's new bytes, and no prefix it shares, are as long as its length's second byte
// would allow, and the first field that differs does so where its prefix ends. They are decoded in one loop without a call
// an entry; whatever is not plain is left to next, which decodes all and has an answer for all that is wrong.
const (
	mostPlainBytes = 127 // of a field's length that is one byte
	plainStep      = 16  // bytes moved at once, of which some may be too many

	// plainRaw is how far behind its start a plain entry is looked at, value left out: flags, two lengths and the bytes of
	// four fields, the timestamp and the value's length; and the last step.
	plainRaw = 2 + 4*(2+mostPlainBytes) + wire.MaxHVLongBytes + 4 + plainStep
	// plainGrowth is how much longer than the key before a plain key may be, and the last step.
	plainGrowth = 4*mostPlainBytes + plainStep
)

// fillPlain decodes plain entries, none of which is the first of its block, into refs and codes from have on, and returns
// how many there are then. It stops before an entry that is not plain, or that begins near the end of the block.
//
// It is one function because a call costs as much as a field, and because where an entry's parts lie is a chain of lengths,
// each of which has to be loaded before the next is found. Lengths that are as a rule those of the entry before, a field's
// and the value's, are therefore not used but compared with what was foreseen: the processor goes on meanwhile.
func (d *decoder) fillPlain(refs []tablet.EntryRef, codes []uint64, have int) int {
	b := d.batch
	raw, at, arena := d.raw, d.at, b.Arena
	last := len(raw) - plainRaw // where an entry may begin
	prev, own := &d.keys[d.turn&1], &d.keys[(d.turn^1)&1]
	most, deleted := b.Facts.MaxCode, byte(0)
	stop := min(len(refs), have+d.left)
	codes = codes[:len(refs)]
	first, valueBytes := have, uint32(0)
	for have < stop && at <= last && len(arena) < maxArenaBytes {
		if n := int(prev.borders[4]) + plainGrowth; cap(arena)-len(arena) < n {
			arena = slices.Grow(arena, n)
		}
		buf := arena[:cap(arena)]
		ref := &refs[have]
		flags, prefixes, i := raw[at], byte(0), at+1
		if flags&flagPrefixes != 0 {
			prefixes = raw[i]
			i++
		}
		if flags&unknownFlags1|prefixes&unknownFlags2 != 0 {
			break
		}
		// The first field that differs, with what comes before it.
		differs := bits.TrailingZeros8(^flags&allFieldsSame | 1<<4)
		shared, plain := 0, true
		if prefixes>>differs&1 != 0 && differs < 4 {
			shared = int(raw[i])
			i++
			plain = shared <= mostPlainBytes && shared <= int(prev.borders[differs+1]-prev.borders[differs])
		}
		to, from := len(arena), int(prev.at)
		own.at = uint32(to)
		n := int(prev.borders[differs]) + shared
		if !plain {
			break
		}
		move(buf, to, buf, from, n)
		to += n
		for f := range differs {
			own.borders[f+1] = prev.borders[f+1]
		}
		var code uint64
		if differs < 4 {
			n = int(raw[i])
			i++
			if n-1 >= mostPlainBytes || n == 0 {
				break
			}
			// The bytes at which they part say whether the keys ascend.
			if was := int(prev.borders[differs]) + shared; was < int(prev.borders[differs+1]) && buf[from+was] >= raw[i] {
				break
			}
			move(buf, to, raw, i, n)
			to += n
			i += n
			start := int(own.at + own.borders[differs])
			own.borders[differs+1] = uint32(to) - own.at
			code = tablet.CodeInField(differs, uint(shared), buf[start:to])
		}
		for f := differs + 1; f < 4; f++ {
			bit := byte(1) << f
			was := int(prev.borders[f+1] - prev.borders[f])
			if (flags|prefixes)&bit != 0 {
				n := was
				if flags&bit == 0 {
					n = int(raw[i])
					i++
					if plain = n <= min(was, mostPlainBytes); !plain {
						break
					}
				}
				move(buf, to, buf, from+int(prev.borders[f]), n)
				to += n
			}
			if flags&bit == 0 {
				if n := int(raw[i]); n != was { // not as foreseen
					if plain = n <= mostPlainBytes; !plain {
						break
					}
					was = n
				}
				i++
				move(buf, to, raw, i, was)
				to += was
				i += was
			}
			own.borders[f+1] = uint32(to) - own.at
		}
		if !plain {
			break
		}
		ts := prev.ts
		if flags&flagTSSame == 0 {
			v := int64(int8(raw[i]))
			if v >= -112 {
				i++
			} else {
				v, n = longHVLong(raw[i:])
				i += n
			}
			if prefixes&prefixTS != 0 {
				v += ts // wraps, as Java's does
			}
			ts = v
		}
		own.ts, own.deleted = ts, flags&flagDeleted != 0
		if differs == 4 {
			if ts > prev.ts || ts == prev.ts && own.deleted && !prev.deleted {
				break
			}
			code = tablet.CodeInVersion(prev.ts, ts, prev.deleted, own.deleted)
		}
		valueAt := i + 4
		if n := binary.BigEndian.Uint32(raw[i:]); n != valueBytes { // not as foreseen
			if uint64(n) > uint64(len(raw)-valueAt) {
				break
			}
			valueBytes = n
		} else if uint64(n) > uint64(len(raw)-valueAt) {
			break
		}
		arena = buf[:to]
		own.tell(ref)
		ref.Shared = uint32(shared)
		ref.At, ref.ValueAt, ref.End = uint32(at), uint32(valueAt), uint32(valueAt)+valueBytes
		at = valueAt + int(valueBytes)
		codes[have] = code
		if have > 0 {
			most = max(most, code)
		}
		deleted |= flags
		have++
		prev, own = own, prev
	}
	d.at, d.left, d.turn = at, d.left-(have-first), d.turn^uint8(have-first)&1
	b.Arena, b.Facts.MaxCode = arena, most
	b.Facts.Deletes = b.Facts.Deletes || deleted&flagDeleted != 0
	return have
}

// move copies n bytes in steps, the last of which moves more than is wanted.
func move(dst []byte, to int, src []byte, from, n int) {
	for ; n > 0; n -= plainStep {
		*(*[plainStep]byte)(dst[to : to+plainStep]) = *(*[plainStep]byte)(src[from : from+plainStep])
		to += plainStep
		from += plainStep
	}
}

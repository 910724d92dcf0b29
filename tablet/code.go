package tablet

import (
	"encoding/binary"
	"math/bits"
)

// A code is the offset-value code of a key against an earlier (smaller or equal) key, its base. Codes against one base
// order as the keys do, unless they are equal; then the keys must be looked at from the code's chunk on.
//
//	63–61  6 − f, f the first differing field: 0 row, 1 family, 2 qualifier, 3 visibility, 4 timestamp, 5 delete flag
//	60–51  1023 − c, c the chunk of that field in which the first difference lies; chunks are 5 bytes, c saturates
//	50–11  the chunk's bytes, big-endian, zero-padded
//	10–8   how many of the five bytes exist
//	7–0    zero here; a merge keeps the source's rank there
//
// The whole code 0 is a duplicate. The chunk is taken at a multiple of five, never at the exact difference: after a
// comparison that was decided inside the chunk, the loser's offset would be too small and later comparisons reversed.
//
// Source: Graefe and Do, Offset-value coding in database query processing; chunks so that a code fits a word.

// Codes below these bounds say how much a key shares with its base.
const (
	CodeSameCell      uint64 = 3 << 61
	CodeSameQualifier uint64 = 4 << 61 // row, family and qualifier
	CodeSameFamily    uint64 = 5 << 61 // row and family
	CodeSameRow       uint64 = 6 << 61
)

const (
	fieldRow uint = iota
	fieldFamily
	fieldQualifier
	fieldVisibility
	fieldTimestamp
	fieldDeleted

	codeChunkBytes = 5
	codeChunkMax   = 1023
)

// CodeOf returns the code of k against base. It wants base <= k in key order.
func CodeOf(base, k *Key) uint64 {
	if f, shared, differs := firstDifference(base, k); differs {
		return bytesCode(f, shared, k.field(f))
	}
	return versionCode(base.ts, k.ts, base.deleted, k.deleted)
}

// CodeOfFirst returns the code of k against the empty key: the base of everything that has no earlier key.
func CodeOfFirst(k *Key) uint64 { return bytesCode(fieldRow, 0, k.Row()) }

// CodeInField returns the code of a key whose first difference from its base lies in the given field (0 row … 3
// visibility) after shared bytes. field is the key's own value of it.
func CodeInField(f int, shared uint, field []byte) uint64 { return bytesCode(uint(f), shared, field) }

// CodeInVersion returns the code of a key of its base's cell.
func CodeInVersion(baseTS, ts int64, baseDeleted, deleted bool) uint64 {
	return versionCode(baseTS, ts, baseDeleted, deleted)
}

// CodeField is the first differing field of a code that is not 0: 0 row … 3 visibility, 4 timestamp, 5 delete flag.
func CodeField(code uint64) int { return 6 - int(code>>61) }

// CodeShared is a lower bound for the bytes of the first differing field that are shared with the base.
func CodeShared(code uint64) uint {
	return (codeChunkMax - uint(code>>51)&codeChunkMax) * codeChunkBytes
}

// firstDifference finds the byte field in which two keys first differ, and how many of its leading bytes they share.
// Keys of equal data may still differ by where their fields end: then the shorter field decides, at its end.
func firstDifference(a, b *Key) (f, shared uint, differs bool) { return firstDifferenceFrom(a, b, 0) }

// firstDifferenceFrom is firstDifference of keys whose first bytes are known to be equal, and that have the fields that
// end in them alike.
func firstDifferenceFrom(a, b *Key, from uint32) (f, shared uint, differs bool) {
	at := from + uint32(CommonPrefix(a.data[from:], b.data[from:]))
	if end := min(a.ends.Row, b.ends.Row); at < end || a.ends.Row != b.ends.Row {
		return fieldRow, uint(min(at, end)), true
	}
	if end := min(a.ends.Family, b.ends.Family); at < end || a.ends.Family != b.ends.Family {
		return fieldFamily, uint(min(at, end) - a.ends.Row), true
	}
	if end := min(a.ends.Qualifier, b.ends.Qualifier); at < end || a.ends.Qualifier != b.ends.Qualifier {
		return fieldQualifier, uint(min(at, end) - a.ends.Family), true
	}
	if int(at) < len(a.data) || int(at) < len(b.data) {
		return fieldVisibility, uint(at - a.ends.Qualifier), true
	}
	return 0, 0, false
}

func (k *Key) field(f uint) []byte {
	switch f {
	case fieldRow:
		return k.Row()
	case fieldFamily:
		return k.Family()
	case fieldQualifier:
		return k.Qualifier()
	}
	return k.Visibility()
}

func bytesCode(f, shared uint, field []byte) uint64 {
	c := min(shared/codeChunkBytes, codeChunkMax)
	at := c * codeChunkBytes
	head := uint64(6-f)<<61 | uint64(codeChunkMax-c)<<51
	if at+8 <= uint(len(field)) { // five bytes and three more to throw away
		return head | binary.BigEndian.Uint64(field[at:])>>24<<11 | codeChunkBytes<<8
	}
	var v uint64
	n := uint(0)
	for ; n < codeChunkBytes && at+n < uint(len(field)); n++ {
		v |= uint64(field[at+n]) << (32 - 8*n)
	}
	return head | v<<11 | uint64(n)<<8
}

func versionCode(baseTS, ts int64, baseDeleted, deleted bool) uint64 {
	if baseTS != ts {
		const sign = 1 << 63
		a, b := ^(uint64(baseTS) ^ sign), ^(uint64(ts) ^ sign)
		head := uint64(6-fieldTimestamp) << 61
		if bits.LeadingZeros64(a^b) < 8*codeChunkBytes {
			return head | codeChunkMax<<51 | b>>24<<11 | codeChunkBytes<<8
		}
		return head | (codeChunkMax-1)<<51 | (b&0xffffff)<<16<<11 | 3<<8
	}
	if baseDeleted != deleted { // the base sorts first, so it is the marker
		return uint64(6-fieldDeleted)<<61 | codeChunkMax<<51 | 1<<32<<11 | 1<<8
	}
	return 0
}

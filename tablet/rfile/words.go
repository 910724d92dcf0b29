package rfile

import (
	"encoding/binary"
	"math/bits"

	"millrace/internal/wire"
)

// Keys and values are a few words long as a rule. What follows moves and compares them by words in place, which is
// quicker than the calls that are made for any length.

const (
	// mostHeaderBytes is the most that an entry takes beside its key's and value's bytes: flags, two lengths for each
	// field, the timestamp and the value's length.
	mostHeaderBytes = 2 + 9*wire.MaxHVLongBytes + 4
	// wordSlack is how far behind its end putShort and putHVLong may store.
	wordSlack = 8
)

// putShort copies src to the front of dst, which has wordSlack bytes more of room.
func putShort(dst, src []byte) {
	n := len(src)
	if n < 8 || n > 16 {
		copy(dst, src)
		return
	}
	low, high := binary.NativeEndian.Uint64(src), binary.NativeEndian.Uint64(src[n-8:])
	binary.NativeEndian.PutUint64(dst, low)
	binary.NativeEndian.PutUint64(dst[n-8:], high)
}

// equalShort says whether two fields are equal.
func equalShort(a, b []byte) bool {
	n := len(a)
	if n != len(b) {
		return false
	}
	if n < 8 || n > 16 {
		return string(a) == string(b)
	}
	return binary.NativeEndian.Uint64(a) == binary.NativeEndian.Uint64(b) &&
		binary.NativeEndian.Uint64(a[n-8:]) == binary.NativeEndian.Uint64(b[n-8:])
}

// putHVLong is wire.AppendHVLong into a buffer with room for the longest form, from at on. It returns where the integer
// ends.
func putHVLong(buf []byte, at int, v int64) int {
	if v >= -112 && v <= 127 {
		buf[at] = byte(v)
		return at + 1
	}
	return putLongHVLong(buf, at, v)
}

// putLongHVLong stores an integer of more than one byte: eight bytes in one go, of which those behind its end do not
// count. The sign of a timestamp's difference is what nobody can foretell, so it is no branch.
func putLongHVLong(buf []byte, at int, v int64) int {
	flip := v >> 63 // all ones below 0
	magnitude := uint64(v ^ flip)
	n := (bits.Len64(magnitude|1) + 7) / 8
	buf[at] = byte(-112 - n + int(flip)&-8)
	binary.BigEndian.PutUint64(buf[at+1:], magnitude<<uint(64-8*n))
	return at + 1 + n
}

// commonFrom is how many leading bytes two fields share, of which n are known to be equal.
func commonFrom(a, b []byte, n int) int {
	most := min(len(a), len(b))
	for ; n+8 <= most; n += 8 {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
	}
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}

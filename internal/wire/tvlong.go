package wire

import (
	"fmt"
	"math/bits"
)

// MaxTVLongBytes is the most bytes that AppendTVLong adds.
const MaxTVLongBytes = 9

// AppendTVLong appends v as TFile's variable-length integer.
//
//	first byte, signed
//	-32 … 127      the value itself
//	-72 … -33      (b + 52)·2^8  + 1 byte
//	-104 … -73     (b + 88)·2^16 + 2 bytes
//	-120 … -105    (b + 112)·2^24 + 3 bytes
//	-125 … -121    n = b + 129 bytes follow (4 … 8): the value, signed, big-endian
//	-128 … -126    invalid
//
// Source: Hadoop TFile Utils.writeVLong.
func AppendTVLong(dst []byte, v int64) []byte {
	switch {
	case v >= -32 && v <= 127:
		return append(dst, byte(v))
	case v >= -20<<8 && v < 20<<8:
		return append(dst, byte((v>>8)-52), byte(v))
	case v >= -16<<16 && v < 16<<16:
		return append(dst, byte((v>>16)-88), byte(v>>8), byte(v))
	case v >= -8<<24 && v < 8<<24:
		return append(dst, byte((v>>24)-112), byte(v>>16), byte(v>>8), byte(v))
	}
	// A signed number needs one bit more than its magnitude.
	magnitude := uint64(v)
	if v < 0 {
		magnitude = ^magnitude
	}
	n := max(4, bits.Len64(magnitude)/8+1)
	dst = append(dst, byte(n-129))
	return appendBigEndian(dst, uint64(v), n)
}

// TVLong decodes the integer at the front of b. Forms longer than needed are accepted, as Hadoop does.
func TVLong(b []byte) (v int64, n int, err error) {
	if len(b) > 0 && int8(b[0]) >= -32 {
		return int64(int8(b[0])), 1, nil
	}
	return tvLong(b)
}

func tvLong(b []byte) (int64, int, error) {
	if len(b) == 0 {
		return 0, 0, ErrShort
	}
	first := int64(int8(b[0]))
	var high int64 // what the first byte adds to the value, before it is shifted over the following bytes
	var n int      // following bytes
	switch {
	case first >= -32:
		return first, 1, nil
	case first >= -72:
		high, n = first+52, 1
	case first >= -104:
		high, n = first+88, 2
	case first >= -120:
		high, n = first+112, 3
	case first >= -125:
		n = int(first) + 129
	default:
		return 0, 0, fmt.Errorf("%w: integer starts with byte %02x", ErrMalformed, b[0])
	}
	if len(b) <= n {
		return 0, 0, ErrShort
	}
	low := bigEndian(b[1 : 1+n])
	if n >= 4 {
		unused := 64 - 8*n
		return int64(low<<unused) >> unused, 1 + n, nil
	}
	return high<<(8*n) | int64(low), 1 + n, nil
}

// TVLong1 decodes the one-byte form alone, inlined; ok is false when b is empty or holds a longer form.
func TVLong1(b []byte) (v int64, ok bool) {
	if len(b) == 0 || int8(b[0]) < -32 {
		return 0, false
	}
	return int64(int8(b[0])), true
}

// AppendTVInt appends v, which must fit 32 bits, as a TVLong.
func AppendTVInt(dst []byte, v int) []byte { return AppendTVLong(dst, int64(v)) }

// TVInt decodes a TVLong whose value must fit 32 bits.
func TVInt(b []byte) (v, n int, err error) {
	if len(b) > 0 && int8(b[0]) >= -32 {
		return int(int8(b[0])), 1, nil
	}
	return tvInt(b)
}

func tvInt(b []byte) (int, int, error) {
	v, n, err := tvLong(b)
	return narrow(v, n, err)
}

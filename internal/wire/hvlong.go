package wire

import (
	"fmt"
	"math"
	"math/bits"
)

// MaxHVLongBytes is the most bytes that AppendHVLong adds.
const MaxHVLongBytes = 9

// AppendHVLong appends v as Hadoop's variable-length integer.
//
//	first byte, signed
//	-112 … 127     the value itself
//	-113 … -120    n = -112 - b bytes follow: the value, big-endian
//	-121 … -128    n = -120 - b bytes follow: the ones' complement of a negative value
//
// Source: Hadoop WritableUtils.writeVLong.
func AppendHVLong(dst []byte, v int64) []byte {
	if v >= -112 && v <= 127 {
		return append(dst, byte(v))
	}
	magnitude, first := uint64(v), -112
	if v < 0 {
		magnitude, first = ^magnitude, -120
	}
	n := (bits.Len64(magnitude|1) + 7) / 8
	dst = append(dst, byte(first-n))
	return appendBigEndian(dst, magnitude, n)
}

// HVLongSize returns the number of bytes that AppendHVLong adds for v.
func HVLongSize(v int64) int {
	if v >= -112 && v <= 127 {
		return 1
	}
	return hvLongSize(v)
}

func hvLongSize(v int64) int {
	magnitude := uint64(v)
	if v < 0 {
		magnitude = ^magnitude
	}
	return 1 + (bits.Len64(magnitude|1)+7)/8
}

// HVLong decodes the integer at the front of b. Forms longer than needed are accepted, as Hadoop does.
func HVLong(b []byte) (v int64, n int, err error) {
	if len(b) > 0 && int8(b[0]) >= -112 {
		return int64(int8(b[0])), 1, nil
	}
	return hvLong(b)
}

func hvLong(b []byte) (int64, int, error) {
	if len(b) == 0 {
		return 0, 0, ErrShort
	}
	first := int(int8(b[0]))
	n := -112 - first
	if first < -120 {
		n = -120 - first
	}
	if len(b) <= n {
		return 0, 0, ErrShort
	}
	v := int64(bigEndian(b[1 : 1+n]))
	if first < -120 {
		v = ^v
	}
	return v, 1 + n, nil
}

// HVLong1 decodes the one-byte form alone; ok is false when b is empty or holds a longer form. The compiler inlines it,
// which it does not do for HVLong, so that loops over short lengths try it first.
func HVLong1(b []byte) (v int64, ok bool) {
	if len(b) == 0 || int8(b[0]) < -112 {
		return 0, false
	}
	return int64(int8(b[0])), true
}

// HVInt decodes an HVLong whose value must fit 32 bits, as Hadoop demands.
func HVInt(b []byte) (v, n int, err error) {
	if len(b) > 0 && int8(b[0]) >= -112 {
		return int(int8(b[0])), 1, nil
	}
	return hvInt(b)
}

func hvInt(b []byte) (int, int, error) {
	v, n, err := hvLong(b)
	return narrow(v, n, err)
}

func narrow(v int64, n int, err error) (int, int, error) {
	if err != nil {
		return 0, 0, err
	}
	if v < math.MinInt32 || v > math.MaxInt32 {
		return 0, 0, fmt.Errorf("%w: %d does not fit 32 bits", ErrMalformed, v)
	}
	return int(v), n, nil
}

// appendBigEndian appends the low n bytes of v, the most significant first.
func appendBigEndian(dst []byte, v uint64, n int) []byte {
	for shift := (n - 1) * 8; shift >= 0; shift -= 8 {
		dst = append(dst, byte(v>>shift))
	}
	return dst
}

// bigEndian reads at most 8 bytes as an unsigned number.
func bigEndian(b []byte) uint64 {
	var v uint64
	for _, c := range b {
		v = v<<8 | uint64(c)
	}
	return v
}

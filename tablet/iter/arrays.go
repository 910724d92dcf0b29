package iter

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"millrace/internal/wire"
)

func init() {
	Register("SummingArrayCombiner", func() Iterator { return NewCombiner(&arrayReducer{}) })
}

// arrayReducer sums arrays of 64-bit numbers, element by element; the elements that an array lacks count as 0. It is
// SummingArrayCombiner.
//
// Option: type. STRING is decimal numbers separated by commas. VARLEN is the count and the numbers as Hadoop's
// variable-length integers, FIXEDLEN that count and 8 bytes a number, big-endian.
// Source: Accumulo SummingArrayCombiner.
type arrayReducer struct {
	numbers numberType
	sums    []int64
	one     []int64 // of the value being added
}

func (a *arrayReducer) Describe() Description {
	return Description{
		What:    "sums arrays of 64-bit numbers element by element, stopping at the limits",
		Options: []Option{{Name: typeOption, Value: "STRING|FIXEDLEN|VARLEN", Required: true, What: "numbers separated by commas; or a count and numbers of 8 bytes or of variable length"}},
	}
}

func (a *arrayReducer) Init(opts map[string]string, _ Env) (err error) {
	a.numbers, err = parseNumberType(opts[typeOption])
	return err
}

func (a *arrayReducer) Reset() { a.sums = a.sums[:0] }

func (a *arrayReducer) Add(value []byte) (err error) {
	if a.numbers == decimalText {
		a.one, err = decodeList(a.one[:0], value)
	} else {
		a.one, err = decodeArray(a.one[:0], value, a.numbers)
	}
	if err != nil {
		return err
	}
	for i, v := range a.one {
		if i == len(a.sums) {
			a.sums = append(a.sums, a.one[i:]...)
			break
		}
		a.sums[i] = addSaturating(a.sums[i], v)
	}
	return nil
}

func (a *arrayReducer) Append(dst []byte) []byte {
	if a.numbers != decimalText {
		dst = wire.AppendHVLong(dst, int64(len(a.sums)))
	}
	for i, v := range a.sums {
		if i > 0 && a.numbers == decimalText {
			dst = append(dst, ',')
		}
		dst = a.numbers.encode(dst, v)
	}
	return dst
}

// decodeList appends numbers in text. An empty one is 0, but empty ones at the end do not count: "" is [0], "1,,2" is
// [1 0 2], "1,," is [1], "," is []. Java's String.split does so.
func decodeList(dst []int64, value []byte) ([]int64, error) {
	if len(value) == 0 {
		return append(dst, 0), nil
	}
	value = bytes.TrimRight(value, ",")
	for len(value) > 0 {
		text, rest, _ := bytes.Cut(value, []byte{','})
		var v int64
		if len(text) > 0 {
			var err error
			if v, err = decimalText.decode(text); err != nil {
				return dst, err
			}
		}
		dst, value = append(dst, v), rest
	}
	return dst, nil
}

// decodeArray appends counted numbers. It takes memory for numbers that are there, whatever the count says.
func decodeArray(dst []int64, value []byte, t numberType) ([]int64, error) {
	count, n, err := wire.HVInt(value)
	if err != nil || count < 0 {
		return dst, fmt.Errorf("value %q does not start with a count", value)
	}
	rest := value[n:]
	for i := range count {
		var v int64
		switch {
		case t == fixedBytes && len(rest) >= 8:
			v, rest = int64(binary.BigEndian.Uint64(rest)), rest[8:]
		case t == fixedBytes:
			return dst, fmt.Errorf("value %q ends in number %d of %d", value, i, count)
		default:
			if v, n, err = wire.HVLong(rest); err != nil {
				return dst, fmt.Errorf("value %q ends in number %d of %d", value, i, count)
			}
			rest = rest[n:]
		}
		dst = append(dst, v)
	}
	if len(rest) > 0 {
		return dst, fmt.Errorf("value %q has %d bytes behind its %d numbers", value, len(rest), count)
	}
	return dst, nil
}

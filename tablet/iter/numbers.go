package iter

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"millrace/internal/nearest"
	"millrace/internal/wire"
)

// numberType is how a combiner's values hold 64-bit numbers.
type numberType uint8

const (
	decimalText numberType = iota // STRING
	fixedBytes                    // FIXEDLEN: 8 bytes, big-endian
	varBytes                      // VARLEN: Hadoop's variable-length integer
)

var numberTypes = []string{decimalText: "STRING", fixedBytes: "FIXEDLEN", varBytes: "VARLEN"}

func parseNumberType(text string) (numberType, error) {
	i := slices.Index(numberTypes, text)
	if i < 0 {
		why := fmt.Sprintf("want one of %s; nearest is %q", strings.Join(numberTypes, ", "), nearest.Name(text, numberTypes))
		return 0, OptionError(typeOption, text, why)
	}
	return numberType(i), nil
}

// decode reads a value; all of it must be the number.
func (t numberType) decode(value []byte) (int64, error) {
	switch t {
	case decimalText:
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("value %q is not a decimal number of 64 bits", value)
		}
		return n, nil
	case fixedBytes:
		if len(value) != 8 {
			return 0, fmt.Errorf("value %q has %d bytes, not 8", value, len(value))
		}
		return int64(binary.BigEndian.Uint64(value)), nil
	}
	n, used, err := wire.HVLong(value)
	if err != nil || used != len(value) {
		return 0, fmt.Errorf("value %q is not a variable-length number", value)
	}
	return n, nil
}

// encode appends a number.
func (t numberType) encode(dst []byte, n int64) []byte {
	switch t {
	case decimalText:
		return strconv.AppendInt(dst, n, 10)
	case fixedBytes:
		return binary.BigEndian.AppendUint64(dst, uint64(n))
	}
	return wire.AppendHVLong(dst, n)
}

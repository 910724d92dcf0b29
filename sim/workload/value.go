package workload

import (
	"errors"
	"hash/crc32"

	"millrace/tablet"
)

// A value, as ASCII text:
//
//	offset 0   36  instance id, a UUID
//	       36   1  ':'
//	       37  16  how many entries the instance wrote before this one, in hexadecimal
//	       53   1  ':'
//	       54  16  the row referred to, or nothing
//	    54/70   1  ':'
//	    55/71   8  CRC-32 of row, family, qualifier, visibility and all of the value before it; or nothing
const (
	rowBytes        = 16
	columnBytes     = 4
	instanceBytes   = 36
	countAt         = instanceBytes + 1
	previousAt      = countAt + rowBytes + 1
	checksumBytes   = 8
	longestValue    = previousAt + rowBytes + 1 + checksumBytes
	shortestValue   = previousAt + 1
	longestPrevious = previousAt + rowBytes
)

// Value is a value taken apart.
type Value struct {
	Instance    []byte // view of the value's bytes
	Count       uint64
	Previous    uint64 // the row referred to
	HasPrevious bool
	Checksum    uint32
	HasChecksum bool
}

// Errors of ParseValue and Check.
var (
	ErrMalformed = errors.New("workload: not a value of continuous ingest")
	ErrChecksum  = errors.New("workload: checksum does not match")
)

// ParseValue takes a value apart. Padding between the row referred to and the checksum, as newer tools write it, is
// passed over.
func ParseValue(b []byte) (v Value, err error) {
	if len(b) < shortestValue || b[instanceBytes] != ':' || b[previousAt-1] != ':' {
		return v, ErrMalformed
	}
	var ok bool
	v.Instance = b[:instanceBytes:instanceBytes]
	if v.Count, ok = parseHex(b[countAt : previousAt-1]); !ok {
		return v, ErrMalformed
	}
	if b[previousAt] != ':' {
		if len(b) <= longestPrevious || b[longestPrevious] != ':' {
			return v, ErrMalformed
		}
		if v.Previous, ok = parseRow(b[previousAt:longestPrevious]); !ok {
			return v, ErrMalformed
		}
		v.HasPrevious = true
	}
	if b[len(b)-1] == ':' {
		return v, nil
	}
	at := len(b) - checksumBytes
	if at <= previousAt || b[at-1] != ':' {
		return v, ErrMalformed
	}
	sum, ok := parseHex(b[at:])
	if !ok {
		return v, ErrMalformed
	}
	v.Checksum, v.HasChecksum = uint32(sum), true
	return v, nil
}

// Check takes a value apart and holds its checksum, if it has one, against key and value.
func Check(k *tablet.Key, value []byte) (Value, error) {
	v, err := ParseValue(value)
	if err != nil || !v.HasChecksum {
		return v, err
	}
	sum := crc32.ChecksumIEEE(k.Data())
	if crc32.Update(sum, crc32.IEEETable, value[:len(value)-checksumBytes]) != v.Checksum {
		return v, ErrChecksum
	}
	return v, nil
}

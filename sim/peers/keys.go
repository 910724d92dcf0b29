package main

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"millrace/tablet"
)

// A key as bytes that sort as the key does:
//
//	row 00 01 family 00 01 qualifier 00 01 visibility 00 01 ~timestamp (8, sign flipped) deleted (1: 0 yes, 1 no)
//
// A zero within a part is 00 ff, so that a part sorts before those that it is the front of.
const (
	zero    = 0x00
	escaped = 0xff
	partEnd = 0x01
	tail    = 8 + 1
	signBit = 1 << 63
)

// appendKey appends the key of an update.
func appendKey(dst, row []byte, u *tablet.Update) []byte {
	for _, part := range [...][]byte{row, u.Family, u.Qualifier, u.Visibility} {
		for {
			i := bytes.IndexByte(part, zero)
			if i < 0 {
				break
			}
			dst = append(append(dst, part[:i+1]...), escaped)
			part = part[i+1:]
		}
		dst = append(append(dst, part...), zero, partEnd)
	}
	dst = binary.BigEndian.AppendUint64(dst, ^(uint64(u.Timestamp) ^ signBit))
	if u.Deleted {
		return append(dst, 0)
	}
	return append(dst, 1)
}

// splitKey is the inverse of appendKey. The key has bytes of its own.
func splitKey(b []byte) (*tablet.Key, error) {
	var parts [4][]byte
	rest := b
	for i := range parts {
		for done := false; !done; {
			at := bytes.IndexByte(rest, zero)
			if at < 0 || at+1 == len(rest) || rest[at+1] != partEnd && rest[at+1] != escaped {
				return nil, fmt.Errorf("key %x: part %d has no end", b, i)
			}
			parts[i] = append(parts[i], rest[:at]...)
			if done = rest[at+1] == partEnd; !done {
				parts[i] = append(parts[i], zero)
			}
			rest = rest[at+2:]
		}
	}
	if len(rest) != tail {
		return nil, fmt.Errorf("key %x: %d bytes behind its parts, want %d", b, len(rest), tail)
	}
	ts := int64(^binary.BigEndian.Uint64(rest) ^ signBit)
	k := tablet.NewKey(tablet.Fields{Row: parts[0], Family: parts[1], Qualifier: parts[2], Visibility: parts[3], Timestamp: ts, Deleted: rest[8] == 0})
	return &k, nil
}

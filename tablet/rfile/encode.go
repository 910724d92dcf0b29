package rfile

import (
	"encoding/binary"

	"millrace/internal/wire"
	"millrace/tablet"
)

// appendFirst appends an entry that stands alone, as the first of a block does.
func appendFirst(dst []byte, k *tablet.Key, value []byte) []byte {
	flags := byte(0)
	if k.Deleted() {
		flags = flagDeleted
	}
	dst = append(dst, flags)
	dst = appendField(dst, k.Row())
	dst = appendField(dst, k.Family())
	dst = appendField(dst, k.Qualifier())
	dst = appendField(dst, k.Visibility())
	dst = wire.AppendHVLong(dst, k.Timestamp())
	return appendValue(dst, value)
}

func appendField(dst, field []byte) []byte {
	return append(wire.AppendHVLong(dst, int64(len(field))), field...)
}

func appendValue(dst, value []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(value)))
	return append(dst, value...)
}

// appendRelative appends an entry against the key before it. The fields before same are known to be equal, and the
// first shared bytes of the field at same, so that they are not compared again; zeros promise nothing.
//
// Source: Accumulo RelativeKey. A field that is equal is left out; one that shares at least two bytes names how many; a
// timestamp that differs is stored as the difference.
func appendRelative(dst []byte, prev, k *tablet.Key, same, shared int, value []byte) []byte {
	at := len(dst)
	flags, prefixes := byte(1)<<same-1, byte(0)
	dst = append(dst, 0)
	oldData, newData := prev.Data(), k.Data()
	oldEnds, newEnds := ends(prev), ends(k)
	var lengths [4]int // leading bytes that each field shares
	for i := same; i < 4; i++ {
		was, now := oldData[oldEnds[i]:oldEnds[i+1]], newData[newEnds[i]:newEnds[i+1]]
		n := shared
		for shared = 0; n < len(was) && n < len(now) && was[n] == now[n]; {
			n++
		}
		switch {
		case n == len(was) && n == len(now):
			flags |= 1 << i
		case n >= minPrefixBytes:
			prefixes |= 1 << i
		}
		lengths[i] = n
	}
	if k.Timestamp() == prev.Timestamp() {
		flags |= flagTSSame
	} else {
		prefixes |= prefixTS
	}
	if k.Deleted() {
		flags |= flagDeleted
	}
	if prefixes != 0 {
		flags |= flagPrefixes
		dst = append(dst, prefixes)
	}
	dst[at] = flags
	for i := same; i < 4; i++ {
		now := newData[newEnds[i]:newEnds[i+1]]
		switch bit := byte(1) << i; {
		case flags&bit != 0:
		case prefixes&bit != 0:
			dst = wire.AppendHVLong(dst, int64(lengths[i]))
			dst = appendField(dst, now[lengths[i]:])
		default:
			dst = appendField(dst, now)
		}
	}
	if prefixes&prefixTS != 0 {
		dst = wire.AppendHVLong(dst, k.Timestamp()-prev.Timestamp())
	}
	return appendValue(dst, value)
}

// ends are the borders of a key's fields in its data.
func ends(k *tablet.Key) [5]uint32 {
	e := k.Ends()
	return [5]uint32{0, e.Row, e.Family, e.Qualifier, uint32(k.Size())}
}

package rfile

import (
	"encoding/binary"
	"slices"

	"millrace/internal/wire"
	"millrace/tablet"
)

// appendFirst appends an entry that stands alone, as the first of a block does.
func appendFirst(dst []byte, k tablet.Key, value []byte) []byte {
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

// appendNext appends an entry whose key follows h. The fields before same are known to be equal, and the first shared
// bytes of the field at same, so that they are not compared again; zeros promise nothing.
//
// Room for the longest form is made beforehand, and the parts are stored by index: it is what each entry passes through
// whose neighbours came from other files.
//
// Source: Accumulo RelativeKey. A field that is equal is left out; one that shares at least two bytes names how many; a
// timestamp that differs is stored as the difference.
func (h *heldKey) appendNext(dst []byte, k *heldKey, same, shared int, value []byte) []byte {
	start := len(dst)
	dst = slices.Grow(dst, mostHeaderBytes+len(k.data)+len(value)+wordSlack)
	buf := dst[start:cap(dst)]
	flags, prefixes := byte(1)<<same-1, byte(0)
	at := 2
	for i := same; i < 4; i++ {
		was, now := h.data[h.borders[i]:h.borders[i+1]], k.data[k.borders[i]:k.borders[i+1]]
		n := commonFrom(was, now, shared)
		shared = 0
		switch {
		case n == len(was) && n == len(now):
			flags |= 1 << i
			continue
		case n >= minPrefixBytes:
			prefixes |= 1 << i
			at = putHVLong(buf, at, int64(n))
			now = now[n:]
		}
		at = putHVLong(buf, at, int64(len(now)))
		putShort(buf[at:], now)
		at += len(now)
	}
	if k.deleted {
		flags |= flagDeleted
	}
	if k.ts != h.ts {
		prefixes |= prefixTS
		at = putHVLong(buf, at, k.ts-h.ts)
	} else {
		flags |= flagTSSame
	}
	if prefixes != 0 {
		flags |= flagPrefixes
		buf[1] = prefixes
	} else {
		at = 1 + copy(buf[1:], buf[2:at]) // no second byte of flags
	}
	buf[0] = flags
	binary.BigEndian.PutUint32(buf[at:], uint32(len(value)))
	putShort(buf[at+4:], value)
	return dst[:start+at+4+len(value)]
}

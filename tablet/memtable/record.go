package memtable

import (
	"encoding/binary"

	"millrace/tablet"
)

// record is the bytes of one entry, from its head on; they may go on behind it. They do not change any more.
//
//	 0  timestamp
//	 8  counter      grows with each insert into the table; the first is 1
//	16  row          where it ends in the key's bytes; like family and qualifier
//	20  family
//	24  qualifier
//	28  key bytes    how many there are
//	32  value bytes  how many there are
//	36  1 if it is a delete marker
//	40  row ‖ family ‖ qualifier ‖ visibility ‖ value
//
// Numbers are little-endian.
type record []byte

const headBytes = 40

var le = binary.LittleEndian

// at is the record at a place.
func (c chunks) at(r ref) record { return record(c[r>>32][uint32(r):]) }

func (r record) key() tablet.Key {
	end := headBytes + int(le.Uint32(r[28:]))
	ends := tablet.Ends{Row: le.Uint32(r[16:]), Family: le.Uint32(r[20:]), Qualifier: le.Uint32(r[24:])}
	return tablet.KeyView(r[headBytes:end:end], ends, int64(le.Uint64(r)), r[36] != 0)
}

func (r record) value() []byte {
	start := headBytes + int(le.Uint32(r[28:]))
	end := start + int(le.Uint32(r[32:]))
	return r[start:end:end]
}

func (r record) counter() uint64 { return le.Uint64(r[8:]) }

// row is a view of the key's row.
func (r record) row() []byte {
	end := headBytes + int(le.Uint32(r[16:]))
	return r[headBytes:end:end]
}

// putHead writes what stands before the key's bytes.
func putHead(b []byte, ts int64, counter uint64, ends tablet.Ends, keyBytes, valueBytes int, deleted bool) {
	_ = b[headBytes-1]
	le.PutUint64(b, uint64(ts))
	le.PutUint64(b[8:], counter)
	le.PutUint32(b[16:], ends.Row)
	le.PutUint32(b[20:], ends.Family)
	le.PutUint32(b[24:], ends.Qualifier)
	le.PutUint32(b[28:], uint32(keyBytes))
	le.PutUint32(b[32:], uint32(valueBytes))
	if deleted {
		b[36] = 1
	}
}

// slot is one entry of a leaf. The prefix settles most comparisons without a look at the record, which is seldom in the
// processor's cache.
type slot struct {
	prefix uint64 // of the row, see common
	ref    ref
}

// compare orders entries by key, and equal keys by counter, the larger first.
func (c chunks) compare(a, b slot) int {
	switch {
	case a.prefix < b.prefix:
		return -1
	case a.prefix > b.prefix:
		return 1
	}
	return c.compareRecords(a.ref, b.ref)
}

func (c chunks) compareRecords(a, b ref) int {
	ra, rb := c.at(a), c.at(b)
	ka, kb := ra.key(), rb.key()
	if n := tablet.Compare(&ka, &kb); n != 0 {
		return n
	}
	switch {
	case ra.counter() > rb.counter():
		return -1
	case ra.counter() < rb.counter():
		return 1
	}
	return 0
}

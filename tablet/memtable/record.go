package memtable

import (
	"encoding/binary"
	"math"

	"millrace/tablet"
)

// record is one entry, 64 bytes beside its own: a cache line. Records are never changed once they are in the tree.
type record struct {
	data     []byte // row ‖ family ‖ qualifier ‖ visibility ‖ value
	keyBytes uint32
	ends     tablet.Ends
	ts       int64
	counter  uint64 // grows with each insert; the first is 1
	deleted  bool
}

func (r *record) key() tablet.Key {
	return tablet.KeyView(r.data[:r.keyBytes:r.keyBytes], r.ends, r.ts, r.deleted)
}

func (r *record) value() []byte { return r.data[r.keyBytes:] }

// item is what the tree holds. The prefix settles most comparisons without a look at the record, which is seldom in
// the processor's cache.
type item struct {
	prefix uint64 // the first eight bytes of the row, zero-padded, big-endian
	rec    *record
}

// prefixOf keeps the order of rows: where two prefixes differ, the rows differ the same way.
func prefixOf(row []byte) uint64 {
	if len(row) >= 8 {
		return binary.BigEndian.Uint64(row)
	}
	var b [8]byte
	copy(b[:], row)
	return binary.BigEndian.Uint64(b[:])
}

// less orders by key, and equal keys by counter, the larger first.
func less(a, b item) bool {
	if a.prefix != b.prefix {
		return a.prefix < b.prefix
	}
	return lessRecord(a.rec, b.rec)
}

func lessRecord(a, b *record) bool {
	ka, kb := a.key(), b.key()
	if c := tablet.Compare(&ka, &kb); c != 0 {
		return c < 0
	}
	return a.counter > b.counter
}

// Counters of search items, which stand before or behind all records of an equal key.
const (
	beforeEqual = math.MaxUint64
	behindEqual = 0
)

// searchItem makes rec an item that stands before or behind the records of a key, and never goes into a tree.
func searchItem(k *tablet.Key, rec *record, counter uint64) item {
	*rec = record{data: k.Data(), keyBytes: uint32(k.Size()), ends: k.Ends(), ts: k.Timestamp(), counter: counter, deleted: k.Deleted()}
	return item{prefix: prefixOf(k.Row()), rec: rec}
}

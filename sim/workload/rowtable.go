package workload

import "math/bits"

// rowTable is a set of rows with a mark on each that was referred to. It is open-addressed with linear probing and at
// most half full; it is reused for one bucket after another.
type rowTable struct {
	slots []uint64
	state []uint8
	shift uint
	rows  int64 // different rows in the table
}

const (
	slotFree = iota
	slotDefined
	slotReferenced
)

// reset empties the table and makes room for n rows.
func (t *rowTable) reset(n int) {
	size := 1 << bits.Len(uint(max(2*n, 16)-1))
	if size > len(t.slots) {
		t.slots, t.state = make([]uint64, size), make([]uint8, size)
	} else {
		size = len(t.slots)
		clear(t.state)
	}
	t.shift = uint(64 - bits.TrailingZeros(uint(size)))
	t.rows = 0
}

// find returns the row's slot, or the free slot where it belongs.
func (t *rowTable) find(row uint64) int {
	// The bits that chose the bucket are alike for all rows here, so those below them choose the slot.
	i := int(spread(row) << bucketBits >> t.shift)
	for t.state[i] != slotFree && t.slots[i] != row {
		i = (i + 1) & (len(t.slots) - 1)
	}
	return i
}

func (t *rowTable) define(row uint64) {
	if i := t.find(row); t.state[i] == slotFree {
		t.slots[i], t.state[i] = row, slotDefined
		t.rows++
	}
}

// refer marks a row; found says that it is in the table, first that it was not marked before.
func (t *rowTable) refer(row uint64) (found, first bool) {
	i := t.find(row)
	found, first = t.state[i] != slotFree, t.state[i] == slotDefined
	if first {
		t.state[i] = slotReferenced
	}
	return found, first
}

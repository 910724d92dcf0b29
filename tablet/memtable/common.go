package memtable

import (
	"bytes"
	"encoding/binary"
	"math"
)

// common is what the rows of a table begin with, most of them at least. Rows that differ mostly do so soon behind it.
type common []byte

// prefix keeps the order of rows: where two prefixes differ, the rows differ the same way. It is the eight bytes of the row
// behind what is common, zero-padded, big-endian.
func (c common) prefix(row []byte) uint64 {
	if len(c) == 0 {
		return firstWord(row)
	}
	switch {
	case bytes.HasPrefix(row, c):
		return firstWord(row[len(c):])
	case bytes.Compare(row, c) < 0:
		return 0
	}
	return math.MaxUint64
}

func firstWord(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var w [8]byte
	copy(w[:], b)
	return binary.BigEndian.Uint64(w[:])
}

// The rows are looked at when there are so many entries, and each time there are so many times as many again.
const (
	firstLook = 64
	nextLook  = 8
)

// look finds what the rows have in common, which is what the first and the last have. If that is not what the prefixes were
// made for, they are made anew: in a new tree, as snapshots may have the old one.
func (t *Table) look() {
	for t.facts.Entries >= t.lookAt {
		t.lookAt *= nextLook
	}
	first, last := t.tree.ends()
	a, b := t.arena.chunks.at(first.ref).row(), t.arena.chunks.at(last.ref).row()
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	if n == len(t.common) { // and so the same bytes: all rows have them
		return
	}
	t.common = common(a[:n:n])
	old := t.tree
	t.tree = newTree()
	old.Ascend(func(it item) bool {
		l := *it.leaf
		l.epoch = t.epoch
		l.slots = append(newSlots(), l.slots...)
		for i := range l.slots {
			s := &l.slots[i]
			s.prefix = t.common.prefix(t.arena.chunks.at(s.ref).row())
		}
		l.prefix = t.common.prefix(l.bound.key.Row())
		t.tree.ReplaceOrInsert(l.item())
		return true
	})
}

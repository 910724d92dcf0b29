package memtable

import (
	"math"

	"github.com/google/btree"

	"millrace/tablet"
)

// leaf is a stretch of a table's entries, from its bound to that of the next leaf. The tree holds leaves, not entries: a
// sorted batch goes to each leaf as a whole, and what a leaf holds of an entry is no pointer, which spares the garbage
// collector a look at each.
//
// A leaf that a snapshot may have is not changed any more; it is copied first.
type leaf struct {
	slots []slot // in order, with capacity leafSlots
	epoch uint64 // the table's when it was made: older ones are shared with snapshots
	bound bound  // no entry is below; that of the first leaf is below all
	// prefix is of the bound's row; for the first leaf 0.
	prefix uint64
}

// bound is a place between entries, or before the first of them: that of the entry with that key and counter.
type bound struct {
	key     tablet.Key
	counter uint64
}

// leafSlots is how many entries a leaf has at most: 1 KiB of slots. With half as many a batch costs a tenth more and an entry
// alone a quarter; with twice as many a batch costs up to a tenth less, and a write after a snapshot copies half as much again.
const leafSlots = 64

// treeDegree: nodes hold up to 63 leaves.
const treeDegree = 32

// item is what the tree holds, or what is looked for in it: then the leaf has nothing but its bound.
type item struct {
	prefix uint64 // the leaf's
	leaf   *leaf
}

// tree holds leaves by their bounds.
type tree struct{ *btree.BTreeG[item] }

func newTree() tree { return tree{btree.NewG(treeDegree, less)} }

// ends are the first entry and the last of a tree with entries: then no leaf is empty.
func (t tree) ends() (first, last slot) {
	a, _ := t.Min()
	b, _ := t.Max()
	return a.leaf.slots[0], b.leaf.slots[len(b.leaf.slots)-1]
}

// less orders leaves by their bounds.
func less(a, b item) bool {
	if a.prefix != b.prefix {
		return a.prefix < b.prefix
	}
	return a.leaf.bound.before(&b.leaf.bound)
}

func (b *bound) before(o *bound) bool {
	if c := tablet.Compare(&b.key, &o.key); c != 0 {
		return c < 0
	}
	return b.counter > o.counter
}

// Counters of bounds that stand before or behind all entries of an equal key.
const (
	beforeEqual = math.MaxUint64
	behindEqual = 0
)

// lowest is below every entry.
func lowest() bound {
	return bound{key: tablet.KeyView(nil, tablet.Ends{}, math.MaxInt64, true), counter: beforeEqual}
}

func (l *leaf) item() item { return item{prefix: l.prefix, leaf: l} }

// place is the index of the first slot at or behind a bound, whose row has that prefix.
func (c chunks) place(slots []slot, prefix uint64, b *bound) int {
	low, high := 0, len(slots)
	for low < high {
		mid := int(uint(low+high) / 2)
		s := &slots[mid]
		if s.prefix < prefix || s.prefix == prefix && c.recordBefore(s.ref, b) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

func (c chunks) recordBefore(r ref, b *bound) bool {
	own := c.boundAt(r)
	return own.before(b)
}

// placeOf is the index of the first slot behind an entry that is in none of them.
func (c chunks) placeOf(slots []slot, s slot) int {
	low, high := 0, len(slots)
	for low < high {
		mid := int(uint(low+high) / 2)
		if o := slots[mid]; o.prefix < s.prefix || o.prefix == s.prefix && c.compareRecords(o.ref, s.ref) < 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// weave puts fresh entries in their places among the slots, which have room for them.
func (c chunks) weave(slots, fresh []slot) []slot {
	high := len(slots)
	slots = slots[:high+len(fresh)]
	for i := len(fresh) - 1; i >= 0; i-- {
		at := c.placeOf(slots[:high], fresh[i])
		copy(slots[at+i+1:], slots[at:high])
		slots[at+i] = fresh[i]
		high = at
	}
	return slots
}

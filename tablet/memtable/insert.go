package memtable

import (
	"slices"

	"millrace/tablet"
)

// share is a leaf and the part of a batch that belongs to it.
type share struct {
	leaf *leaf
	end  int // in the batch; it begins where the share before ends
}

// encode makes a record of an update, and notes its slot among the fresh ones.
func (t *Table) encode(row []byte, prefix uint64, u *tablet.Update, ts int64) {
	if u.HasTimestamp {
		ts = u.Timestamp
	}
	endOfRow := uint32(len(row))
	endOfFamily := endOfRow + uint32(len(u.Family))
	ends := tablet.Ends{Row: endOfRow, Family: endOfFamily, Qualifier: endOfFamily + uint32(len(u.Qualifier))}
	keyBytes := int(ends.Qualifier) + len(u.Visibility)
	b := t.note(prefix, ts, ends, keyBytes, len(u.Value), u.Deleted)
	b = b[copy(b, row):]
	b = b[copy(b, u.Family):]
	b = b[copy(b, u.Qualifier):]
	b = b[copy(b, u.Visibility):]
	copy(b, u.Value)
}

// note makes room for a record and writes its head. The bytes returned are for its key and value.
func (t *Table) note(prefix uint64, ts int64, ends tablet.Ends, keyBytes, valueBytes int, deleted bool) []byte {
	t.counter++
	b, at := t.arena.piece(headBytes + keyBytes + valueBytes)
	putHead(b, ts, t.counter, ends, keyBytes, valueBytes, deleted)
	t.fresh = append(t.fresh, slot{prefix: prefix, ref: at})

	f := &t.facts
	if f.Entries == 0 {
		f.MinTimestamp, f.MaxTimestamp = ts, ts
	}
	f.MinTimestamp, f.MaxTimestamp = min(f.MinTimestamp, ts), max(f.MaxTimestamp, ts)
	f.Entries++
	f.Bytes += EntryBytes(keyBytes, valueBytes)
	if deleted {
		f.Deletes++
	}
	return b[headBytes:]
}

// insertFresh puts what was noted into the tree. None of it equals another entry, by its counter.
func (t *Table) insertFresh() {
	c := t.arena.chunks
	if !c.sorted(t.fresh) {
		slices.SortFunc(t.fresh, c.compare)
	}
	t.deal()
	start := 0
	for i, s := range t.shares {
		if i%warmLeaves == 0 {
			warm(t.shares[i:min(i+warmLeaves, len(t.shares))])
		}
		t.add(s.leaf, t.fresh[start:s.end])
		start = s.end
	}
	clear(t.shares)
	t.shares = t.shares[:0]
	if cap(t.fresh) > keptFresh {
		t.fresh = nil
	}
	t.fresh = t.fresh[:0]
	if t.facts.Entries >= t.lookAt {
		t.look()
	}
}

// warmLeaves is how many leaves fit the processor's nearest cache.
const warmLeaves = 16

// warm reads every line of some leaves: where they lie scattered over memory, the processor waits for many of them at once
// then. It must not be inlined: a compiler could see that its result is not used, and leave the reads out.
//
//go:noinline
func warm(shares []share) (sum int) {
	for _, s := range shares {
		sum += len(s.leaf.slots)
	}
	for _, s := range shares {
		for i := 0; i < len(s.leaf.slots); i += 4 {
			sum += int(s.leaf.slots[i].ref)
		}
	}
	return sum
}

// keptFresh is how large the working memory of a batch may stay.
const keptFresh = 16 << 10

// stepsPerSearch is how many leaves can be stepped over in the time in which one is searched for.
const stepsPerSearch = 16

// deal finds the leaves of all fresh entries. Where the next one is mostly near, it searches for the first and steps on from
// leaf to leaf, comparing with their bounds alone, which lie together in the tree.
func (t *Table) deal() {
	for t.dealt = 0; t.dealt < len(t.fresh); {
		s := t.fresh[t.dealt]
		t.probe.bound, t.probe.prefix = t.arena.chunks.boundAt(s.ref), s.prefix
		t.tree.DescendLessOrEqual(t.probe.item(), t.onFound)
		if left := len(t.fresh) - t.dealt; left == 1 || left*stepsPerSearch < t.tree.Len() {
			t.dealTo(t.dealt + 1)
			continue
		}
		t.skipped = 0
		t.tree.AscendGreaterOrEqual(t.near.item(), t.onStep)
		if t.skipped <= stepsPerSearch { // the end of the tree, or of what is fresh
			t.dealTo(len(t.fresh))
		}
	}
}

// found takes the leaf that was searched for.
func (t *Table) found(it item) bool {
	t.near = it.leaf
	return false
}

// step gives the leaf before this one what is below this one's bound.
func (t *Table) step(it item) bool {
	if it.leaf == t.near {
		return true
	}
	end := t.dealt
	for end < len(t.fresh) && t.below(t.fresh[end], it) {
		end++
	}
	if end == t.dealt {
		t.skipped++
	} else {
		t.skipped = 0
		t.dealTo(end)
	}
	t.near = it.leaf
	return end < len(t.fresh) && t.skipped <= stepsPerSearch
}

func (t *Table) below(s slot, it item) bool {
	if s.prefix != it.prefix {
		return s.prefix < it.prefix
	}
	own := t.arena.chunks.boundAt(s.ref)
	return own.before(&it.leaf.bound)
}

// dealTo gives the near leaf what is fresh up to an end.
func (t *Table) dealTo(end int) {
	switch n := len(t.shares); {
	case end == t.dealt:
		return
	case n > 0 && t.shares[n-1].leaf == t.near:
		t.shares[n-1].end = end
	default:
		t.shares = append(t.shares, share{t.near, end})
	}
	t.dealt = end
}

func (c chunks) sorted(slots []slot) bool {
	for i := 1; i < len(slots); i++ {
		if a, b := slots[i-1], slots[i]; a.prefix >= b.prefix && c.compare(a, b) > 0 {
			return false
		}
	}
	return true
}

// add puts a leaf's share into it, and divides it if it gets too large.
func (t *Table) add(l *leaf, fresh []slot) {
	c := t.arena.chunks
	if len(l.slots)+len(fresh) > leafSlots {
		t.divide(l, fresh)
		return
	}
	if l.epoch == t.epoch {
		l.slots = c.weave(l.slots, fresh)
		return
	}
	t.replace(l, c.weave(append(newSlots(), l.slots...), fresh))
}

func newSlots() []slot { return make([]slot, 0, leafSlots) }

// replace gives the place of a leaf that snapshots have to a new one.
func (t *Table) replace(l *leaf, slots []slot) {
	fresh := *l
	fresh.slots, fresh.epoch = slots, t.epoch
	t.tree.ReplaceOrInsert(fresh.item())
}

// divide makes several leaves of one and its share: as full as can be where entries come in ascending order, else with
// room for more.
func (t *Table) divide(l *leaf, fresh []slot) {
	c := t.arena.chunks
	t.woven = append(slices.Grow(t.woven[:0], len(l.slots)+len(fresh)), l.slots...)
	t.woven = c.weave(t.woven, fresh)
	rest := t.woven
	leaves := (len(rest) + roomySlots - 1) / roomySlots
	each := (len(rest) + leaves - 1) / leaves
	if n := len(l.slots); n == 0 || rest[n-1] == l.slots[n-1] {
		each = leafSlots
	}
	first, rest := rest[:each], rest[each:]
	if l.epoch == t.epoch {
		l.slots = append(l.slots[:0], first...)
	} else {
		t.replace(l, append(newSlots(), first...))
	}
	for len(rest) > 0 {
		n := min(each, len(rest))
		next := &leaf{slots: append(newSlots(), rest[:n]...), epoch: t.epoch, bound: c.boundAt(rest[0].ref), prefix: rest[0].prefix}
		t.tree.ReplaceOrInsert(next.item())
		rest = rest[n:]
	}
	if cap(t.woven) > keptFresh {
		t.woven = nil
	}
}

// roomySlots is how full divided leaves are at most.
const roomySlots = leafSlots * 3 / 4

// boundAt is the place of an entry.
func (c chunks) boundAt(r ref) bound {
	rec := c.at(r)
	return bound{key: rec.key(), counter: rec.counter()}
}

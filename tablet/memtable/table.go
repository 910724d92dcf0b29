package memtable

import (
	"sync"
	"sync/atomic"

	"millrace/tablet"
)

// entryOverhead is what an entry is taken to cost beside its bytes: the tree's and the record's share, by Accumulo's
// rule, so that its settings keep their meaning.
const entryOverhead = 200

// EntryBytes is what an entry adds to a table's size estimate.
func EntryBytes(keyBytes, valueBytes int) int64 {
	return int64(keyBytes) + 4 + int64(valueBytes) + entryOverhead
}

// Facts says what a table or snapshot holds.
type Facts struct {
	Entries int64
	Deletes int64
	Bytes   int64 // estimate, see EntryBytes
	// MinTimestamp and MaxTimestamp bound the timestamps, if there are entries.
	MinTimestamp, MaxTimestamp int64
	// FirstRow and LastRow bound the rows; nil without entries.
	FirstRow, LastRow []byte
}

// Table is the sorted map. One goroutine at a time may write; Snapshot, Bytes and Entries may be called from any.
type Table struct {
	mu      sync.Mutex // held by the writer for a whole call, and while the tree is cloned
	tree    tree
	common  common // what the prefixes are made for
	lookAt  int64  // entries at which the rows are looked at again
	epoch   uint64 // grows with each snapshot; older leaves are not changed any more
	arena   arena
	counter uint64
	facts   Facts // without rows: the leaves know them

	// Working memory of a write:
	fresh   []slot  // entries that are not in the tree yet
	shares  []share // what each leaf gets of them
	dealt   int     // how many of them have a leaf
	near    *leaf   // the leaf of the next one, or one before it
	skipped int     // leaves passed by since one got a share
	woven   []slot  // a leaf that is being divided
	probe   leaf    // what is searched for
	// The methods found and step, made once.
	onFound, onStep func(item) bool

	current atomic.Pointer[Snapshot] // nil from a write to the next Snapshot
	bytes   atomic.Int64
	entries atomic.Int64
}

// New returns an empty table.
func New() *Table {
	t := &Table{tree: newTree(), epoch: 1, lookAt: firstLook}
	first := &leaf{bound: lowest()} // of an older epoch, so that it gets slots when there are entries
	t.tree.ReplaceOrInsert(first.item())
	t.onFound, t.onStep = t.found, t.step
	return t
}

// Bytes is the size estimate of all that readers can see.
func (t *Table) Bytes() int64 { return t.bytes.Load() }

// Entries is the number of entries that readers can see.
func (t *Table) Entries() int64 { return t.entries.Load() }

// Insert adds one entry, whose bytes are copied. A reader sees it from the return on.
func (t *Table) Insert(k *tablet.Key, value []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.note(t.common.prefix(k.Row()), k.Timestamp(), k.Ends(), k.Size(), len(value), k.Deleted())
	copy(b[copy(b, k.Data()):], value)
	t.publish()
}

// Apply adds a mutation's updates, in order; those without a timestamp get ts. A reader sees all of them or none.
func (t *Table) Apply(m *tablet.Mutation, ts int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.apply(m, ts)
	t.publish()
}

// ApplyAll adds mutations in order. Updates without a timestamp get ts in the first mutation, ts+step in the second, and
// so on. A reader sees the whole batch or nothing of it.
func (t *Table) ApplyAll(mutations []*tablet.Mutation, ts, step int64) {
	if len(mutations) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, m := range mutations {
		tablet.WarmAt(mutations, i)
		t.apply(m, ts)
		ts += step
	}
	t.publish()
}

func (t *Table) apply(m *tablet.Mutation, ts int64) {
	row := m.Row()
	prefix := t.common.prefix(row)
	for u := range m.All() {
		t.encode(row, prefix, &u, ts)
	}
}

// publish puts what the call has added into the tree and lets readers see it.
func (t *Table) publish() {
	t.insertFresh()
	t.current.Store(nil)
	t.bytes.Store(t.facts.Bytes)
	t.entries.Store(t.facts.Entries)
}

// Snapshot is the table as of the last write that has returned, or a later one. Between two writes all callers get the
// same.
func (t *Table) Snapshot() *Snapshot {
	if s := t.current.Load(); s != nil {
		return s
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.current.Load(); s != nil {
		return s
	}
	s := &Snapshot{tree: tree{t.tree.Clone()}, chunks: t.arena.chunks, common: t.common, facts: t.facts}
	t.epoch++
	s.bound()
	t.current.Store(s)
	return s
}

package memtable

import (
	"sync"
	"sync/atomic"

	"github.com/google/btree"

	"millrace/tablet"
)

// treeDegree: nodes hold up to 63 items of 16 bytes. At 64 inserts and scans cost the same, but an insert after each
// snapshot copies a third more.
const treeDegree = 32

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
	tree    *btree.BTreeG[item]
	arena   arena
	counter uint64
	facts   Facts // without rows: the tree knows them

	current atomic.Pointer[Snapshot] // nil from a write to the next Snapshot
	bytes   atomic.Int64
	entries atomic.Int64
}

// New returns an empty table.
func New() *Table { return &Table{tree: btree.NewG(treeDegree, less)} }

// Bytes is the size estimate of all that readers can see.
func (t *Table) Bytes() int64 { return t.bytes.Load() }

// Entries is the number of entries that readers can see.
func (t *Table) Entries() int64 { return t.entries.Load() }

// Insert adds one entry, whose bytes are copied. A reader sees it from the return on.
func (t *Table) Insert(k *tablet.Key, value []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.insert(k, value)
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
	for _, m := range mutations {
		t.apply(m, ts)
		ts += step
	}
	t.publish()
}

func (t *Table) apply(m *tablet.Mutation, ts int64) {
	row := m.Row()
	for u := range m.All() {
		t.insertUpdate(row, &u, ts)
	}
}

func (t *Table) insertUpdate(row []byte, u *tablet.Update, ts int64) {
	if u.HasTimestamp {
		ts = u.Timestamp
	}
	keyBytes := len(row) + len(u.Family) + len(u.Qualifier) + len(u.Visibility)
	data := t.arena.piece(keyBytes + len(u.Value))
	data = append(append(data, row...), u.Family...)
	data = append(append(data, u.Qualifier...), u.Visibility...)
	r := t.arena.record()
	endOfRow := uint32(len(row))
	endOfFamily := endOfRow + uint32(len(u.Family))
	r.data, r.keyBytes = append(data, u.Value...), uint32(keyBytes)
	r.ends = tablet.Ends{Row: endOfRow, Family: endOfFamily, Qualifier: endOfFamily + uint32(len(u.Qualifier))}
	r.ts, r.deleted = ts, u.Deleted
	t.add(r)
}

func (t *Table) insert(k *tablet.Key, value []byte) {
	data := t.arena.piece(k.Size() + len(value))
	data = append(data, k.Data()...)
	r := t.arena.record()
	r.data, r.keyBytes, r.ends = append(data, value...), uint32(k.Size()), k.Ends()
	r.ts, r.deleted = k.Timestamp(), k.Deleted()
	t.add(r)
}

// add puts a finished record into the tree. Its counter is new, so it never replaces another.
func (t *Table) add(r *record) {
	t.counter++
	r.counter = t.counter
	t.tree.ReplaceOrInsert(item{prefix: prefixOf(r.data[:r.ends.Row]), rec: r})

	f := &t.facts
	if f.Entries == 0 {
		f.MinTimestamp, f.MaxTimestamp = r.ts, r.ts
	}
	f.MinTimestamp, f.MaxTimestamp = min(f.MinTimestamp, r.ts), max(f.MaxTimestamp, r.ts)
	f.Entries++
	f.Bytes += EntryBytes(int(r.keyBytes), len(r.data)-int(r.keyBytes))
	if r.deleted {
		f.Deletes++
	}
}

// publish lets readers see what the call has added.
func (t *Table) publish() {
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
	s := &Snapshot{tree: t.tree.Clone(), facts: t.facts}
	s.bound()
	t.current.Store(s)
	return s
}

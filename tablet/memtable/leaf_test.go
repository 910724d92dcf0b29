package memtable

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"millrace/tablet"
)

// checkLeaves holds the tree's leaves against what their fields promise.
func checkLeaves(t *testing.T, table *Table) (leaves int) {
	t.Helper()
	c := table.arena.chunks
	var before *leaf
	entries := int64(0)
	table.tree.Ascend(func(it item) bool {
		l := it.leaf
		leaves++
		entries += int64(len(l.slots))
		if len(l.slots) == 0 && table.Entries() > 0 || len(l.slots) > leafSlots {
			t.Fatalf("leaf of %d entries", len(l.slots))
		}
		for i, s := range l.slots {
			if s.prefix != table.common.prefix(c.at(s.ref).row()) {
				t.Fatalf("prefix %x of row %q", s.prefix, c.at(s.ref).row())
			}
			if i > 0 && c.compare(l.slots[i-1], s) >= 0 {
				t.Fatalf("entries %d and %d of a leaf are not in order", i-1, i)
			}
		}
		if before != nil {
			if b := c.boundAt(l.slots[0].ref); l.bound.before(&before.bound) || b.before(&l.bound) || l.prefix != l.slots[0].prefix {
				t.Fatalf("a leaf's first entry is not its bound")
			}
			if c.compare(before.slots[len(before.slots)-1], l.slots[0]) >= 0 {
				t.Fatalf("two leaves overlap")
			}
		}
		before = l
		return true
	})
	if entries != table.Entries() {
		t.Fatalf("%d entries in leaves, %d in the table", entries, table.Entries())
	}
	return leaves
}

// TestBatches inserts batches of all sizes, sorted and not, in many versions of few cells and in many cells, while
// snapshots are held: each of them, and each range of the table, is what the model says.
func TestBatches(t *testing.T) {
	type kept struct {
		snap  *Snapshot
		model []modelEntry
	}
	f := func(name string, rows int, sizes []int, ts func(n int) int64) {
		t.Helper()
		rng := rand.New(rand.NewPCG(uint64(rows), uint64(len(sizes))))
		table := New()
		var model []modelEntry
		var snaps []kept
		for round := range 60 {
			var batch []*tablet.Mutation
			for range sizes[rng.IntN(len(sizes))] {
				at := len(model)
				row := fmt.Appendf(nil, "common%06d", rng.IntN(rows))
				m := tablet.NewMutation(row)
				u := tablet.Update{Qualifier: []byte{'q', byte(rng.IntN(2))}, Timestamp: ts(at), HasTimestamp: true, Value: fmt.Append(nil, at)}
				m.Add(u)
				model = append(model, modelEntry{tablet.NewKey(tablet.Fields{Row: row, Qualifier: u.Qualifier, Timestamp: u.Timestamp}), string(u.Value), at})
				batch = append(batch, m)
			}
			table.ApplyAll(batch, 0, 0)
			if round%7 == 0 {
				snaps = append(snaps, kept{table.Snapshot(), sortModel(model)})
			}
		}
		leaves := checkLeaves(t, table)
		if most := len(model)/(leafSlots/4) + 2; leaves < len(model)/leafSlots || leaves > most {
			t.Errorf("%s: %d leaves for %d entries", name, leaves, len(model))
		}
		snaps = append(snaps, kept{table.Snapshot(), sortModel(model)})
		for _, k := range snaps {
			src := k.snap.Source()
			for range 4 {
				lo, hi := fmt.Sprintf("common%06d", rng.IntN(rows)), fmt.Sprintf("common%06d", rng.IntN(rows))
				if lo > hi {
					lo, hi = hi, lo
				}
				r := tablet.RowRange(tablet.RowBounds{Start: []byte(lo), End: []byte(hi), StartExclusive: rng.IntN(2) == 0, EndExclusive: lo < hi && rng.IntN(2) == 0})
				if rng.IntN(4) == 0 {
					r = tablet.Range{}
				}
				if err := src.Seek(context.Background(), r, tablet.Families{}); err != nil {
					t.Fatal(err)
				}
				equalEntries(t, readAll(t, src, r), within(k.model, r, tablet.Families{}))
			}
		}
	}
	rising := func(n int) int64 { return int64(n) }
	same := func(int) int64 { return 7 }
	f("one cell, equal keys", 1, []int{1, 2, 100, 300}, same)
	f("few cells, equal keys", 3, []int{1, 50, 200}, same)
	f("few cells, versions", 5, []int{1, 200}, rising)
	f("many cells", 900_000, []int{1, 10, 100, 1000}, rising)
	f("many cells, small batches", 900_000, []int{1, 2, 3, 40}, same)
}

// TestAscending: entries that come in order fill their leaves.
func TestAscending(t *testing.T) {
	for _, batch := range []int{1, 7, 1000} {
		table := New()
		const n = 5_000
		for at := 0; at < n; at += batch {
			var ms []*tablet.Mutation
			for i := at; i < min(at+batch, n); i++ {
				m := tablet.NewMutation(fmt.Appendf(nil, "%08d", i))
				m.Put(nil, nil, nil, nil)
				ms = append(ms, m)
			}
			table.ApplyAll(ms, 1, 0)
			if at%1000 == 0 {
				table.Snapshot()
			}
		}
		if leaves := checkLeaves(t, table); leaves > n/leafSlots+2 {
			t.Errorf("batches of %d: %d leaves for %d entries", batch, leaves, n)
		}
	}
}

// TestNoAllocations: no allocation an entry is left, only those of leaves and chunks.
func TestNoAllocations(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	table := New()
	const batch = 1000
	for range 20 {
		table.ApplyAll(sortedMutations(batch, func() []byte { return fmt.Appendf(nil, "%016x", rng.Uint64()) }), 1, 0)
	}
	batches := [][]*tablet.Mutation{}
	for range 11 {
		batches = append(batches, sortedMutations(batch, func() []byte { return fmt.Appendf(nil, "%016x", rng.Uint64()) }))
	}
	at := 0
	if n := testing.AllocsPerRun(10, func() { table.ApplyAll(batches[at], 1, 0); at++ }); n > batch/8 {
		t.Errorf("%v allocations for %d entries", n, batch)
	}
}

// TestCommon: prefixes keep the order of rows, whatever is taken to be common, and the table finds out what is.
func TestCommon(t *testing.T) {
	rows := []string{"", "a", "com", "common", "common\x00", "common000", "common00000000", "common000000001", "common9", "commoo", "cz", "\xff"}
	for _, c := range []common{nil, common("com"), common("common"), common("common0000000")} {
		for i := 1; i < len(rows); i++ {
			if a, b := c.prefix([]byte(rows[i-1])), c.prefix([]byte(rows[i])); a > b {
				t.Errorf("common %q: %q has prefix %x, %q has %x", c, rows[i-1], a, rows[i], b)
			}
		}
	}

	table := New()
	var model []modelEntry
	var snaps []*Snapshot
	f := func(want string, n int, format string) {
		t.Helper()
		for i := range n {
			row := fmt.Appendf(nil, format, i*7919%100_000)
			k := tablet.NewKey(tablet.Fields{Row: row})
			table.Insert(&k, []byte(format))
			model = append(model, modelEntry{k, format, len(model)})
		}
		if string(table.common) != want {
			t.Fatalf("%d entries: %q is common, want %q", table.Entries(), table.common, want)
		}
		checkLeaves(t, table)
		snaps = append(snaps, table.Snapshot())
	}
	f("", 63, "a common beginning %05d")
	f("a common beginning ", 1, "a common beginning %05d")
	f("a common beginning ", 447, "a common begin %05d") // all of them outside
	f("a common begin", 1, "a common beginning %05d")
	f("a common begin", 1000, "%05d")
	f("a common begin", 1000, "x%05d")
	f("", 2000, "a common beginning %05d")
	n := int64(0)
	for i, s := range snaps {
		for _, e := range model[n:min(n+20, s.Entries())] { // the model is slow
			src := s.Source()
			r := tablet.ExactRow(e.key.Row())
			if err := src.Seek(context.Background(), r, tablet.Families{}); err != nil {
				t.Fatal(err)
			}
			equalEntries(t, readAll(t, src, r), within(sortModel(model[:s.Entries()]), r, tablet.Families{}))
		}
		n = s.Entries()
		src := snaps[i].Source()
		if err := src.Seek(context.Background(), tablet.Range{}, tablet.Families{}); err != nil {
			t.Fatal(err)
		}
		equalEntries(t, readAll(t, src, tablet.Range{}), sortModel(model[:n]))
	}
}

// TestEmptyTables: a store may have thousands of tablets to which nobody writes.
func TestEmptyTables(t *testing.T) {
	const n = 1000
	tables := make([]*Table, 0, n)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range n {
		tables = append(tables, New())
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / n; each > 1500 {
		t.Errorf("an empty table takes %d bytes", each)
	}
	if tables[0].Snapshot().Entries() != 0 || tables[0].Bytes() != 0 {
		t.Error("it is not empty")
	}
}

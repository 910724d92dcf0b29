package memtable

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"millrace/tablet"
)

// modelEntry is an entry of the model, a plain slice in insertion order.
type modelEntry struct {
	key   tablet.Key
	value string
	at    int
}

// drawField makes short fields out of few bytes, so that keys collide, are prefixes of each other, and cross the eight
// bytes that an item keeps of a row.
var (
	drawField = rapid.Custom(func(t *rapid.T) []byte {
		return []byte(rapid.StringOfN(rapid.RuneFrom([]rune{0, 'a', 'b', 0x7f}), 0, 3, -1).Draw(t, "field"))
	})
	drawRow = rapid.Custom(func(t *rapid.T) []byte {
		long := strings.Repeat("a", rapid.IntRange(0, 9).Draw(t, "common"))
		return append([]byte(long), drawField.Draw(t, "row")...)
	})
	drawKey = rapid.Custom(func(t *rapid.T) tablet.Key {
		return tablet.NewKey(tablet.Fields{
			Row: drawRow.Draw(t, "row"), Family: drawField.Draw(t, "family"), Qualifier: drawField.Draw(t, "qualifier"),
			Visibility: drawField.Draw(t, "visibility"), Timestamp: rapid.Int64Range(-2, 2).Draw(t, "ts"), Deleted: rapid.Bool().Draw(t, "deleted"),
		})
	})
)

// randomKey draws from the same keys as drawKey, much faster.
func randomKey(rng *rand.Rand) tablet.Key {
	field := func() []byte {
		b := make([]byte, rng.IntN(4))
		for i := range b {
			b[i] = "\x00ab\x7f"[rng.IntN(4)]
		}
		return b
	}
	row := append([]byte(strings.Repeat("a", rng.IntN(10))), field()...)
	return tablet.NewKey(tablet.Fields{Row: row, Family: field(), Qualifier: field(), Visibility: field(),
		Timestamp: rng.Int64N(5) - 2, Deleted: rng.IntN(2) == 0})
}

func sortModel(model []modelEntry) []modelEntry {
	sorted := slices.Clone(model)
	slices.SortFunc(sorted, func(a, b modelEntry) int {
		if c := tablet.Compare(&a.key, &b.key); c != 0 {
			return c
		}
		return b.at - a.at // the later insert first
	})
	return sorted
}

// readAll drains a source and holds codes, facts and batch bounds against the keys.
func readAll(t fataler, src *Source, r tablet.Range) (got []modelEntry) {
	t.Helper()
	start, hasStart := r.Start()
	var base *tablet.Key
	if hasStart && start.Inclusive {
		base = &start.Key
	}
	for {
		b, err := src.Next(context.Background())
		if err != nil {
			t.Fatalf("next: %v", err)
		}
		if b == nil {
			break
		}
		if b.Len() == 0 || b.Len() > batchEntries {
			t.Fatalf("batch of %d entries", b.Len())
		}
		var deletes bool
		var maxCode uint64
		for i := range b.Len() {
			k := b.Key(i).Clone()
			want := tablet.CodeOfFirst(&k)
			if base != nil {
				want = tablet.CodeOf(base, &k)
			}
			if b.Codes[i] != want {
				t.Fatalf("code of %v is %x, want %x", k, b.Codes[i], want)
			}
			if i > 0 {
				maxCode = max(maxCode, want)
			}
			deletes = deletes || k.Deleted()
			base = &k
			got = append(got, modelEntry{key: k, value: string(b.Value(i))})
		}
		if b.Facts.Deletes != deletes || b.Facts.MaxCode != maxCode || b.Facts.Block != -1 {
			t.Fatalf("facts %+v, want deletes %v, largest code %x", b.Facts, deletes, maxCode)
		}
	}
	if b, err := src.Next(context.Background()); b != nil || err != nil {
		t.Fatalf("behind the end: %v, %v", b, err)
	}
	return got
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func equalEntries(t fataler, got, want []modelEntry) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d entries, want %d", len(got), len(want))
	}
	for i := range want {
		if tablet.Compare(&got[i].key, &want[i].key) != 0 || got[i].value != want[i].value {
			t.Fatalf("entry %d is %v %q, want %v %q", i, got[i].key, got[i].value, want[i].key, want[i].value)
		}
	}
}

func within(model []modelEntry, r tablet.Range, f tablet.Families) (in []modelEntry) {
	for _, e := range model {
		if r.Contains(&e.key) && f.Accepts(e.key.Family()) {
			in = append(in, e)
		}
	}
	return in
}

func drawRange(t *rapid.T) tablet.Range {
	for {
		var bounds [2]*tablet.Bound
		for i := range bounds {
			if rapid.IntRange(0, 3).Draw(t, "bounded") > 0 {
				bounds[i] = &tablet.Bound{Key: drawKey.Draw(t, "bound"), Inclusive: rapid.Bool().Draw(t, "inclusive")}
			}
		}
		if r, err := tablet.NewRange(bounds[0], bounds[1]); err == nil {
			return r
		}
	}
}

func drawFamilies(t *rapid.T) tablet.Families {
	names := rapid.SliceOfN(drawField, 0, 3).Draw(t, "families")
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		return tablet.OnlyFamilies(names...)
	case 1:
		return tablet.AllFamiliesBut(names...)
	}
	return tablet.Families{}
}

// TestModel holds table, snapshots and sources against a sorted slice.
func TestModel(t *testing.T) {
	type kept struct {
		snap  *Snapshot
		model []modelEntry
	}
	rapid.Check(t, func(t *rapid.T) {
		table := New()
		var model []modelEntry
		var snaps []kept
		insert := func(k tablet.Key, value string) {
			model = append(model, modelEntry{k, value, len(model)})
		}
		read := func(k kept) {
			src := k.snap.Source()
			for range rapid.IntRange(1, 2).Draw(t, "seeks") {
				r, f := drawRange(t), drawFamilies(t)
				if err := src.Seek(context.Background(), r, f); err != nil {
					t.Fatalf("seek: %v", err)
				}
				equalEntries(t, readAll(t, src, r), within(k.model, r, f))
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) {
				n := rapid.IntRange(1, 20).Draw(t, "n")
				if rapid.IntRange(0, 9).Draw(t, "many") == 0 {
					n = 300 // several batches and tree levels
				}
				rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
				for range n {
					k := randomKey(rng)
					value := fmt.Sprint(len(model))
					table.Insert(&k, []byte(value))
					insert(k, value)
				}
			},
			"apply": func(t *rapid.T) {
				ts, step := rapid.Int64Range(-2, 2).Draw(t, "ts"), rapid.Int64Range(0, 1).Draw(t, "step")
				var ms []*tablet.Mutation
				for i := range rapid.IntRange(0, 3).Draw(t, "mutations") {
					m := tablet.NewMutation(drawRow.Draw(t, "row"))
					for range rapid.IntRange(1, 3).Draw(t, "updates") {
						k := drawKey.Draw(t, "key")
						u := tablet.Update{Family: k.Family(), Qualifier: k.Qualifier(), Visibility: k.Visibility(),
							Timestamp: k.Timestamp(), HasTimestamp: rapid.Bool().Draw(t, "has"), Deleted: k.Deleted(), Value: fmt.Append(nil, len(model))}
						m.Add(u)
						if !u.HasTimestamp {
							u.Timestamp = ts + int64(i)*step
						}
						value := string(u.Value)
						if u.Deleted {
							value = ""
						}
						insert(tablet.NewKey(tablet.Fields{Row: m.Row(), Family: u.Family, Qualifier: u.Qualifier, Visibility: u.Visibility,
							Timestamp: u.Timestamp, Deleted: u.Deleted}), value)
					}
					ms = append(ms, m)
				}
				if len(ms) == 1 {
					table.Apply(ms[0], ts)
				} else {
					table.ApplyAll(ms, ts, step)
				}
			},
			"snapshot": func(t *rapid.T) {
				k := kept{table.Snapshot(), sortModel(model)}
				if table.Snapshot() != k.snap {
					t.Fatalf("two snapshots without a write between")
				}
				snaps = append(snaps, k)
				read(k)
			},
			"": func(t *rapid.T) {
				if rapid.IntRange(0, 3).Draw(t, "look") > 0 {
					return
				}
				checkFacts(t, table.Snapshot().Facts(), sortModel(model))
				if table.Bytes() != table.Snapshot().Bytes() || table.Entries() != int64(len(model)) {
					t.Fatalf("table says %d bytes, %d entries; %d inserted", table.Bytes(), table.Entries(), len(model))
				}
			},
		})
		for _, k := range snaps { // long after later inserts
			read(k)
		}
	})
}

func checkFacts(t fataler, f Facts, model []modelEntry) {
	t.Helper()
	var want Facts
	for i, e := range model {
		want.Entries++
		want.Bytes += int64(e.key.Size()) + 4 + int64(len(e.value)) + 200
		if e.key.Deleted() {
			want.Deletes++
		}
		if ts := e.key.Timestamp(); i == 0 {
			want.MinTimestamp, want.MaxTimestamp = ts, ts
		} else {
			want.MinTimestamp, want.MaxTimestamp = min(want.MinTimestamp, ts), max(want.MaxTimestamp, ts)
		}
	}
	if n := len(model); n > 0 {
		want.FirstRow, want.LastRow = model[0].key.Row(), model[n-1].key.Row()
	}
	if fmt.Sprintf("%+v", f) != fmt.Sprintf("%+v", want) {
		t.Fatalf("facts %+v, want %+v", f, want)
	}
}

func TestLargeValues(t *testing.T) {
	table := New()
	sizes := []int{0, 1, largestPiece - 10, largestPiece, largestPiece + 1, largestChunk, batchBytes, 3 << 20, 5, 100}
	for i := range 300 {
		k := tablet.NewKey(tablet.Fields{Row: fmt.Appendf(nil, "r%03d", i)})
		table.Insert(&k, []byte(strings.Repeat(fmt.Sprint(i%10), sizes[i%len(sizes)])))
	}
	src := table.Snapshot().Source()
	if err := src.Seek(context.Background(), tablet.Range{}, tablet.Families{}); err != nil {
		t.Fatal(err)
	}
	n := 0
	for {
		b, err := src.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			break
		}
		total := 0
		for i := range b.Len() {
			v := string(b.Value(i))
			if v != strings.Repeat(fmt.Sprint(n%10), sizes[n%len(sizes)]) {
				t.Fatalf("value %d has %d bytes", n, len(v))
			}
			n++
			if i < b.Len()-1 {
				total += len(v)
			}
		}
		if total > batchBytes {
			t.Fatalf("batch of %d bytes before its last entry", total)
		}
	}
	if n != 300 {
		t.Fatalf("%d entries", n)
	}
}

func TestSourceErrors(t *testing.T) {
	table := New()
	k := tablet.RowKey([]byte("r"))
	table.Insert(&k, nil)
	src := table.Snapshot().Source()
	if b, err := src.Next(context.Background()); b != nil || err != nil {
		t.Errorf("before the first seek: %v, %v", b, err)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if err := src.Seek(cancelled, tablet.Range{}, tablet.Families{}); !errors.Is(err, context.Canceled) {
		t.Errorf("seek, cancelled: %v", err)
	}
	if err := src.Seek(context.Background(), tablet.Range{}, tablet.Families{}); err != nil {
		t.Error(err)
	}
	if _, err := src.Next(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("next, cancelled: %v", err)
	}
	if b, err := src.Next(context.Background()); b == nil || err != nil {
		t.Errorf("after a cancelled call: %v, %v", b, err)
	}
	for range 2 {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := src.Next(context.Background()); !errors.Is(err, tablet.ErrClosed) {
		t.Errorf("next, closed: %v", err)
	}
	if err := src.Seek(context.Background(), tablet.Range{}, tablet.Families{}); !errors.Is(err, tablet.ErrClosed) {
		t.Errorf("seek, closed: %v", err)
	}
}

// TestFilteredCodesFold holds the codes of a filtered source against the rule for skipped entries: the largest of the
// skipped codes and the own one.
func TestFilteredCodesFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := New()
		for range rapid.IntRange(1, 40).Draw(t, "n") {
			k := drawKey.Draw(t, "key")
			table.Insert(&k, nil)
		}
		f := drawFamilies(t)
		all, some := table.Snapshot().Source(), table.Snapshot().Source()
		if all.Seek(context.Background(), tablet.Range{}, tablet.Families{}) != nil || some.Seek(context.Background(), tablet.Range{}, f) != nil {
			t.Fatal("seek")
		}
		a, _ := all.Next(context.Background())
		b, _ := some.Next(context.Background())
		var fold uint64
		at := 0
		for i := range a.Len() {
			fold = max(fold, a.Codes[i])
			if k := a.Key(i); f.Accepts(k.Family()) {
				if b.Codes[at] != fold {
					t.Fatalf("code of %v is %x, want %x", k, b.Codes[at], fold)
				}
				at++
				fold = 0
			}
		}
	})
}

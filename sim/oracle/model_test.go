package oracle

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"millrace/tablet"
)

func put(row, column, value string, ts ...int64) *tablet.Mutation {
	return change1(row, column, value, false, ts)
}
func del(row, column string, ts ...int64) *tablet.Mutation { return change1(row, column, "", true, ts) }

func change1(row, column, value string, deleted bool, ts []int64) *tablet.Mutation {
	m := tablet.NewMutation([]byte(row))
	u := tablet.Update{Family: []byte(column), Value: []byte(value), Deleted: deleted}
	if len(ts) > 0 {
		u.Timestamp, u.HasTimestamp = ts[0], true
	}
	m.Add(u)
	return m
}

// entries reads "row/column=value@ts …"; without @ts the timestamp is one that a tablet assigns.
func entries(text string) (all []tablet.Entry) {
	for i, word := range strings.Fields(text) {
		cell, rest, _ := strings.Cut(word, "=")
		row, column, _ := strings.Cut(cell, "/")
		value, at, given := strings.Cut(rest, "@")
		ts := int64(1_700_000_000_000) - int64(i)
		if given {
			fmt.Sscan(at, &ts)
		}
		all = append(all, tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: []byte(row), Family: []byte(column), Timestamp: ts}), Value: []byte(value)})
	}
	return all
}

// agree runs f on a fresh model and wants a scan to be possible, or not.
func agree(t *testing.T, f func(m *Model), scans ...string) {
	t.Helper()
	all := map[string]bool{}
	for _, scan := range scans {
		want := !strings.HasPrefix(scan, "not ")
		scan = strings.TrimPrefix(scan, "not ")
		all[scan] = want
		m := NewModel(1)
		f(m)
		err := m.Check(Query{}, entries(scan))
		if (err == nil) != want {
			t.Errorf("scan %q: %v, want possible: %v", scan, err, want)
		}
	}
}

func TestModelAcknowledged(t *testing.T) {
	write := func(m *Model, muts ...*tablet.Mutation) { m.Ack(m.Begin(tablet.DurabilitySync, muts...)) }
	agree(t, func(m *Model) { write(m, put("a", "x", "1")) }, "a/x=1", "not ", "not a/x=2", "not a/x=1@5", "not a/x=1 b/x=1")
	agree(t, func(m *Model) { write(m, put("a", "x", "1", 5)) }, "a/x=1@5", "not a/x=1")
	agree(t, func(m *Model) { write(m, put("a", "x", "1")); write(m, put("a", "x", "2", 5)) }, "a/x=1", "not a/x=2@5")
	agree(t, func(m *Model) { write(m, put("a", "x", "1")); write(m, del("a", "x")); write(m, put("b", "x", "1")) }, "b/x=1", "not a/x=1 b/x=1")
	// A marker hides what is written under it later, until a full compaction takes it away.
	agree(t, func(m *Model) { write(m, del("a", "x", 9)); write(m, put("a", "x", "1", 5)) }, "", "not a/x=1@5")
	agree(t, func(m *Model) {
		write(m, del("a", "x", 9))
		m.Ack(m.BeginCompact(tablet.Range{}))
		write(m, put("a", "x", "1", 5))
	}, "a/x=1@5", "not ")
}

func TestModelUnknown(t *testing.T) {
	maybe := func(m *Model, muts ...*tablet.Mutation) { m.Unknown(m.Begin(tablet.DurabilitySync, muts...)) }
	agree(t, func(m *Model) { maybe(m, put("a", "x", "1")) }, "a/x=1", "")
	// Mutations of one row keep their order, those of different rows need not.
	agree(t, func(m *Model) { maybe(m, put("a", "x", "1"), put("a", "y", "2"), put("b", "x", "3")) },
		"", "a/x=1", "not a/y=2", "a/x=1 a/y=2", "b/x=3", "a/x=1 b/x=3")
	agree(t, func(m *Model) { m.Refused(m.Begin(tablet.DurabilitySync, put("a", "x", "1"))) }, "", "not a/x=1")
	// What a check has told stays told.
	agree(t, func(m *Model) {
		maybe(m, put("a", "x", "1"))
		if m.Check(Query{}, nil) != nil {
			panic("both are possible")
		}
	}, "", "not a/x=1")
	// Whether the marker is there shows only later.
	agree(t, func(m *Model) {
		maybe(m, del("a", "x", 9))
		m.Check(Query{}, nil)
		m.Ack(m.Begin(tablet.DurabilitySync, put("a", "x", "1", 5)))
	}, "", "a/x=1@5")
}

func TestModelAtOnce(t *testing.T) {
	// Two writes at once count in either order; one after the other only in theirs.
	agree(t, func(m *Model) {
		one, two := m.Begin(tablet.DurabilitySync, put("a", "x", "1")), m.Begin(tablet.DurabilitySync, put("a", "x", "2"))
		m.Ack(two)
		m.Ack(one)
	}, "a/x=1", "a/x=2", "not ")
	agree(t, func(m *Model) {
		one := m.Begin(tablet.DurabilitySync, put("a", "x", "1"))
		m.Ack(one)
		m.Ack(m.Begin(tablet.DurabilitySync, put("a", "x", "2")))
	}, "a/x=2", "not a/x=1")
	// A compaction may have found what was on its way when it ended, on a row that nobody knew of.
	agree(t, func(m *Model) {
		one := m.Begin(tablet.DurabilitySync, del("a", "x", 9))
		m.Ack(m.BeginCompact(tablet.Range{}))
		m.Ack(one)
		m.Ack(m.Begin(tablet.DurabilitySync, put("a", "x", "1", 5)))
	}, "", "a/x=1@5")
	// One that has not come back yet may be seen or not.
	agree(t, func(m *Model) { m.Begin(tablet.DurabilitySync, put("a", "x", "1")) }, "a/x=1", "")
}

func TestModelCrash(t *testing.T) {
	all := []tablet.Extent{{}}
	two := []tablet.Extent{{EndRow: []byte("m")}, {PrevEndRow: []byte("m")}}
	f := func(kept Level, extents []tablet.Extent, write func(m *Model), scans ...string) {
		t.Helper()
		agree(t, func(m *Model) { write(m); m.Crash(kept, extents) }, scans...)
	}
	write := func(m *Model, l Level, muts ...*tablet.Mutation) { m.Ack(m.Begin(l, muts...)) }
	sync, flush, log := tablet.DurabilitySync, tablet.DurabilityFlush, tablet.DurabilityLog

	f(sync, all, func(m *Model) { write(m, sync, put("a", "x", "1")) }, "a/x=1", "not ")
	f(sync, all, func(m *Model) { m.Begin(sync, put("a", "x", "1")) }, "a/x=1", "")
	f(flush, all, func(m *Model) { write(m, flush, put("a", "x", "1")) }, "a/x=1", "not ")
	// A power cut takes the end of what was only flushed, never the middle.
	three := func(m *Model) {
		write(m, flush, put("a", "x", "1"))
		write(m, flush, put("b", "x", "2"))
		write(m, flush, put("c", "x", "3"))
	}
	f(sync, all, three, "", "a/x=1", "a/x=1 b/x=2", "a/x=1 b/x=2 c/x=3", "not b/x=2", "not a/x=1 c/x=3")
	f(flush, all, three, "a/x=1 b/x=2 c/x=3", "not a/x=1 b/x=2")
	// A synced write behind them keeps them all.
	f(sync, all, func(m *Model) { three(m); write(m, sync, put("d", "x", "4")) }, "a/x=1 b/x=2 c/x=3 d/x=4", "not a/x=1 d/x=4", "not ", "not a/x=1 b/x=2")
	// So does a flush to files.
	f(sync, all, func(m *Model) { three(m); m.Ack(m.BeginFlush()); write(m, log, put("d", "x", "4")) },
		"a/x=1 b/x=2 c/x=3 d/x=4", "a/x=1 b/x=2 c/x=3", "not a/x=1 b/x=2")
	// What was never logged is there if a file has it; the log does not bring it back with what came after.
	none := tablet.DurabilityNone
	mixed := func(m *Model) {
		write(m, sync, put("a", "x", "1"))
		write(m, none, put("b", "x", "2"))
		write(m, none, put("c", "x", "3"))
		write(m, sync, put("d", "x", "4"))
		write(m, log, put("e", "x", "5"))
	}
	f(sync, all, mixed, "a/x=1 d/x=4", "a/x=1 b/x=2 d/x=4", "a/x=1 b/x=2 c/x=3 d/x=4 e/x=5", "a/x=1 d/x=4 e/x=5",
		"not a/x=1", "not a/x=1 c/x=3 d/x=4", "not a/x=1 b/x=2", "not a/x=1 b/x=2 c/x=3 e/x=5")
	// A row of which a matching world knows nothing may be empty: the marker may be there or not.
	agree(t, func(m *Model) {
		write(m, log, del("a", "x"))
		m.Crash(sync, all)
		if err := m.Check(Query{}, nil); err != nil {
			t.Error(err)
		}
		write(m, sync, put("a", "x", "1", 5))
	}, "", "a/x=1@5")
	// A power cut during the recovery from a crash of the process takes what that had left.
	agree(t, func(m *Model) { mixed(m); m.Begin(sync, put("f", "x", "6")); m.Crash(flush, all); m.Crash(sync, all) },
		"a/x=1 d/x=4", "a/x=1 d/x=4 e/x=5", "a/x=1 d/x=4 e/x=5 f/x=6", "not a/x=1", "not a/x=1 d/x=4 f/x=6")
	// Each tablet has an order of its own.
	apart := func(m *Model) {
		write(m, log, put("a", "x", "1"))
		write(m, log, put("z", "x", "2"))
		write(m, log, put("b", "x", "3"))
	}
	f(sync, two, apart, "", "a/x=1", "z/x=2", "a/x=1 b/x=3", "not b/x=3", "a/x=1 b/x=3 z/x=2")
	f(sync, all, apart, "not z/x=2", "not a/x=1 b/x=3")
	// What was in flight may be there with everything before it, or not.
	f(sync, all, func(m *Model) { three(m); m.Begin(flush, put("d", "x", "4")) }, "", "a/x=1 b/x=2 c/x=3 d/x=4", "not a/x=1 d/x=4")
}

// Unknown outcomes that are overwritten must not pile up.
func TestModelForgets(t *testing.T) {
	m := NewModel(1)
	for i := range 40 {
		m.Unknown(m.Begin(tablet.DurabilitySync, put("a", "x", fmt.Sprint(i))))
		m.Ack(m.Begin(tablet.DurabilitySync, put("a", "x", "last")))
		m.Ack(m.BeginCompact(tablet.Range{}))
	}
	if n := m.Possible(); n != 1 {
		t.Errorf("%d possible states, want 1", n)
	}
}

// What is forgotten must make no difference: a model and one that forgets nothing agree on every scan of random
// histories.
func TestForgetMakesNoDifference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var forgets, keeps Store
		versions := 1 + r.IntN(2)
		for step := range 12 {
			if r.IntN(6) == 0 {
				forgets.Compact(versions)
				keeps.Compact(versions)
			} else {
				m := change1("r", string(rune('a'+r.IntN(2))), fmt.Sprint(step), r.IntN(3) == 0, []int64{1 + r.Int64N(5)})
				forgets.Apply(m, 0)
				forgets.forget(versions)
				keeps.Apply(m, 0)
			}
			a, b := forgets.Scan(Query{MaxVersions: versions}), keeps.Scan(Query{MaxVersions: versions})
			if fmt.Sprint(a) != fmt.Sprint(b) {
				t.Fatalf("after step %d: %v, without forgetting %v", step, a, b)
			}
		}
	}
}

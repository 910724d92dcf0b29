package actors_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/iter"
)

// neverCompact leaves files as flushes make them.
var neverCompact = map[string]string{"table.compaction.major.ratio": "1000000", "table.file.max": "1000000"}

// readTest is a store with a table "t" of three tablets, and what a scan of all of it gives.
type readTest struct {
	*rapid.T
	store *actors.Store
	all   []tablet.Entry
}

// newReadTest writes few different keys, so that many are equal in every part, into memory and files.
func newReadTest(t *rapid.T, s *actors.Store, table string) *readTest {
	ctx := context.Background()
	splits := [][]byte{[]byte("b"), []byte("c")}
	properties := maps.Clone(neverCompact)
	for _, scope := range []string{"scan", "minc", "majc"} {
		properties["table.iterator."+scope+".vers"] = "" // all versions are kept
	}
	if err := s.CreateTable(ctx, table, splits, properties); err != nil {
		t.Fatal(err)
	}
	for i := range rapid.IntRange(0, 60).Draw(t, "writes") {
		m := tablet.NewMutation([]byte(rapid.SampledFrom([]string{"", "a", "b", "ba", "c", "cc", "d"}).Draw(t, "row")))
		m.Add(tablet.Update{
			Family:    []byte(rapid.SampledFrom([]string{"", "f"}).Draw(t, "family")),
			Timestamp: rapid.Int64Range(1, 3).Draw(t, "ts"), HasTimestamp: true,
			Deleted: rapid.IntRange(0, 9).Draw(t, "kind") == 0,
			Value:   fmt.Appendf(nil, "v%d", i),
		})
		if err := s.Apply(ctx, table, []*tablet.Mutation{m}); err != nil {
			t.Fatal(err)
		}
		if rapid.IntRange(0, 9).Draw(t, "flush") == 0 {
			if err := s.Flush(ctx, table); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := &readTest{T: t, store: s}
	r.all = r.scan(table, actors.ScanOptions{Versions: -1})
	return r
}

func (r *readTest) scan(table string, o actors.ScanOptions) (found []tablet.Entry) {
	sc, err := r.store.Scan(context.Background(), table, o)
	if err != nil {
		r.Fatal(err)
	}
	defer sc.Close()
	for e, err := range sc.All() {
		if err != nil {
			r.Fatal(err)
		}
		found = append(found, e.Clone())
	}
	return found
}

// in are the entries of all that lie in a range.
func (r *readTest) in(rng tablet.Range) (found []tablet.Entry) {
	for _, e := range r.all {
		if rng.Contains(&e.Key) {
			found = append(found, e)
		}
	}
	return found
}

func (r *readTest) drawRange() tablet.Range {
	bound := func(name string) *tablet.Bound {
		if rapid.Bool().Draw(r.T, name+" is open") {
			return nil
		}
		return &tablet.Bound{Inclusive: rapid.Bool().Draw(r.T, name+" inclusive"), Key: tablet.NewKey(tablet.Fields{
			Row:       []byte(rapid.SampledFrom([]string{"", "a", "b", "b\x00", "c", "d", "e"}).Draw(r.T, name)),
			Family:    []byte(rapid.SampledFrom([]string{"", "f"}).Draw(r.T, name+" family")),
			Timestamp: rapid.SampledFrom([]int64{1, 2, tablet.MaxTimestamp}).Draw(r.T, name+" ts"),
		})}
	}
	rng, err := tablet.NewRange(bound("start"), bound("end"))
	if err != nil {
		rng = tablet.RowRange(tablet.RowBounds{Start: []byte("b"), End: []byte("b"), EndExclusive: true})
	}
	return rng
}

func same(a, b []tablet.Entry) bool { return slices.Equal(shown(a), shown(b)) }

func shown(entries []tablet.Entry) (lines []string) {
	for _, e := range entries {
		lines = append(lines, fmt.Sprintf("%v = %s", e.Key, e.Value))
	}
	return lines
}

func withStore(t *testing.T, f func(s *actors.Store)) {
	s := openStore(t, vfs.Mem())
	defer closeStore(t, s)
	f(s)
	deadline := time.Now().Add(10 * time.Second)
	for { // sessions of scans that were given up end by themselves
		open, leases := s.OpenFiles()
		if leases == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d files are open with %d leases after all reads have ended", open, leases)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestPagesAreOneScan: a scan in pages, each a scan of its own from behind the last entry, is the scan in one piece, also
// where keys are equal in every part.
func TestPagesAreOneScan(t *testing.T) {
	tables := 0
	withStore(t, func(s *actors.Store) {
		rapid.Check(t, func(t *rapid.T) {
			tables++
			table := fmt.Sprint("t", tables)
			r := newReadTest(t, s, table)
			o := actors.ScanOptions{
				Versions: -1, Range: r.drawRange(), Limit: rapid.IntRange(1, 4).Draw(t, "limit"),
				PageEntries: rapid.IntRange(1, 3).Draw(t, "message"), Snapshot: rapid.Bool().Draw(t, "snapshot"),
			}
			want := r.in(o.Range)
			var got []tablet.Entry
			for {
				sc, err := s.Scan(context.Background(), table, o)
				if err != nil {
					t.Fatal(err)
				}
				n := 0
				for ; sc.Next(); n++ {
					got = append(got, sc.Entry().Clone())
				}
				if sc.Err() != nil || n > o.Limit {
					t.Fatalf("%d entries of %d, %v", n, o.Limit, sc.Err())
				}
				o.After = sc.Place()
				sc.Close()
				if n < o.Limit {
					break
				}
			}
			if !same(got, want) {
				t.Fatalf("in pages of %d\n%q\nin one piece\n%q", o.Limit, shown(got), shown(want))
			}
		})
	})
}

// TestIteratorIsAScan: wherever an iterator is sought, it gives what a scan of that range gives.
func TestIteratorIsAScan(t *testing.T) {
	tables := 0
	withStore(t, func(s *actors.Store) {
		rapid.Check(t, func(t *rapid.T) {
			tables++
			table := fmt.Sprint("t", tables)
			r := newReadTest(t, s, table)
			it, err := s.Iterator(table, actors.IteratorOptions{Versions: -1})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := it.Close(); err != nil {
					t.Fatal(err)
				}
			}()
			ctx := context.Background()
			for range rapid.IntRange(1, 8).Draw(t, "seeks") {
				rng := r.drawRange()
				if rapid.IntRange(0, 9).Draw(t, "flush") == 0 { // what it stands on goes from memory to a file
					if err := s.Flush(ctx, table); err != nil {
						t.Fatal(err)
					}
				}
				want := r.in(rng)
				if err := it.Seek(ctx, rng); err != nil {
					t.Fatal(err)
				}
				for i := range rapid.IntRange(0, len(want)+1).Draw(t, "entries") {
					e, ok := it.Top()
					if ok != (i < len(want)) || ok && !same([]tablet.Entry{e}, want[i:i+1]) {
						t.Fatalf("entry %d of %v is %v %v, want\n%q", i, rng, ok, e, shown(want))
					}
					if err := it.Next(ctx); ok != (err == nil) {
						t.Fatalf("next at %v: %v", ok, err)
					}
				}
			}
		})
	})
}

// A user iterator may go on behind the end of the range; nobody sees that.
func TestIteratorWithUserIterators(t *testing.T) {
	withStore(t, func(s *actors.Store) {
		ctx := t.Context()
		if err := s.CreateTable(ctx, "t", [][]byte{[]byte("b")}, nil); err != nil {
			t.Fatal(err)
		}
		for _, row := range []string{"a", "b", "c", "d"} {
			m := tablet.NewMutation([]byte(row))
			m.Put([]byte("f"), []byte("q"), nil, []byte("v"))
			m.Put([]byte("g"), []byte("q"), nil, []byte("v"))
			if err := s.Apply(ctx, "t", []*tablet.Mutation{m}); err != nil {
				t.Fatal(err)
			}
		}
		it, err := s.Iterator("t", actors.IteratorOptions{
			Iterators: []iter.Setting{{Name: "whole", Class: "WholeRowIterator", Priority: 50}},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer it.Close()
		rows := func(b tablet.RowBounds) (rows string) {
			t.Helper()
			for err := it.Seek(ctx, tablet.RowRange(b)); ; err = it.Next(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				e, ok := it.Top()
				if !ok {
					return rows
				}
				rows += string(e.Key.Row())
			}
		}
		f := func(b tablet.RowBounds, want string) {
			t.Helper()
			if got := rows(b); got != want {
				t.Errorf("%v: %q, want %q", tablet.RowRange(b), got, want)
			}
		}
		f(tablet.RowBounds{}, "abcd")
		f(tablet.RowBounds{Start: []byte("b"), End: []byte("c")}, "bc")
		f(tablet.RowBounds{Start: []byte("a"), End: []byte("a")}, "a")
		f(tablet.RowBounds{Start: []byte("c"), StartExclusive: true}, "d")
		f(tablet.RowBounds{}, "abcd")
	})
}

// A scan sees what was acknowledged before it was made, and as a snapshot nothing else, though it is read much later.
func TestScanSeesItsBeginning(t *testing.T) {
	f := func(snapshot bool, want string) {
		t.Helper()
		withStore(t, func(s *actors.Store) {
			ctx := t.Context()
			if err := s.CreateTable(ctx, "t", [][]byte{[]byte("b")}, neverCompact); err != nil {
				t.Fatal(err)
			}
			put := func(row, value string) {
				t.Helper()
				m := tablet.NewMutation([]byte(row))
				m.Put([]byte("f"), nil, nil, []byte(value))
				if err := s.Apply(ctx, "t", []*tablet.Mutation{m}); err != nil {
					t.Fatal(err)
				}
			}
			put("a", "old")
			put("c", "old")
			sc, err := s.Scan(ctx, "t", actors.ScanOptions{Snapshot: snapshot})
			if err != nil {
				t.Fatal(err)
			}
			defer sc.Close()
			put("a", "new")
			put("aa", "new")
			put("c", "new")
			if err := s.Flush(ctx, "t"); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Compact(ctx, "t", actors.CompactOptions{}); err != nil {
				t.Fatal(err)
			}
			var got string
			for e, err := range sc.All() {
				if err != nil {
					t.Fatal(err)
				}
				got += fmt.Sprintf("%s=%s ", e.Key.Row(), e.Value)
			}
			if got != want {
				t.Errorf("snapshot %v: %s, want %s", snapshot, got, want)
			}
		})
	}
	f(true, "a=old c=old ")
	f(false, "a=old c=new ")
}

func TestGet(t *testing.T) {
	withStore(t, func(s *actors.Store) {
		ctx := t.Context()
		if err := s.CreateTable(ctx, "t", [][]byte{[]byte("b")}, nil); err != nil {
			t.Fatal(err)
		}
		m := tablet.NewMutation([]byte("r"))
		m.Put([]byte("f"), []byte("q"), []byte("secret"), []byte("hidden"))
		m.Put([]byte("f"), []byte("q2"), nil, []byte("open"))
		if err := s.Apply(ctx, "t", []*tablet.Mutation{m}); err != nil {
			t.Fatal(err)
		}
		f := func(want string, row, qualifier string, tokens ...string) {
			t.Helper()
			e, ok, err := s.Get(ctx, "t", actors.Column{Row: []byte(row), Family: []byte("f"), Qualifier: []byte(qualifier)}, auths(t, tokens...))
			if err != nil || ok != (want != "") || string(e.Value) != want {
				t.Errorf("%s %s: %q %v %v, want %q", row, qualifier, e.Value, ok, err, want)
			}
		}
		f("", "r", "q")
		f("hidden", "r", "q", "secret")
		f("open", "r", "q2")
		f("", "r", "q1")
		f("", "a", "q2")
		if _, _, err := s.Get(ctx, "nosuch", actors.Column{}, auths(t)); !errors.Is(err, tablet.ErrUsage) {
			t.Errorf("get from a table that is not there: %v", err)
		}
	})
}

// An iterator that was closed, or whose store was, says so.
func TestIteratorAfterTheEnd(t *testing.T) {
	s := openStore(t, vfs.Mem())
	if err := s.CreateTable(t.Context(), "t", nil, nil); err != nil {
		t.Fatal(err)
	}
	it, err := s.Iterator("t", actors.IteratorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := it.Next(t.Context()); !errors.Is(err, tablet.ErrUsage) {
		t.Errorf("next before the first seek: %v", err)
	}
	closeStore(t, s)
	if err := it.Seek(t.Context(), tablet.Range{}); !errors.Is(err, tablet.ErrClosed) {
		t.Errorf("seek in a closed store: %v", err)
	}
	if err := errors.Join(it.Close(), it.Close()); err != nil {
		t.Error(err)
	}
	if err := it.Seek(t.Context(), tablet.Range{}); !errors.Is(err, tablet.ErrClosed) {
		t.Errorf("seek of a closed iterator: %v", err)
	}
	if _, err := s.Iterator("t", actors.IteratorOptions{}); !errors.Is(err, tablet.ErrClosed) {
		t.Errorf("iterator of a closed store: %v", err)
	}
}

// TestIteratorIsCancelled: a cancelled seek says so, also where nothing has to be waited for; the next one begins anew.
func TestIteratorIsCancelled(t *testing.T) {
	withStore(t, func(s *actors.Store) {
		if err := s.CreateTable(t.Context(), "t", nil, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(t.Context(), "t", []*tablet.Mutation{put("a")}); err != nil {
			t.Fatal(err)
		}
		it, err := s.Iterator("t", actors.IteratorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer it.Close()
		if err := it.Seek(t.Context(), tablet.Range{}); err != nil { // it is in the tablet from now on
			t.Fatal(err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := it.Seek(gone, tablet.Range{}); !errors.Is(err, context.Canceled) {
			t.Errorf("seek: %v", err)
		}
		if _, ok := it.Top(); ok {
			t.Error("an entry after an error")
		}
		if err := it.Seek(t.Context(), tablet.Range{}); err != nil {
			t.Error(err)
		}
		if _, ok := it.Top(); !ok {
			t.Error("no entry")
		}
	})
}

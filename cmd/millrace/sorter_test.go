package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/rfile"
)

// sorted runs entries through a sorter and returns them as the file holds them, group after group, and the number of
// temporary files that it took.
func sorted(t interface{ Fatalf(string, ...any) }, entries []tablet.Entry, layout grouping, budget int) ([]tablet.Entry, int) {
	ctx := context.Background()
	fsys := vfs.Mem()
	s := newSorter(fsys, "sort", layout, budget)
	check := func(err error) {
		if err != nil {
			t.Fatalf("%v", err)
		}
	}
	for i := range entries {
		check(s.add(ctx, &entries[i].Key, entries[i].Value))
	}
	f, err := fsys.Create("out.rf")
	check(err)
	w, err := rfile.NewWriter(f, rfile.WriterOptions{})
	check(err)
	check(s.writeTo(ctx, w, &progress{}))
	meta, err := w.Finish()
	check(err)
	if meta.Entries != int64(len(entries)) {
		t.Fatalf("%d entries written, want %d", meta.Entries, len(entries))
	}
	check(f.Close())
	files := s.runs.number
	check(s.close())
	if names, err := fsys.List("."); err != nil || len(names) != 1 {
		t.Fatalf("left behind: %q, %v", names, err)
	}
	return entriesIn(t, fsys, "out.rf"), files
}

func entriesIn(t interface{ Fatalf(string, ...any) }, fsys vfs.FS, name string) []tablet.Entry {
	f, err := fsys.Open(name)
	if err != nil {
		t.Fatalf("%v", err)
	}
	r, err := rfile.Open(f, rfile.ReaderOptions{})
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer r.Close()
	var out []tablet.Entry
	for _, g := range r.Groups() {
		s, err := openScan(context.Background(), r, []*rfile.Group{g}, tablet.Range{}, tablet.Families{})
		if err != nil {
			t.Fatalf("%v", err)
		}
		it := entryReader{scan: s}
		for {
			e, more, err := it.next(context.Background())
			if err != nil {
				t.Fatalf("%v", err)
			}
			if !more {
				break
			}
			out = append(out, e.Clone())
		}
		if err := s.close(); err != nil {
			t.Fatalf("%v", err)
		}
	}
	return out
}

// TestSorter compares the sorter with a stable sort in memory, on few different keys, so that order among equal ones
// shows, and with memory for so few entries that files are merged in several levels.
func TestSorter(t *testing.T) {
	most := 0
	rapid.Check(t, func(t *rapid.T) {
		field := rapid.SliceOfN(rapid.SampledFrom([]byte{'a', 'b', 0}), 0, 3)
		one := rapid.Custom(func(t *rapid.T) tablet.Key {
			return tablet.NewKey(tablet.Fields{Row: append([]byte("shared beginning"), field.Draw(t, "row")...),
				Family:    rapid.SampledFrom([][]byte{[]byte("f"), []byte("g"), []byte("h")}).Draw(t, "family"),
				Qualifier: field.Draw(t, "qualifier"), Timestamp: int64(rapid.IntRange(-1, 1).Draw(t, "ts")),
				Deleted: rapid.Bool().Draw(t, "deleted")})
		})
		keys := rapid.SliceOfN(one, 1, 20).Draw(t, "keys")
		var entries []tablet.Entry
		for i := range rapid.IntRange(0, 200).Draw(t, "entries") {
			value := fmt.Appendf(nil, "%d", i)
			if rapid.IntRange(0, 50).Draw(t, "long") == 0 {
				value = append(value, bytes.Repeat([]byte("x"), 3000)...)
			}
			entries = append(entries, tablet.Entry{Key: rapid.SampledFrom(keys).Draw(t, "key"), Value: value})
		}
		var layout grouping
		if rapid.Bool().Draw(t, "grouped") {
			if err := layout.addGroup("one", [][]byte{[]byte("g")}); err != nil {
				t.Fatal(err)
			}
		}
		got, files := sorted(t, entries, layout, rapid.SampledFrom([]int{4000, 20000, 1 << 20}).Draw(t, "budget"))
		most = max(most, files)
		want := slices.Clone(entries)
		slices.SortStableFunc(want, func(a, b tablet.Entry) int {
			if c := layout.of(a.Key.Family()) - layout.of(b.Key.Family()); c != 0 {
				return c
			}
			return tablet.Compare(&a.Key, &b.Key)
		})
		for i := range want {
			if tablet.Compare(&got[i].Key, &want[i].Key) != 0 || !bytes.Equal(got[i].Value, want[i].Value) {
				t.Fatalf("entry %d is %v %.20q, want %v %.20q", i, got[i].Key, got[i].Value, want[i].Key, want[i].Value)
			}
		}
	})
	if most < 8 {
		t.Errorf("at most %d temporary files, too few to be merged in levels", most)
	}
}

// TestSorterMemory holds what a sorter keeps against its budget.
func TestSorterMemory(t *testing.T) {
	const budget = 1 << 20
	s := newSorter(vfs.Mem(), "sort", grouping{}, budget)
	k := tablet.NewKey(tablet.Fields{Row: []byte("row")})
	for i := range 100000 {
		value := []byte(strings.Repeat("v", i%100))
		if err := s.add(context.Background(), &k, value); err != nil {
			t.Fatal(err)
		}
		held := cap(s.refs) * entryRefBytes
		for _, slab := range slices.Concat(s.slabs, s.spare) {
			held += cap(slab)
		}
		if held > budget || held != s.held {
			t.Fatalf("after %d entries %d bytes are held, %d counted, the budget is %d", i+1, held, s.held, budget)
		}
	}
	if s.runs.empty() {
		t.Error("nothing was written to temporary files")
	}
}

// TestSorterMerges counts files with many of them: levels keep what is open at once within bounds.
func TestSorterMerges(t *testing.T) {
	runs := newSortRuns(vfs.Mem(), "sort", grouping{}, 1)
	if runs.fanIn != 2 {
		t.Fatalf("fan-in %d", runs.fanIn)
	}
	ctx := context.Background()
	for i := range 100 {
		err := runs.write(ctx, func(_ context.Context, w *rfile.Writer) error {
			k := tablet.NewKey(tablet.Fields{Row: []byte("row")})
			return w.Append(&k, fmt.Appendf(nil, "%d", i))
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, level := range runs.levels {
			if len(level) >= runs.fanIn {
				t.Fatalf("a level of %d files", len(level))
			}
		}
	}
	names, err := runs.parent.List("sort")
	if err != nil || len(names) > 7 {
		t.Errorf("%d files after 100 spills, %v", len(names), err)
	}
}

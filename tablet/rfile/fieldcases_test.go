package rfile

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// TestSeekBeforeTheFirstKey seeks to keys that sort before everything in the file, also in the first entry's own row and
// column, after seeks elsewhere: each stands on the first entry.
func TestSeekBeforeTheFirstKey(t *testing.T) {
	var all []tablet.Entry
	for i := range 300 {
		all = append(all, tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: fmt.Appendf(nil, "b%03d", i/3), Family: []byte("f"),
			Qualifier: []byte("q"), Visibility: []byte("a"), Timestamp: int64(5 - i%3)}), Value: fmt.Append(nil, i)})
	}
	file, _ := writeGroups(t, WriterOptions{Codec: "none", BlockBytes: 100, IndexBlockBytes: 200}, all, [][]string{nil})
	r := readBytes(t, file)
	s := &reseeker{t: t, name: "before the first", all: all, c: r.Cursor(r.Groups()[0], CursorOptions{BatchEntries: 4})}
	row := all[0].Key.Row()
	for _, before := range []tablet.Key{
		{}, tablet.RowKey(nil), tablet.RowKey([]byte("a")), tablet.RowKey([]byte("b")), tablet.RowKey(row),
		tablet.NewKey(tablet.Fields{Row: row, Family: []byte("e\xff"), Timestamp: 1}),
		tablet.NewKey(tablet.Fields{Row: row, Family: []byte("f"), Timestamp: math.MinInt64}),
		tablet.NewKey(tablet.Fields{Row: row, Family: []byte("f"), Qualifier: []byte("q"), Timestamp: 1}),
		tablet.NewKey(tablet.Fields{Row: row, Family: []byte("f"), Qualifier: []byte("q"), Visibility: []byte("a"), Timestamp: 6}),
		tablet.NewKey(tablet.Fields{Row: row, Family: []byte("f"), Qualifier: []byte("q"), Visibility: []byte("a"), Timestamp: 5, Deleted: true}),
	} {
		if tablet.Compare(&before, &all[0].Key) >= 0 {
			t.Fatalf("%v is not before the first key", before)
		}
		for _, elsewhere := range []tablet.Range{{}, tablet.ExactRow([]byte("b050")), tablet.ExactRow([]byte("zzz")), tablet.ExactRow([]byte("a"))} {
			s.check(elsewhere, tablet.Families{}, 1)
			s.check(tablet.Range{}.WithStart(before), tablet.Families{}, 2)
			s.check(elsewhere, tablet.Families{}, -1)
			s.check(tablet.Range{}.After(before), tablet.Families{}, -1)
		}
	}
}

// TestIndexOfSeveralLevels counts what an index of several levels leads to: all blocks and entries are there, from the
// first key to the last, and the leaf entry in the middle is near the entry in the middle.
func TestIndexOfSeveralLevels(t *testing.T) {
	for _, nodeBytes := range []int{100, 300, 1000, 5000} {
		all := someIngest()[:15_000]
		file, _ := writeGroups(t, WriterOptions{Codec: "none", BlockBytes: 600, IndexBlockBytes: nodeBytes}, all, [][]string{nil})
		r := readBytes(t, file)
		g := r.Groups()[0]
		if g.IndexLevel() < 1 {
			t.Fatalf("nodes of %d bytes: %d levels", nodeBytes, g.IndexLevel()+1)
		}
		at, leaves, middle := 0, 0, -1
		err := r.Walk(context.Background(), g, Visitor{Leaf: func(l LeafInfo) error {
			leaves++
			at += l.Entries
			last := &all[at-1].Key
			if tablet.Compare(last, &l.Key) > 0 || at < len(all) && tablet.Compare(&l.Key, &all[at].Key) > 0 {
				return fmt.Errorf("leaf %d, %v, is not between entries %d and %d", leaves, l.Key, at-1, at)
			}
			if at == len(all) && tablet.Compare(last, &l.Key) != 0 {
				return fmt.Errorf("the last leaf's key is %v, want %v", l.Key, *last)
			}
			if leaves == g.Blocks/2 {
				middle = at
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if at != len(all) || leaves != g.Blocks || tablet.Compare(&g.FirstKey, &all[0].Key) != 0 {
			t.Errorf("nodes of %d bytes: %d entries in %d of %d leaves, first key %v", nodeBytes, at, leaves, g.Blocks, g.FirstKey)
		}
		if off := math.Abs(float64(middle)/float64(len(all)) - 0.5); off > 0.1 {
			t.Errorf("nodes of %d bytes: the middle leaf ends at entry %d of %d", nodeBytes, middle, len(all))
		}
	}
}

// TestSeekToIndexKeys seeks to each key of the index, whole and to its row alone, and behind it: index keys that are a
// block's last key, or that stand between two blocks, lead to the right one.
func TestSeekToIndexKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(117, 119))
	equal, between := 0, 0
	for _, block := range []int{1, 60, 300} {
		all := randomEntries(rng, 300, "ab\xff", []string{"f", "ff"})
		file, _ := writeGroups(t, WriterOptions{Codec: "none", BlockBytes: block, IndexBlockBytes: 150}, all, [][]string{nil})
		r := readBytes(t, file)
		g := r.Groups()[0]
		var keys []tablet.Key
		at := 0
		err := r.Walk(context.Background(), g, Visitor{Leaf: func(l LeafInfo) error {
			keys = append(keys, l.Key.Clone())
			if at += l.Entries; tablet.Compare(&all[at-1].Key, &l.Key) == 0 {
				equal++
			} else {
				between++
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		s := &reseeker{t: t, name: fmt.Sprint("blocks of ", block), all: all, c: r.Cursor(g, CursorOptions{BatchEntries: 3})}
		for _, i := range rng.Perm(len(keys)) {
			k := keys[i]
			s.check(tablet.Range{}.WithStart(k), tablet.Families{}, 2)
			s.check(tablet.Range{}.After(k), tablet.Families{}, 2)
			s.check(tablet.ExactRow(k.Row()), tablet.Families{}, -1)
			s.check(tablet.Range{}.WithStart(tablet.RowKey(k.Row())), tablet.Families{}, 2)
			s.check(tablet.Exact(k.Row(), k.Family(), k.Qualifier()), tablet.Families{}, -1)
		}
	}
	if equal < 50 || between < 5 {
		t.Errorf("%d index keys equal to a last key, %d between blocks: not what is meant to be tried", equal, between)
	}
}

// TestManyIndexEntries writes one column of so many versions, and one row of so many columns, that 16 bits do not count
// their blocks.
func TestManyIndexEntries(t *testing.T) {
	most := 200_000
	if testing.Short() {
		most = 70_000
	}
	for what, fields := range map[string]func(i int) tablet.Fields{
		"versions": func(i int) tablet.Fields {
			return tablet.Fields{Row: []byte("r"), Family: []byte("f"), Qualifier: []byte("q"), Timestamp: int64(most - i)}
		},
		"columns": func(i int) tablet.Fields {
			return tablet.Fields{Row: []byte("r"), Family: []byte("f"), Qualifier: fmt.Appendf(nil, "%07d", i), Timestamp: 1}
		},
	} {
		all := make([]tablet.Entry, most)
		for i := range all {
			all[i] = tablet.Entry{Key: tablet.NewKey(fields(i)), Value: []byte{byte(i)}}
		}
		file, meta := writeGroups(t, WriterOptions{Codec: "none", BlockBytes: 1, IndexBlockBytes: 20_000}, all, [][]string{nil})
		r := readBytes(t, file)
		g := r.Groups()[0]
		if g.Blocks <= math.MaxUint16 || meta.Entries != int64(most) {
			t.Fatalf("%s: %d entries in %d blocks", what, meta.Entries, g.Blocks)
		}
		reports, err := verifyAll(context.Background(), r)
		if err != nil || reports[0].Entries != int64(most) {
			t.Fatalf("%s: %+v, %v", what, reports, err)
		}
		s := &reseeker{t: t, name: what, all: all, c: r.Cursor(g, CursorOptions{})}
		for _, i := range []int{most - 1, 0, math.MaxUint16 - 1, math.MaxUint16, math.MaxUint16 + 1, most / 2} {
			s.check(tablet.Range{}.WithStart(all[i].Key), tablet.Families{}, 1)
			s.check(tablet.Range{}.After(all[i].Key), tablet.Families{}, 1)
		}
		s.check(tablet.Range{}, tablet.Families{}, -1)
	}
}

// TestOversizedEntries gives a writer keys and values whose lengths do not fit the format, and block sizes that do not: a
// clear error before anything is written. The bytes are mapped, not allocated, and never read.
func TestOversizedEntries(t *testing.T) {
	huge, err := unix.Mmap(-1, 0, 1<<32+1, unix.PROT_READ, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err != nil {
		t.Skip("no room to map 4 GiB:", err)
	}
	defer unix.Munmap(huge)
	for _, n := range []int{math.MaxInt32 - 1024, math.MaxInt32, 1 << 31, 1<<32 - 1, 1 << 32, 1<<32 + 1} {
		var out bytes.Buffer
		w, err := NewWriter(&out, WriterOptions{Codec: "none"})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.StartDefaultGroup(); err != nil {
			t.Fatal(err)
		}
		before := out.Len()
		k := tablet.RowKey([]byte("row"))
		if err := w.Append(&k, huge[:n]); tablet.OutcomeOf(err).Exit != 2 {
			t.Errorf("a value of %d bytes: %v", n, err)
		}
		if out.Len() != before {
			t.Errorf("a value of %d bytes: %d bytes written", n, out.Len()-before)
		}
		if _, err := w.Finish(); err == nil {
			t.Errorf("a value of %d bytes: the file was finished", n)
		}
	}
	sizes := []int{math.MaxInt32, 1 << 31, 3 << 30, 1 << 32, 1<<32 + 1000}
	for _, n := range sizes {
		for _, o := range []WriterOptions{{BlockBytes: n}, {IndexBlockBytes: n}} {
			if _, err := NewWriter(&bytes.Buffer{}, o); tablet.OutcomeOf(err).Exit != 2 {
				t.Errorf("%+v: %v", o, err)
			}
		}
	}
}

// TestReplacedFile puts a shorter and a longer file under the name of one that is open: who has it open reads the old
// file to its end, who opens it now the new one, each with its own length and index.
func TestReplacedFile(t *testing.T) {
	all := someIngest()[:3000]
	fs := vfs.Mem()
	put := func(name string, n int) {
		t.Helper()
		content, _ := writeGroups(t, WriterOptions{Codec: "lz4", BlockBytes: 500}, all[:n], [][]string{nil})
		f, err := fs.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	open := func() *Reader {
		t.Helper()
		f, err := fs.Open("a.rf")
		if err != nil {
			t.Fatal(err)
		}
		r, err := Open(f, ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		return r
	}
	check := func(r *Reader, n int) {
		t.Helper()
		sameEntries(t, fmt.Sprint(n, " entries"), collect(t, r, r.Groups()[0], 50, tablet.Range{}, tablet.Families{}), all[:n])
	}
	counts := []int{2000, 100, 3000}
	var readers []*Reader
	for i, n := range counts {
		put("new.rf", n)
		if err := fs.Rename("new.rf", "a.rf"); err != nil {
			t.Fatal(err)
		}
		readers = append(readers, open())
		for j := range i + 1 {
			check(readers[j], counts[j])
		}
	}
}

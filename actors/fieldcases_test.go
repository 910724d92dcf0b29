package actors_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// keysOf reads keys and values of a scan, at most n of them if n is not negative; between is called after the first.
func keysOf(t *testing.T, s *actors.Store, r tablet.Range, n int, between func()) (keys []tablet.Key, shown []string) {
	t.Helper()
	sc, err := s.Scan(t.Context(), "ci", actors.ScanOptions{Range: r, PageEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer sc.Close()
	for e, err := range sc.All() {
		if err != nil {
			t.Fatal(err)
		}
		keys, shown = append(keys, e.Key.Clone()), append(shown, fmt.Sprintf("%v=%s", e.Key, e.Value))
		if len(keys) == 1 && between != nil {
			between()
		}
		if len(keys) == n {
			break
		}
	}
	return keys, shown
}

// TestScansAcrossAFlush begins a scan on memory, flushes and compacts after its first entry, and reads on; then it seeks to
// the same key, before and behind it. All give what they gave when all was in memory.
func TestScansAcrossAFlush(t *testing.T) {
	seeds := 60
	if testing.Short() {
		seeds = 10
	}
	s := openStore(t, vfs.Mem())
	defer closeStore(t, s)
	ctx := t.Context()
	if err := s.CreateTable(ctx, "ci", nil, map[string]string{"table.file.compress.type": "none"}); err != nil {
		t.Fatal(err)
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(uint64(seed), 16))
		var muts []*tablet.Mutation
		for i := range 1 + rng.IntN(60) {
			m := tablet.NewMutation(fmt.Appendf(nil, "r%02d", rng.IntN(20)))
			m.Add(tablet.Update{Family: []byte("f"), Qualifier: fmt.Append(nil, rng.IntN(3)), Value: fmt.Appendf(nil, "%d/%d", seed, i),
				Timestamp: int64(100*seed + i), HasTimestamp: true, Deleted: rng.IntN(8) == 0})
			muts = append(muts, m)
		}
		if err := s.Apply(ctx, "ci", muts); err != nil {
			t.Fatal(err)
		}
		keys, want := keysOf(t, s, tablet.Range{}, -1, nil)
		if len(keys) == 0 {
			continue
		}
		at := rng.IntN(len(keys))
		from := tablet.Range{}.WithStart(keys[at])
		moved := func() {
			if err := s.Flush(ctx, "ci"); err != nil {
				t.Fatal(err)
			}
			if seed%4 == 0 {
				if _, err := s.Compact(ctx, "ci", actors.CompactOptions{}); err != nil {
					t.Fatal(err)
				}
			}
		}
		check := func(what string, r tablet.Range, between func(), want []string) {
			t.Helper()
			if _, got := keysOf(t, s, r, -1, between); !slices.Equal(got, want) {
				t.Fatalf("seed %d, %s: got\n%s\nwant\n%s", seed, what, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		check("over the flush", from, moved, want[at:])
		check("the same key", from, nil, want[at:])
		check("behind it", tablet.Range{}.After(keys[at]), nil, want[at+1:])
		before := max(0, at-1)
		check("the one before", tablet.Range{}.WithStart(keys[before]), nil, want[before:])
		check("from the start", tablet.Range{}, nil, want)
	}
}

// TestDamagedFileStopsItsOwnScansOnly cuts a file of one of three tablets: scans of it end with an error that names file
// and offset, those of the others go on as before, and so do writes and flushes of all.
func TestDamagedFileStopsItsOwnScansOnly(t *testing.T) {
	dir := t.TempDir()
	s, err := actors.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	ctx := t.Context()
	if err := s.CreateTable(ctx, "ci", [][]byte{[]byte("h"), []byte("p")}, nil); err != nil {
		t.Fatal(err)
	}
	files := func() []string {
		names, err := filepath.Glob(filepath.Join(dir, "*", "*.rf"))
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	write := func(row string) {
		t.Helper()
		if err := s.Apply(ctx, "ci", []*tablet.Mutation{put(row)}); err != nil {
			t.Fatal(err)
		}
		if err := s.Flush(ctx, "ci"); err != nil {
			t.Fatal(err)
		}
	}
	write("k")
	damaged := files()
	if len(damaged) != 1 {
		t.Fatalf("files %q, want one", damaged)
	}
	write("a")
	write("z")
	rng := rand.New(rand.NewPCG(129, 1))
	info, err := os.Stat(damaged[0])
	if err != nil {
		t.Fatal(err)
	}
	cut := rng.Int64N(info.Size())
	if err := os.Truncate(damaged[0], cut); err != nil {
		t.Fatal(err)
	}
	rows := func(from, to string) (rows []string, err error) {
		sc, err := s.Scan(ctx, "ci", actors.ScanOptions{Range: tablet.RowRange(tablet.RowBounds{Start: []byte(from), End: []byte(to)})})
		if err != nil {
			return nil, err
		}
		defer sc.Close()
		for e, err := range sc.All() {
			if err != nil {
				return rows, err
			}
			rows = append(rows, string(e.Key.Row()))
		}
		return rows, nil
	}
	f := func(from, to, want string, hit bool) {
		t.Helper()
		got, err := rows(from, to)
		var corrupt *tablet.CorruptError
		if strings.Join(got, " ") != want || (err != nil) != hit {
			t.Errorf("rows %s to %s: %q, %v; want %q", from, to, got, err, want)
		}
		if hit && (!errors.As(err, &corrupt) || filepath.Base(corrupt.File) != filepath.Base(damaged[0]) || corrupt.Offset < 0 || corrupt.Offset > cut) {
			t.Errorf("rows %s to %s: %v names not the file, cut at %d", from, to, err, cut)
		}
	}
	for range 2 {
		f("a", "g", "a", false)
		f("k", "k", "", true)
		f("q", "zz", "z", false)
		f("a", "zz", "a", true)
	}
	write("b")
	write("y")
	write("l") // in the tablet of the damaged file: its new files are written, though not read through
	f("a", "g", "a b", false)
	f("q", "zz", "y z", false)
	f("i", "o", "", true)
}

// TestOutputsOfNothingLeaveNoFile flushes and compacts what holds nothing, or nothing that stays: no file is made, listed or
// left, and the table works on.
func TestOutputsOfNothingLeaveNoFile(t *testing.T) {
	s := openStore(t, vfs.Mem())
	defer closeStore(t, s)
	ctx := t.Context()
	if err := s.CreateTable(ctx, "ci", nil, map[string]string{"table.file.compress.type": "none"}); err != nil {
		t.Fatal(err)
	}
	apply := func(ts int64, deleted bool) {
		t.Helper()
		m := tablet.NewMutation([]byte("r"))
		m.Add(tablet.Update{Family: []byte("f"), Value: []byte("v"), Timestamp: ts, HasTimestamp: true, Deleted: deleted})
		if err := s.Apply(ctx, "ci", []*tablet.Mutation{m}); err != nil {
			t.Fatal(err)
		}
	}
	flush := func() {
		t.Helper()
		if err := s.Flush(ctx, "ci"); err != nil {
			t.Fatal(err)
		}
	}
	compact := func() {
		t.Helper()
		if _, err := s.Compact(ctx, "ci", actors.CompactOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string, rows, listed int) {
		t.Helper()
		if _, shown := keysOf(t, s, tablet.Range{}, -1, nil); len(shown) != rows {
			t.Errorf("%s: rows %q, want %d", when, shown, rows)
		}
		stats, err := s.Stats(ctx, "ci")
		if err != nil {
			t.Fatal(err)
		}
		if n := len(stats[0].Files); n != listed {
			t.Errorf("%s: %d files listed, want %d", when, n, listed)
		}
		var names []string
		for range 1000 { // files are removed some time after the last reader has gone
			if names, err = s.FilesForTest(); err != nil || len(names) == listed {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if err != nil || len(names) != listed {
			t.Errorf("%s: there are files %q, %v; want %d", when, names, err, listed)
		}
	}
	flush()
	check("an empty flush", 0, 0)
	compact()
	check("an empty compaction", 0, 0)
	for round := range int64(3) {
		apply(10*round+1, false)
		flush()
		check("a value", 1, 1)
		apply(10*round+2, true)
		flush()
		check("a value and its delete", 0, 2)
		compact()
		check("what cancels out, compacted", 0, 0)
		flush()
		compact()
		check("and again", 0, 0)
	}
	apply(100, false)
	flush()
	check("at last", 1, 1)
}

// TestLargeKeysAndValues brings empty and large values and long fields through memory, a flush and a compaction, and has
// a key over the limit refused.
func TestLargeKeysAndValues(t *testing.T) {
	s := openStore(t, vfs.Mem())
	defer closeStore(t, s)
	ctx := t.Context()
	if err := s.CreateTable(ctx, "ci", nil, map[string]string{"table.file.compress.type": "none"}); err != nil {
		t.Fatal(err)
	}
	const most = 1 << 20
	apply := func(row, qualifier string, value int) error {
		m := tablet.NewMutation([]byte(row))
		m.Put([]byte("f"), []byte(qualifier), nil, []byte(strings.Repeat("v", value)))
		return s.Apply(ctx, "ci", []*tablet.Mutation{m})
	}
	var want []string
	add := func(row, qualifier string, value int) {
		t.Helper()
		if err := apply(row, qualifier, value); err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprintf("%d %d %d", len(row), len(qualifier), value))
	}
	add("a", "", 0)
	add("b", "", 1)
	add("c", "", 1<<20)
	add("d", "", 4<<20)
	add("e", strings.Repeat("q", 100_000), 8)
	add(strings.Repeat("k", 200_000), "", 8)
	add(strings.Repeat("z", most-1), "", 8) // with the family just within the limit
	refused := func(row, qualifier string) {
		t.Helper()
		if err := apply(row, qualifier, 1); tablet.OutcomeOf(err).Exit != 2 {
			t.Errorf("a row of %d and a qualifier of %d bytes: %v", len(row), len(qualifier), err)
		}
	}
	refused(strings.Repeat("z", most), "")
	refused(strings.Repeat("z", most/2), strings.Repeat("q", most/2))
	check := func(when string) {
		t.Helper()
		sc, err := s.Scan(ctx, "ci", actors.ScanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer sc.Close()
		var got []string
		for e, err := range sc.All() {
			if err != nil {
				t.Fatal(when, err)
			}
			got = append(got, fmt.Sprintf("%d %d %d", len(e.Key.Row()), len(e.Key.Qualifier()), len(e.Value)))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", when, got, want)
		}
	}
	check("in memory")
	if err := s.Flush(ctx, "ci"); err != nil {
		t.Fatal(err)
	}
	check("flushed")
	if _, err := s.Compact(ctx, "ci", actors.CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	check("compacted")
}

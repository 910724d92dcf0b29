package actors_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"millrace/actors"
	"millrace/compactor/plan"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/iter"
)

// model is the slow, obvious table: the newest entry of each cell. Timestamps grow with each write.
type model struct {
	rng   *rand.Rand
	ts    int64
	cells map[string]string // value, or "" for a deleted cell
	keys  []string
}

func newModel() *model { return &model{rng: rand.New(rand.NewPCG(1, 2)), cells: map[string]string{}} }

// mutation makes one like those of continuous ingest: a random row of 16 digits, one column; sometimes it overwrites or
// deletes an old cell.
func (m *model) mutation() *tablet.Mutation {
	m.ts++
	key := fmt.Sprintf("%016x %04x %04x", m.rng.Uint64(), m.rng.Uint64N(1<<15), m.rng.Uint64N(1<<15))
	old := len(m.keys) > 0 && m.rng.IntN(10) == 0
	if old {
		key = m.keys[m.rng.IntN(len(m.keys))]
	} else {
		m.keys = append(m.keys, key)
	}
	f := strings.Fields(key)
	mut := tablet.NewMutation([]byte(f[0]))
	u := tablet.Update{Family: []byte(f[1]), Qualifier: []byte(f[2]), Timestamp: m.ts, HasTimestamp: true}
	if u.Deleted = old && m.rng.IntN(3) == 0; u.Deleted {
		m.cells[key] = ""
	} else {
		u.Value = fmt.Appendf(nil, "value %d of %s", m.ts, key)
		m.cells[key] = string(u.Value)
	}
	mut.Add(u)
	return mut
}

func (m *model) mutations(n int) []*tablet.Mutation {
	out := make([]*tablet.Mutation, n)
	for i := range out {
		out[i] = m.mutation()
	}
	return out
}

// rows are the visible entries in a range of rows, in order.
func (m *model) rows(from, to string) []string {
	var out []string
	for k, v := range m.cells {
		if v != "" && k >= from && (to == "" || k < to) {
			out = append(out, k+" = "+v)
		}
	}
	slices.Sort(out)
	return out
}

// scanRows reads what rows gives.
func scanRows(t *testing.T, s *actors.Store, o actors.ScanOptions) []string {
	t.Helper()
	sc, err := s.Scan(t.Context(), "ci", o)
	if err != nil {
		t.Fatal(err)
	}
	defer sc.Close()
	var out []string
	for e, err := range sc.All() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %s %s = %s", e.Key.Row(), e.Key.Family(), e.Key.Qualifier(), e.Value))
	}
	return out
}

func (m *model) check(t *testing.T, s *actors.Store, when string) {
	t.Helper()
	if got, want := scanRows(t, s, actors.ScanOptions{}), m.rows("", ""); !slices.Equal(got, want) {
		t.Fatalf("%s: a scan gives %d entries, want %d", when, len(got), len(want))
	}
	lo, hi := "3", "b2"
	got := scanRows(t, s, actors.ScanOptions{Range: tablet.RowRange(tablet.RowBounds{Start: []byte(lo), End: []byte(hi), EndExclusive: true}), PageEntries: 7})
	if want := m.rows(lo, hi); !slices.Equal(got, want) {
		t.Fatalf("%s: a scan of rows %s to %s gives %d entries, want %d", when, lo, hi, len(got), len(want))
	}
}

var eighths = [][]byte{[]byte("2"), []byte("4"), []byte("6"), []byte("8"), []byte("a"), []byte("c"), []byte("e")}

func openStore(t *testing.T, fs vfs.FS, options ...actors.Option) *actors.Store {
	t.Helper()
	s, err := actors.Open(t.Context(), "", append(options, actors.WithFS(fs))...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closeStore(t *testing.T, s *actors.Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
	if alive := s.Runtime().Alive(); len(alive) > 0 {
		t.Errorf("alive after Close: %v", alive)
	}
	if over := s.Runtime().Overfilled(); len(over) > 0 {
		t.Errorf("mailboxes filled beyond their bounds: %+v", over)
	}
}

// TestStoreEndToEnd: eight tablets take continuous ingest while memory, ratio and file limit make them flush and compact,
// and give at every moment what the model gives; both merges make the same bytes of the same files; nothing is left.
func TestStoreEndToEnd(t *testing.T) {
	total := 200_000
	if testing.Short() || raceEnabled {
		total = 40_000
	}
	fs := vfs.Mem()
	s := openStore(t, fs, actors.WithProfile(plan.V1_5), actors.WithProperties(map[string]string{
		"tserver.memory.maps.max": fmt.Sprint(30 * total), "tserver.compaction.major.concurrent.max": "9",
	}))
	ctx := t.Context()
	err := s.CreateTable(ctx, "ci", eighths, map[string]string{
		"table.compaction.major.ratio": "2", "table.file.max": "5", "table.file.compress.type": "snappy", "table.file.compress.blocksize": "4K",
	})
	if err != nil {
		t.Fatal(err)
	}
	m := newModel()
	var acks []*actors.Ack
	for written := 0; written < total; {
		for range 8 {
			batch := m.mutations(500)
			written += len(batch)
			ack, err := s.ApplyAsync(ctx, "ci", batch)
			if err != nil {
				t.Fatal(err)
			}
			acks = append(acks, ack)
		}
		if written%(total/5) < 4000 {
			for _, a := range acks {
				if err := a.Wait(ctx); err != nil {
					t.Fatal(err)
				}
			}
			acks = nil
			m.check(t, s, fmt.Sprintf("after %d writes", written))
		}
	}
	for _, a := range acks {
		if err := a.Wait(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Flush(ctx, "ci"); err != nil {
		t.Fatal(err)
	}
	m.check(t, s, "after the flush")
	stats, err := s.Stats(ctx, "ci")
	if err != nil {
		t.Fatal(err)
	}
	var flushes, compactions, mutations int64
	for _, st := range stats {
		flushes += st.Counts.Flushes
		compactions += st.Counts.Compactions
		mutations += st.Counts.Mutations
		if st.Counts.JobFailures > 0 || st.MemoryEntries > 0 || len(st.Files) > 8 {
			t.Errorf("tablet %v: %+v, %d files", st.Extent, st.Counts, len(st.Files))
		}
	}
	if mutations != int64(total) || flushes < 16 || compactions < 4 {
		t.Errorf("%d mutations, %d flushes, %d compactions: the test did not exercise what it should", mutations, flushes, compactions)
	}
	checkFullCompactions(t, s, m)
	closeStore(t, s)
	if n := fs.OpenFiles(); n != 0 {
		t.Errorf("%d files are open after Close", n)
	}
}

func checkFullCompactions(t *testing.T, s *actors.Store, m *model) {
	ctx := t.Context()
	var hashes [2][][32]byte
	for round := range 2 {
		for i, mode := range []iter.Mode{iter.Old, iter.New} {
			done, err := s.Compact(ctx, "ci", actors.CompactOptions{Mode: &mode, Scratch: true, NoFlush: true})
			if err != nil {
				t.Fatal(err)
			}
			var these [][32]byte
			for _, c := range done {
				if c.Books.Read == 0 || c.Merge.Entries != c.Books.Read || c.Took <= 0 || c.CPU <= 0 || len(c.Inputs) == 0 {
					t.Errorf("scratch compaction %+v", c)
				}
				these = append(these, c.Hash)
			}
			if round > 0 && !slices.Equal(these, hashes[i]) {
				t.Errorf("%v: the same inputs gave other bytes", mode)
			}
			hashes[i] = these
		}
	}
	if !slices.Equal(hashes[0], hashes[1]) || len(hashes[0]) != 8 {
		t.Errorf("the modes differ: %x and %x", hashes[0], hashes[1])
	}
	m.check(t, s, "after scratch compactions")
	done, err := s.Compact(ctx, "ci", actors.CompactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m.check(t, s, "after a full compaction")
	var entries int64
	for _, c := range done {
		entries += c.Output.Entries
		if c.Output.Deletes != 0 {
			t.Errorf("tablet %v: a full compaction left %d delete markers", c.Extent, c.Output.Deletes)
		}
	}
	if want := len(m.rows("", "")); entries != int64(want) {
		t.Errorf("%d entries after a full compaction, want %d", entries, want)
	}
	checkFiles(t, s)
}

// checkFiles wants each tablet to have one file, and the directory to hold those and no other.
func checkFiles(t *testing.T, s *actors.Store) {
	t.Helper()
	stats, err := s.Stats(t.Context(), "ci")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, st := range stats {
		if len(st.Files) != 1 {
			t.Errorf("tablet %v has %d files", st.Extent, len(st.Files))
		}
		for _, f := range st.Files {
			want = append(want, path.Base(f.Name))
		}
	}
	slices.Sort(want)
	var got []string
	for range 100 { // obsolete files are removed behind the scenes
		if got, err = s.FilesForTest(); err != nil {
			t.Fatal(err)
		}
		if slices.Equal(got, want) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("files %v, want %v", got, want)
}

func TestStoreRefuses(t *testing.T) {
	fs := vfs.Mem()
	s := openStore(t, fs)
	ctx := t.Context()
	if _, err := actors.Open(ctx, "", actors.WithFS(fs)); !errors.Is(err, vfs.ErrLocked) {
		t.Errorf("second open: %v", err)
	}
	usage := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, tablet.ErrUsage) {
			t.Errorf("%s: %v", what, err)
		}
	}
	usage("no such property", s.CreateTable(ctx, "t", nil, map[string]string{"table.filemax": "3"}))
	if err := s.CreateTable(ctx, "t", nil, nil); err != nil {
		t.Fatal(err)
	}
	usage("table twice", s.CreateTable(ctx, "t", nil, nil))
	usage("table without a name", s.CreateTable(ctx, "", nil, nil))
	usage("write to no table", s.Apply(ctx, "no", []*tablet.Mutation{put("a")}))
	usage("flush of no table", s.Flush(ctx, "no"))
	_, err := s.Compact(ctx, "no", actors.CompactOptions{})
	usage("compaction of no table", err)
	_, err = s.Compact(ctx, "t", actors.CompactOptions{Codec: "lzo"})
	usage("no such codec", err)
	_, err = s.Scan(ctx, "no", actors.ScanOptions{})
	usage("scan of no table", err)
	_, err = s.Stats(ctx, "no")
	usage("stats of no table", err)

	bad := tablet.NewMutation([]byte("b"))
	bad.Put([]byte("f"), nil, []byte("a&"), []byte("v"))
	err = s.Apply(ctx, "t", []*tablet.Mutation{put("a"), bad, put("c")})
	var refused *actors.RefusedError
	if !errors.As(err, &refused) || len(refused.Refused) != 1 || refused.Refused[0].Mutation != bad {
		t.Errorf("a bad label: %v", err)
	}
	if err := s.Flush(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	if err := s.Close(ctx); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if err := s.Apply(ctx, "t", []*tablet.Mutation{put("a")}); !errors.Is(err, tablet.ErrClosed) {
		t.Errorf("write after Close: %v", err)
	}
	if _, err := s.Scan(ctx, "t", actors.ScanOptions{}); !errors.Is(err, tablet.ErrClosed) {
		t.Errorf("scan after Close: %v", err)
	}
}

// What is not closed in order is closed by Close: a scan in the middle, a compaction under way, writers that wait.
func TestStoreClosesUnderLoad(t *testing.T) {
	fs := vfs.Mem()
	s := openStore(t, fs, actors.WithProperties(map[string]string{"tserver.memory.maps.max": "2M", "tserver.total.mutation.queue.max": "300K"}))
	ctx := t.Context()
	if err := s.CreateTable(ctx, "ci", eighths, map[string]string{"table.file.compress.type": "none"}); err != nil {
		t.Fatal(err)
	}
	m := newModel()
	if err := s.Apply(ctx, "ci", m.mutations(20_000)); err != nil {
		t.Fatal(err)
	}
	sc, err := s.Scan(ctx, "ci", actors.ScanOptions{})
	if err != nil || !sc.Next() {
		t.Fatal(err, sc.Err())
	}
	results := make(chan error, 10)
	go func() { _, err := s.Compact(ctx, "ci", actors.CompactOptions{}); results <- err }()
	for i := range 4 {
		batch := newModel().mutations(20_000 + i)
		go func() { results <- s.Apply(ctx, "ci", batch) }()
	}
	time.Sleep(20 * time.Millisecond)
	closeStore(t, s)
	for range 5 {
		if err := <-results; err != nil && !errors.Is(err, tablet.ErrClosed) && !errors.Is(err, context.Canceled) {
			t.Errorf("a call under way ended with %v", err)
		}
	}
	for sc.Next() {
	}
	if sc.Err() == nil {
		t.Error("a scan went on to its end after Close")
	}
	sc.Close()
	if n := fs.OpenFiles(); n != 0 {
		t.Errorf("%d files are open after Close", n)
	}
}

// A store on a real directory, in the present directory's file system.
func TestStoreOnDisk(t *testing.T) {
	dir := t.TempDir()
	s, err := actors.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CreateTable(t.Context(), "ci", nil, nil); err != nil {
		t.Fatal(err)
	}
	m := newModel()
	if err := s.Apply(t.Context(), "ci", m.mutations(1000)); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(t.Context(), "ci"); err != nil {
		t.Fatal(err)
	}
	m.check(t, s, "on disk")
	closeStore(t, s)
}

func TestScanSeesWhatItMay(t *testing.T) {
	s := openStore(t, vfs.Mem())
	defer closeStore(t, s)
	ctx := t.Context()
	if err := s.CreateTable(ctx, "ci", nil, nil); err != nil {
		t.Fatal(err)
	}
	add := func(label, value string, ts int64) {
		m := tablet.NewMutation([]byte("r"))
		m.Add(tablet.Update{Family: []byte("f"), Qualifier: []byte("q"), Visibility: []byte(label), Value: []byte(value), Timestamp: ts, HasTimestamp: true})
		if err := s.Apply(ctx, "ci", []*tablet.Mutation{m}); err != nil {
			t.Fatal(err)
		}
	}
	add("", "open", 1)
	add("", "open, newer", 2)
	add("a&b", "secret", 1)
	f := func(o actors.ScanOptions, want ...string) {
		t.Helper()
		sc, err := s.Scan(ctx, "ci", o)
		if err != nil {
			t.Fatal(err)
		}
		defer sc.Close()
		var got []string
		for e, err := range sc.All() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(bytes.Clone(e.Value)))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: got %q, want %q", o, got, want)
		}
	}
	f(actors.ScanOptions{}, "open, newer")
	f(actors.ScanOptions{Authorizations: auths(t, "a")}, "open, newer")
	f(actors.ScanOptions{Authorizations: auths(t, "a", "b")}, "open, newer", "secret")
	f(actors.ScanOptions{Versions: -1}, "open, newer", "open")
	f(actors.ScanOptions{Columns: iter.FetchColumns(iter.Column{Family: []byte("g"), Whole: true})})
}

// A store is ready when Open returns, whatever is called first.
func TestStoreIsReadyWhenOpen(t *testing.T) {
	for i := range 30 {
		s := openStore(t, vfs.Mem())
		if i%2 == 0 {
			if err := s.Apply(t.Context(), "no", []*tablet.Mutation{put("a")}); !errors.Is(err, tablet.ErrUsage) {
				t.Errorf("first call: %v", err)
			}
		}
		closeStore(t, s)
	}
}

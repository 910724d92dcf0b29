package storage

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/manifest"
	"millrace/tablet/rfile"
	"millrace/tablet/wal"
)

var (
	seedFlag  = flag.Uint64("seed", 1, "seed of the tests that draw at random")
	casesFlag = flag.Int("n", 0, "number of cases to try; 0 is each test's default")
)

// cases is how many cases a test tries.
func cases(byDefault int) int {
	if *casesFlag > 0 {
		return *casesFlag
	}
	return max(byDefault/thin, 1)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var now = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

var self = Holder{PID: 4711, Host: "here", Since: now}

// store is the least that opens, writes and closes a store: one table of one tablet.
type store struct {
	t      testing.TB
	fs     vfs.FS
	lock   interface{ Close() error }
	loaded *Loaded
	next   uint64
	w      *manifest.Writer
	log    *wal.Log
	number uint64 // of the tablet
	// acknowledged are the entries logged and not in files.
	acknowledged int
}

// open opens what is there, or makes a store.
func open(t testing.TB, fsys vfs.FS) *store {
	t.Helper()
	s := &store{t: t, fs: fsys}
	var err error
	s.lock, err = TakeLock(fsys, self)
	check(t, err)
	check(t, Make(fsys))
	s.loaded, err = Load(t.Context(), fsys)
	check(t, err)
	report, err := s.loaded.Replay(t.Context(), func(*wal.Entry) error { s.acknowledged++; return nil })
	check(t, err)
	s.next = s.loaded.NextNumber
	s.w, err = manifest.NewWriter(fsys, s.loaded.State, manifest.Options{NextNumber: s.give, NextLSN: report.NextLSN})
	check(t, err)
	s.log, err = wal.New(fsys, wal.Options{NextNumber: s.give, NextLSN: s.w.State().NextLSN(), Recovered: &report})
	check(t, err)
	_, err = Sweep(fsys, s.loaded, s.w)
	check(t, err)
	if table := s.w.State().Table("t"); table != nil {
		for tab := range s.w.State().Tablets(table) {
			s.number = tab.Number
		}
		return s
	}
	s.number = s.give()
	_, err = s.w.Record(manifest.CreateTable{Table: "t", ID: s.give(), Tablets: []uint64{s.number}})
	check(t, err)
	return s
}

func (s *store) give() uint64 {
	s.next++
	return s.next - 1
}

func (s *store) tablet() *manifest.Tablet { return s.w.State().Tablet(s.number) }

// put logs entries under the session to come.
func (s *store) put(rows ...string) {
	s.t.Helper()
	for _, row := range rows {
		m := tablet.NewMutation([]byte(row))
		m.Put([]byte("f"), []byte("q"), nil, []byte("value of "+row))
		check(s.t, s.log.Append(&wal.Entry{Tablet: s.number, Session: s.tablet().Session + 1, Timestamp: 7, Mutations: []*tablet.Mutation{m}}, tablet.DurabilitySync))
	}
	check(s.t, s.log.Commit(now))
	s.acknowledged += len(rows)
}

// write makes a data file, synced with its name, that nothing names yet.
func (s *store) write(ages tablet.AgeRange, rows ...string) *manifest.FileRef {
	s.t.Helper()
	number := s.give()
	name := manifest.FileName("F", number)
	f, err := s.fs.Create(name)
	check(s.t, err)
	w, err := rfile.NewWriter(f, rfile.WriterOptions{BlockBytes: 200, FileID: [16]byte{byte(number), 1}})
	check(s.t, err)
	slices.Sort(rows)
	for _, row := range rows {
		k := tablet.NewKey(tablet.Fields{Row: []byte(row), Family: []byte("f"), Timestamp: int64(ages.Newest), Deleted: strings.HasSuffix(row, "0")})
		check(s.t, w.Append(&k, fmt.Appendf(nil, "%s of file %d", row, number)))
	}
	meta, err := w.Finish()
	check(s.t, errors.Join(err, f.Sync(), f.Close(), s.fs.SyncDir(manifest.DataDir)))
	meta.Number, meta.Name, meta.Ages = number, name, ages
	return &manifest.FileRef{FileMeta: meta}
}

// flush puts what is logged into a file.
func (s *store) flush(rows ...string) {
	s.t.Helper()
	tab := s.tablet()
	age := tab.NextAge
	f := s.write(tablet.AgeRange{Oldest: age, Newest: age}, rows...)
	_, err := s.w.Record(manifest.Install{Tablet: s.number, Session: tab.Session + 1, Time: tab.Time + 1, Add: f})
	check(s.t, err)
	s.acknowledged = 0
	s.log.Flushed(s.number, s.tablet().Session)
	_, err = s.log.Trim()
	check(s.t, err)
}

// compact makes one file of all.
func (s *store) compact(rows ...string) {
	s.t.Helper()
	tab := s.tablet()
	e := manifest.Swap{Tablet: s.number}
	for _, f := range tab.Files {
		e.Remove = append(e.Remove, f.Number)
	}
	if len(rows) > 0 {
		e.Add = s.write(tablet.AgeRange{Oldest: tab.Files[len(tab.Files)-1].Ages.Oldest, Newest: tab.Files[0].Ages.Newest}, rows...)
	}
	done, err := s.w.Record(e)
	check(s.t, err)
	for _, f := range done.Unnamed {
		check(s.t, s.fs.Remove(f.Name))
	}
}

func (s *store) close() {
	s.t.Helper()
	check(s.t, errors.Join(s.log.Close(now), s.w.Close(), s.lock.Close()))
}

// rows are n rows with a prefix.
func rows(prefix string, n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%s%03d", prefix, i))
	}
	return out
}

// aStore is a closed store with two data files and a log, opened twice.
func aStore(t testing.TB, fsys vfs.FS) {
	t.Helper()
	open(t, fsys).close()
	s := open(t, fsys)
	s.put(rows("a", 5)...)
	s.flush(rows("a", 40)...)
	s.put(rows("b", 5)...)
	s.flush(rows("b", 30)...)
	s.put(rows("c", 4)...)
	s.close()
}

// tree is all that a file system has: names of directories and contents of files.
func tree(t testing.TB, fsys vfs.FS) map[string]string {
	t.Helper()
	out := map[string]string{}
	var walk func(dir string)
	walk = func(dir string) {
		list, err := fsys.List(dir)
		check(t, err)
		for _, base := range list {
			name := strings.TrimPrefix(dir+"/"+base, "./")
			info, err := fsys.Stat(name)
			check(t, err)
			if info.Dir {
				out[name] = "directory"
				walk(name)
				continue
			}
			out[name] = string(contents(t, fsys, name))
		}
	}
	walk(".")
	return out
}

func contents(t testing.TB, fsys vfs.FS, name string) []byte {
	t.Helper()
	f, err := fsys.Open(name)
	check(t, err)
	defer f.Close()
	size, err := f.Size()
	check(t, err)
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); n < len(b) {
		t.Fatal(err)
	}
	return b
}

// build makes a file system of a tree.
func build(t testing.TB, files map[string]string) *vfs.MemFS {
	t.Helper()
	mem := vfs.Mem()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if files[name] == "directory" {
			check(t, mem.MkdirAll(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if files[name] != "directory" {
			put(t, mem, name, []byte(files[name]))
		}
	}
	return mem
}

func put(t testing.TB, fsys vfs.FS, name string, b []byte) {
	t.Helper()
	f, err := fsys.Create(name)
	check(t, err)
	_, err = f.Write(b)
	check(t, errors.Join(err, f.Sync(), f.Close()))
}

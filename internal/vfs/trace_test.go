package vfs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// procedure is what a store does to record something: a log segment, a file by another name, a removal.
func procedure(fsys FS) (err error) {
	step := func(next func() error) {
		if err == nil {
			err = next()
		}
	}
	var f File
	step(func() error { return fsys.MkdirAll("wal") })
	step(func() error { return fsys.SyncDir(".") })
	step(func() error { f, err = fsys.Create("wal/1.wal"); return err })
	step(func() error { _, err := f.Write([]byte("0123456789")); return err })
	step(func() error { return f.Sync() })
	step(func() error { _, err := f.Write([]byte("x")); return err })
	step(func() error { return f.Close() })
	step(func() error { return fsys.SyncDir("wal") })
	step(func() error { return fsys.Rename("wal/1.wal", "2.rf") })
	step(func() error { f, err = fsys.Open("2.rf"); return err })
	step(func() error { _, err := f.ReadAt(make([]byte, 4), 2); return err })
	step(func() error { return f.Close() })
	step(func() error { return fsys.Remove("2.rf") })
	return err
}

func TestTraceEvents(t *testing.T) {
	m := Mem()
	fsys := Trace(m, TraceOptions{Keep: true})
	check(t, procedure(fsys))
	_, err := fsys.Open("none")
	wantErr(t, err, err, "none")
	want := `1 mkdir "wal"
2 syncdir "."
3 create "wal/1.wal"
4 write "wal/1.wal" at 0, 10 bytes of sum a684c7c6: 10 done
5 sync "wal/1.wal"
6 write "wal/1.wal" at 10, 1 bytes of sum 8cdc1683: 1 done
7 close "wal/1.wal"
8 syncdir "wal"
9 rename "wal/1.wal" to "2.rf"
10 open "2.rf"
11 read "2.rf" at 2, 4 bytes: 4 done
12 close "2.rf"
13 remove "2.rf"
14 open "none": no such file or directory
`
	var got strings.Builder
	for _, e := range fsys.Events() {
		fmt.Fprintln(&got, e)
	}
	if got.String() != want {
		t.Errorf("events\n%s", got.String())
	}
	if fsys.Last() != 14 {
		t.Errorf("last is %d", fsys.Last())
	}
	counts := fsys.Counts()
	i := slices.IndexFunc(counts, func(c SiteCount) bool { return c.Site == Site{OpWrite, ClassLog} })
	if c := counts[i]; c.Calls != 2 || c.Bytes != 11 || c.Errors != 0 {
		t.Errorf("writes of the log: %+v", c)
	}
	if c := counts[1]; len(counts) != 13 || c.Site != (Site{OpOpen, ClassData}) || counts[2].Errors != 1 {
		t.Errorf("counts: %+v", counts)
	}
}

// TestTraceDigest says that a digest tells histories apart that differ in a byte, a name or a result, and no others.
func TestTraceDigest(t *testing.T) {
	f := func(write, name string, fail bool, hooked bool) uint64 {
		m := Mem()
		var inner FS = m
		if fail {
			inner = Faulty(m, Rule{Op: OpSync})
		}
		opts := TraceOptions{}
		if hooked {
			opts.Within = func(Event) {}
		}
		fsys := Trace(inner, opts)
		file, err := fsys.Create(name)
		check(t, err)
		_, err = file.Write([]byte(write))
		check(t, err)
		file.Sync()
		check(t, file.Close())
		return fsys.Digest()
	}
	base := f("abc", "f", false, false)
	if f("abc", "f", false, false) != base || f("abc", "f", false, true) != base {
		t.Error("the same calls give another digest")
	}
	if f("abd", "f", false, false) == base || f("abc", "g", false, false) == base || f("abc", "f", true, false) == base {
		t.Error("other calls give the same digest")
	}
}

// TestTraceHooks takes images before, within and after each call.
func TestTraceHooks(t *testing.T) {
	m := Mem()
	var got []string
	take := func(when string) func(Event) {
		return func(e Event) {
			if e.Op == OpWrite || e.Op == OpRename {
				got = append(got, fmt.Sprintf("%s %d: %s", when, e.Number, dump(t, m.Clone())))
			}
		}
	}
	fsys := Trace(m, TraceOptions{Before: take("before"), Within: take("within"), After: take("after"), Seed: 3})
	check(t, procedure(fsys))
	part := ""
	if n, err := fmt.Sscanf(got[1], `within 4: wal/ wal/1.wal=%q`, &part); n != 1 || err != nil || part == "" ||
		len(part) == 10 || !strings.HasPrefix("0123456789", part) {
		t.Errorf("within the write: %s", got[1])
	}
	got = slices.Delete(got, 1, 2)
	want := []string{
		`before 4: wal/ wal/1.wal=""`,
		`after 4: wal/ wal/1.wal="0123456789"`,
		`before 6: wal/ wal/1.wal="0123456789"`, // one byte has no middle
		`after 6: wal/ wal/1.wal="0123456789x"`,
		`before 9: wal/ wal/1.wal="0123456789x"`,
		`after 9: 2.rf="0123456789x" wal/`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	parts := map[int]bool{}
	for seed := range uint64(200) {
		fsys := Trace(Mem(), TraceOptions{Within: func(e Event) { parts[e.Done] = true }, Seed: seed})
		check(t, procedure(fsys))
	}
	if len(parts) != 9 {
		t.Errorf("200 seeds cut ten bytes at %d of 9 places", len(parts))
	}
}

// TestTraceOfAFailedPart ends a write at the part that fails.
func TestTraceOfAFailedPart(t *testing.T) {
	m := Mem()
	within := 0
	fsys := Trace(Faulty(m, Rule{Op: OpWrite}), TraceOptions{Within: func(Event) { within++ }, Seed: 1, Keep: true})
	if err := procedure(fsys); err == nil {
		t.Fatal("the error is gone")
	}
	events := fsys.Events()
	if e := events[len(events)-1]; e.Op != OpWrite || e.Done != 0 || e.Err == nil || within != 0 {
		t.Errorf("%d calls within, last event: %v", within, e)
	}
	if got := get(t, m, "wal/1.wal"); got != "" {
		t.Errorf("the rest was written: %q", got)
	}
}

func TestMemBelow(t *testing.T) {
	m := Mem()
	if got, ok := MemBelow(Trace(Faulty(m), TraceOptions{})); !ok || got != m {
		t.Error("not found below two layers")
	}
	dir := must(Dir(t.TempDir()))
	defer Close(dir)
	if _, ok := MemBelow(Faulty(dir)); ok {
		t.Error("found below a directory of the machine")
	}
}

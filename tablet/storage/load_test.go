package storage

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/manifest"
	"millrace/tablet/wal"
)

// TestLoad opens and closes a store a few times, with something new each time.
func TestLoad(t *testing.T) {
	mem := vfs.Mem()
	last := uint64(0)
	for i := range 4 {
		s := open(t, mem)
		if s.loaded.NextNumber <= last {
			t.Fatalf("next number is %d, %d was used", s.loaded.NextNumber, last)
		}
		if files := s.w.State().FileCount(); files != i || s.acknowledged != min(i, 1)*3 {
			t.Fatalf("opening %d: %d files, %d entries in the log", i, files, s.acknowledged)
		}
		s.put("x", "y")
		s.flush(rows("r", 10)...)
		s.put("a", "b", "c")
		last = s.next - 1
		s.close()
	}
	l, err := Load(t.Context(), mem)
	check(t, err)
	var got []string
	_, err = l.Replay(t.Context(), func(e *wal.Entry) error { got = append(got, string(e.Mutations[0].Row())); return nil })
	if err != nil || strings.Join(got, "") != "abc" || len(l.Orphans)+len(l.Foreign) > 0 || !l.Manifest.End.Sealed {
		t.Errorf("replayed %v, %v; loaded %+v", got, err, l)
	}
	if mem.OpenFiles() > 0 {
		t.Errorf("%d files are open", mem.OpenFiles())
	}
}

// TestLoadNothing loads what is no store yet: it is empty, and nothing is made.
func TestLoadNothing(t *testing.T) {
	for name, mem := range map[string]*vfs.MemFS{
		"nothing": vfs.Mem(), "directories": build(t, map[string]string{"data": "directory", "wal": "directory", "manifest": "directory"}),
		"a beginning": build(t, map[string]string{"manifest": "directory", "manifest/0000000001.manifest": "mrec"}),
	} {
		before := tree(t, mem)
		l, err := Load(t.Context(), mem)
		if err != nil || l.State.FileCount() > 0 || l.Manifest.Number > 0 || l.NextNumber == 0 {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
		if after := tree(t, mem); len(after) != len(before) {
			t.Errorf("%s became %v", name, after)
		}
	}
}

// TestLoadDamage refuses stores in which something is missing.
func TestLoadDamage(t *testing.T) {
	mem := vfs.Mem()
	aStore(t, mem)
	files := tree(t, mem)
	names := byDir(files, manifest.DataDir)
	f := func(what, file, want string, change func(map[string]string)) {
		t.Helper()
		broken := cloneTree(files)
		change(broken)
		_, err := Load(t.Context(), build(t, broken))
		var c *tablet.CorruptError
		if !errors.As(err, &c) || c.File != file || !strings.Contains(c.What, want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	f("a file is gone", names[0], "missing", func(m map[string]string) { delete(m, names[0]) })
	f("a file is short", names[1], "bytes long", func(m map[string]string) { m[names[1]] = m[names[1]][:10] })
	f("a file is long", names[1], "bytes long", func(m map[string]string) { m[names[1]] += "x" })
	f("a directory", names[0], "a directory", func(m map[string]string) { m[names[0]] = "directory" })
	f("no manifest", "manifest", "no whole manifest", func(m map[string]string) { delete(m, byDir(files, manifest.Dir)[0]) })
	f("no whole manifest", "manifest", "no whole manifest", func(m map[string]string) { m[byDir(files, manifest.Dir)[0]] = "" })
}

// byDir are the names in a directory, sorted.
func byDir(files map[string]string, dir string) (names []string) {
	for name := range files {
		if strings.HasPrefix(name, dir+"/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func cloneTree(files map[string]string) map[string]string {
	out := map[string]string{}
	for name, content := range files {
		out[name] = content
	}
	return out
}

// TestLeftovers puts files in the directories that nothing names: the next number is above all that are ours, the sweep
// takes those, and what is not ours stays.
func TestLeftovers(t *testing.T) {
	mem := vfs.Mem()
	aStore(t, mem)
	files := tree(t, mem)
	l, err := Load(t.Context(), mem)
	check(t, err)
	next := l.NextNumber
	ours := []string{manifest.FileName("F", next), manifest.FileName("C", next+3), manifest.FileName("F", 1)}
	foreign := []string{"data/F1.rf", "data/" + "F0000001.rf.tmp", "data/notes.txt", "data/F9999999999999999999999.rf", "wal/x", "wal/1.wal",
		"manifest/MANIFEST", "other", manifest.FileName("F", 1<<62)}
	for _, name := range slices.Concat(ours, foreign) {
		put(t, mem, name, []byte("left"))
	}
	put(t, mem, manifest.Name(next+5), []byte("left")) // of a manifest that was hardly begun
	s := open(t, mem)
	if s.loaded.NextNumber != next+6 || !slices.Equal(s.loaded.Orphans, byName(ours)) {
		t.Errorf("next number %d, want %d; orphans %v", s.loaded.NextNumber, next+6, s.loaded.Orphans)
	}
	if want := byName(foreign); !slices.Equal(byName(s.loaded.Foreign), slices.DeleteFunc(want, func(n string) bool { return n == "other" })) {
		t.Errorf("foreign are %v, want %v", s.loaded.Foreign, want)
	}
	s.flush("z")
	s.close()
	after := tree(t, mem)
	for _, name := range foreign {
		if after[name] != "left" {
			t.Errorf("%s is now %q", name, after[name])
		}
	}
	for _, name := range append(ours, manifest.Name(next+5)) {
		if _, there := after[name]; there {
			t.Errorf("%s is still there", name)
		}
	}
	for _, name := range byDir(files, manifest.DataDir) {
		if after[name] != files[name] {
			t.Errorf("%s was touched", name)
		}
	}
}

func byName(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	return names
}

// TestSweepWaits removes nothing while it is not certain what the manifest says, and goes on after files that it cannot
// remove.
func TestSweepWaits(t *testing.T) {
	mem := vfs.Mem()
	aStore(t, mem)
	for n := range uint64(3) {
		put(t, mem, manifest.FileName("X", 900+n), []byte("left"))
	}
	l, err := Load(t.Context(), mem)
	check(t, err)
	next := l.NextNumber
	faulty := vfs.Faulty(mem)
	w, err := manifest.NewWriter(faulty, l.State, manifest.Options{NextNumber: func() uint64 { next++; return next }})
	check(t, err)
	faulty.Add(vfs.Rule{Op: vfs.OpSync})
	if _, err := w.Record(manifest.DropTable{Table: "t"}); !errors.Is(err, manifest.ErrInDoubt) {
		t.Fatal(err)
	}
	if removed, err := Sweep(mem, l, w); !errors.Is(err, tablet.ErrBusy) || removed != nil {
		t.Errorf("in doubt: %v, %v", removed, err)
	}
	check(t, w.Heal())
	faulty.Add(vfs.Rule{Op: vfs.OpRemove, Name: "X0000901.rf", Err: fs.ErrPermission})
	removed, err := Sweep(faulty, l, w)
	if !errors.Is(err, fs.ErrPermission) || !slices.Equal(removed, []string{"data/X0000900.rf", "data/X0000902.rf"}) {
		t.Errorf("removed %v, %v", removed, err)
	}
}

// TestCancelled ends when its context does.
func TestCancelled(t *testing.T) {
	mem := vfs.Mem()
	aStore(t, mem)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Load(ctx, mem); !errors.Is(err, context.Canceled) {
		t.Errorf("load: %v", err)
	}
	if r, err := Check(ctx, mem, CheckOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("check: %+v %v", r, err)
	}
	l, err := Load(t.Context(), mem)
	check(t, err)
	boom := errors.New("boom")
	if _, err := l.Replay(t.Context(), func(*wal.Entry) error { return boom }); !errors.Is(err, boom) {
		t.Errorf("replay: %v", err)
	}
}

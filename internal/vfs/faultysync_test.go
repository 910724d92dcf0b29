package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
	"testing"
)

// TestFaultySyncModels follows a failed sync, a later one, and a power cut.
func TestFaultySyncModels(t *testing.T) {
	f := func(rule Rule, first, second bool, want string) {
		t.Helper()
		m := Mem()
		rule.Op = OpSync
		fsys := Faulty(m, rule)
		file, err := fsys.Create("f")
		check(t, err)
		check(t, m.SyncDir("."))
		_, err = file.Write([]byte("ab"))
		check(t, err)
		if err := file.Sync(); (err == nil) != first {
			t.Errorf("%v: first sync: %v", rule.Sync, err)
		}
		_, err = file.Write([]byte("cd"))
		check(t, err)
		if err := file.Sync(); (err == nil) != second {
			t.Errorf("%v: second sync: %v", rule.Sync, err)
		}
		if got := get(t, m.Durable(), "f"); got != want {
			t.Errorf("%v: a power cut leaves %q, want %q", rule.Sync, got, want)
		}
		if got := get(t, m, "f"); got != "abcd" {
			t.Errorf("%v: the process sees %q", rule.Sync, got)
		}
		check(t, file.Close())
	}
	f(Rule{Sync: SyncKept}, false, true, "abcd")
	f(Rule{Sync: SyncDropped}, false, false, "")
	f(Rule{Sync: SyncDroppedThenFine}, false, true, "\x00\x00cd")
	f(Rule{After: true}, false, true, "abcd")
	f(Rule{Silent: true, Sticky: true}, true, true, "")
	f(Rule{Silent: true, Sync: SyncDropped}, true, true, "\x00\x00cd")
	f(Rule{N: 2, Sync: SyncDropped}, true, false, "ab")

	fsys := Faulty(must(Dir(t.TempDir())), Rule{Op: OpSync, Sync: SyncDropped})
	defer Close(fsys)
	file, err := fsys.Create("f")
	check(t, err)
	defer file.Close()
	defer func() {
		if recover() == nil {
			t.Error("the machine's files were said to drop bytes")
		}
	}()
	file.Sync()
}

// TestFaultyClasses makes calls fail by what a file is for.
func TestFaultyClasses(t *testing.T) {
	m := Mem()
	for _, dir := range []string{"wal", "data", "manifest"} {
		check(t, m.MkdirAll(dir))
	}
	fsys := Faulty(m, Rule{Class: ClassLog, Sticky: true}, Rule{Op: OpCreate, Class: ClassData, N: 2},
		Rule{Op: OpRename, Class: ClassManifest})
	f := func(name string, fails bool) {
		t.Helper()
		file, err := fsys.Create(name)
		if (err != nil) != fails {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			check(t, file.Close())
		}
	}
	f("wal/1.wal", true)
	f("wal/2", true)
	f("wal/2.tmp", false)
	f("data/1.rf", false)
	f("data/2.rf", true)
	f("data/3.rf", false)
	f("manifest/1.manifest", false)
	wantErr(t, fsys.Rename("data/1.rf", "manifest/x"), syscall.EIO, "rename data/1.rf")
	wantErr(t, fsys.SyncDir("wal"), syscall.EIO, "wal")
	check(t, fsys.SyncDir("data"))

	hit, missed := fsys.Sites()
	if got, want := fmt.Sprint(hit, missed), "[create log create data rename manifest syncdir log] "+
		"[create manifest create temporary syncdir data close data close manifest close temporary]"; got != want {
		t.Errorf("sites %s, want %s", got, want)
	}
}

func TestClassOf(t *testing.T) {
	f := func(name string, want Class) {
		t.Helper()
		if got := ClassOf(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
	f("wal/0000000001.wal", ClassLog)
	f("wal", ClassLog)
	f("store/wal/x", ClassLog)
	f("data/0000000001.rf", ClassData)
	f("data/0000000001.sums", ClassData)
	f("data/0000000001.rf.tmp", ClassTemporary)
	f("manifest/0000000001.manifest", ClassManifest)
	f("manifest", ClassManifest)
	f("a.rf", ClassData)
	f("a.wal", ClassLog)
	f("x.tmp", ClassTemporary)
	f("tmp/x", ClassTemporary)
	f("LOCK", ClassOther)
	f(".", ClassOther)
	f("waldata/x", ClassOther)
}

// TestFaultySilence has calls that do less than asked and say nothing.
func TestFaultySilence(t *testing.T) {
	m := Mem()
	put(t, m, "f", "content")
	fsys := Faulty(m, Rule{Op: OpRead, Short: 3, Silent: true}, Rule{Op: OpRead, N: 2, Err: io.EOF},
		Rule{Op: OpRead, N: 3, Short: 2, Err: io.EOF}, Rule{Op: OpWrite, Short: 1, Silent: true},
		Rule{Op: OpRemove, Silent: true}, Rule{Op: OpStat, Silent: true}, Rule{Op: OpCreate, N: 2, Silent: true})
	r, err := fsys.Open("f")
	check(t, err)
	buf := make([]byte, 7)
	f := func(want string, target error) {
		t.Helper()
		if n, err := r.ReadAt(buf, 0); string(buf[:n]) != want || err != target {
			t.Errorf("read %q, %v; want %q, %v", buf[:n], err, want, target)
		}
	}
	f("con", nil)
	f("", io.EOF)
	f("co", io.EOF)
	f("content", nil)
	check(t, r.Close())
	w, err := fsys.Create("w")
	check(t, err)
	if n, err := w.Write([]byte("abc")); n != 1 || err != nil {
		t.Errorf("wrote %d, %v", n, err)
	}
	check(t, w.Close())
	check(t, fsys.Remove("f"))
	_, err = fsys.Stat("f")
	wantErr(t, err, syscall.EIO, "f")
	_, err = fsys.Create("x")
	wantErr(t, err, syscall.EIO, "x")
	if _, err := m.Stat("x"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a create that failed before its effect made a file")
	}
	wantList(t, m, ".", "f w")
}

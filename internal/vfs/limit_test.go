package vfs

import (
	"io/fs"
	"syscall"
	"testing"
)

func limited(t *testing.T, inner FS, open int, bytes int64) *LimitFS {
	t.Helper()
	l, err := Limit(inner, open, bytes)
	check(t, err)
	return l
}

func TestLimitOpenFiles(t *testing.T) {
	m := Mem()
	put(t, m, "a", "a")
	fsys := limited(t, m, 2, 0)
	lock, err := fsys.Lock("LOCK")
	check(t, err)
	r, err := fsys.Open("a")
	check(t, err)
	for _, call := range []func() error{
		func() error { _, err := fsys.Create("b"); return err },
		func() error { _, err := fsys.Open("a"); return err },
		func() error { _, err := fsys.Lock("LOCK"); return err },
		func() error { _, err := fsys.List("."); return err },
		func() error { return fsys.SyncDir(".") },
	} {
		wantErr(t, call(), syscall.EMFILE, "")
	}
	_, err = fsys.Stat("a")
	check(t, err)
	check(t, r.Close())
	r.Close()
	wantList(t, fsys, ".", "LOCK a")
	wantList(t, fsys, ".", "LOCK a") // a handle of a list is given back
	w, err := fsys.Create("b")
	check(t, err)
	check(t, lock.Close())
	check(t, w.Close())
	one := limited(t, m, 0, 0)
	r, err = one.Open("a")
	check(t, err)
	wantList(t, one, ".", "LOCK a b")
	check(t, r.Close())
	if now, peak := one.OpenFiles(); now != 0 || peak != 2 {
		t.Errorf("%d open, %d at most, with the directory's", now, peak)
	}
	if now, peak := fsys.OpenFiles(); now != 0 || peak != 2 {
		t.Errorf("%d open, %d at most", now, peak)
	}
	_, err = fsys.Open("none") // and of an open that fails
	wantErr(t, err, syscall.ENOENT, "none")
	fsys.SetOpen(1)
	_, err = fsys.List(".")
	check(t, err)
}

// TestLimitBytes is TestCapacity for any FS.
func TestLimitBytes(t *testing.T) {
	inner := must(Dir(t.TempDir()))
	defer Close(inner)
	put(t, inner, "a", "123456")
	fsys := limited(t, inner, 0, 10)
	want := func(bytes int64, free uint64) {
		t.Helper()
		got, err := fsys.Free(".")
		check(t, err)
		if fsys.Bytes() != bytes || got != free {
			t.Errorf("%d bytes, %d free, want %d and %d", fsys.Bytes(), got, bytes, free)
		}
	}
	want(6, 4)
	f, err := fsys.Create("b")
	check(t, err)
	n, err := f.Write([]byte("12345"))
	wantErr(t, err, syscall.ENOSPC, "b")
	if n != 4 {
		t.Errorf("wrote %d bytes, want the 4 that fit", n)
	}
	n, err = f.Write([]byte("x"))
	wantErr(t, err, syscall.ENOSPC, "b")
	if n != 0 {
		t.Errorf("wrote %d bytes to a full device", n)
	}
	if _, err := f.Write(nil); err != nil {
		t.Errorf("no bytes did not fit: %v", err)
	}
	want(10, 0)
	check(t, fsys.Link("a", fsys, "c"))
	check(t, fsys.Remove("a"))
	want(10, 0) // it has another name
	check(t, fsys.Remove("b"))
	want(10, 0) // it is open
	check(t, f.Close())
	want(6, 4)
	put(t, fsys, "d", "1")
	check(t, fsys.Rename("d", "c"))
	want(1, 9)
	f, err = fsys.Create("e")
	check(t, err)
	_, err = f.Write([]byte("12"))
	check(t, err)
	check(t, f.Close())
	wantErr(t, f.Close(), fs.ErrClosed, "e") // counts once
	check(t, fsys.Remove("e"))
	want(1, 9)
	fsys.SetBytes(1)
	want(1, 0)
	if got := get(t, inner, "c"); got != "1" {
		t.Errorf("it holds %q", got)
	}
}

// TestLimitBytesOfOthers counts a file that is linked from another tree as the other's.
func TestLimitBytesOfOthers(t *testing.T) {
	m := Mem()
	m.SetFree(3)
	check(t, m.MkdirAll("other"))
	check(t, m.MkdirAll("own"))
	other, err := m.Sub("other")
	check(t, err)
	own, err := m.Sub("own")
	check(t, err)
	put(t, other, "f", "123")
	put(t, own, "f", "12345")
	fsys := limited(t, own, 0, 100)
	check(t, other.Link("f", fsys, "g"))
	if n := fsys.Bytes(); n != 5 {
		t.Errorf("%d bytes", n)
	}
	check(t, fsys.Remove("f"))
	if n := fsys.Bytes(); n != 0 {
		t.Errorf("%d bytes after the own file is gone", n)
	}
	if free, err := fsys.Free("."); free != 3 || err != nil {
		t.Errorf("%d free, %v", free, err)
	}
}

package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

func TestLock(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, _ func() FS) {
		for range 3 {
			lock, err := fsys.Lock("LOCK")
			check(t, err)
			_, err = fsys.Lock("LOCK")
			wantErr(t, err, ErrLocked, "LOCK: locked by this process")
			if got, want := get(t, fsys, "LOCK"), fmt.Sprintln(syscall.Getpid()); got != want {
				t.Errorf("lock file holds %q, want %q", got, want)
			}
			check(t, lock.Close())
			if lock.Close() == nil {
				t.Error("second Close of a lock is silent")
			}
		}
		wantList(t, fsys, ".", "LOCK")
		check(t, fsys.MkdirAll("d"))
		_, err := fsys.Lock("d")
		wantErr(t, err, syscall.EISDIR, "d")
	})
}

func TestLink(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, twin func() FS) {
		other := twin()
		check(t, other.MkdirAll("d"))
		check(t, fsys.MkdirAll("dir"))
		put(t, fsys, "dir/a", "a")
		put(t, other, "taken", "t")
		check(t, fsys.Link("dir/a", other, "d/b"))
		check(t, fsys.Link("dir/a", fsys, "here"))
		wantErr(t, fsys.Link("dir/a", other, "taken"), fs.ErrExist, "taken")
		wantErr(t, fsys.Link("dir", other, "x"), syscall.EISDIR, "dir")
		check(t, fsys.Rename("dir/a", "here")) // two names of one file: nothing happens
		wantList(t, fsys, "dir", "a")
		check(t, fsys.Remove("dir/a"))
		check(t, fsys.Remove("here"))
		if got := get(t, other, "d/b"); got != "a" {
			t.Errorf("linked file holds %q", got)
		}
		if got := get(t, other, "taken"); got != "t" {
			t.Errorf("refused link changed the file to %q", got)
		}
	})
	for _, pair := range [][2]FS{{Mem(), Mem()}, {Mem(), must(Dir(t.TempDir()))}, {must(Dir(t.TempDir())), Mem()}} {
		put(t, pair[0], "a", "a")
		wantErr(t, pair[0].Link("a", pair[1], "b"), syscall.EXDEV, "a")
		check(t, errors.Join(Close(pair[0]), Close(pair[1])))
	}
}

func must(fsys FS, err error) FS {
	if err != nil {
		panic(err)
	}
	return fsys
}

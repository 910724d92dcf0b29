package vfs

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"
)

func TestWrongModes(t *testing.T) {
	dir := t.TempDir()
	check(t, os.Chmod(dir, 0o700))
	fsys := must(Dir(dir))
	defer Close(fsys)
	check(t, fsys.MkdirAll("d/e"))
	put(t, fsys, "d/f", "x")
	want := func(want string) {
		t.Helper()
		wrong, err := WrongModes(dir)
		check(t, err)
		if got := fmt.Sprint(wrong); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	want("[]")
	check(t, os.Chmod(dir+"/d/f", 0o640))
	check(t, os.Chmod(dir+"/d/e", 0o701))
	check(t, os.Symlink("f", dir+"/d/link"))
	check(t, syscall.Mkfifo(dir+"/pipe", 0o600))
	want("[drwx-----x d/e -rw-r----- d/f Lrwxrwxrwx d/link prw------- pipe]")
	check(t, os.Chmod(dir, 0o755))
	modes, err := Modes(dir)
	check(t, err)
	if got := fmt.Sprint(modes); got != "[drwxr-xr-x . drwx------ d drwx-----x d/e -rw-r----- d/f Lrwxrwxrwx d/link prw------- pipe]" {
		t.Errorf("modes %s", got)
	}
	_, err = WrongModes(dir + "/none")
	wantErr(t, err, fs.ErrNotExist, "none")
}

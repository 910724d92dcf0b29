package vfs

import (
	"io"
	"os"
	"os/exec"
	"testing"
)

// TestLockSharedWithAChild gives a lock back while a process still has its file, as every process that is forked off has
// for a moment. The lock must be free all the same.
func TestLockSharedWithAChild(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("no command sleep")
	}
	fsys := must(MakeDir(t.TempDir() + "/d"))
	defer Close(fsys)
	f := func(take func() (io.Closer, error)) {
		t.Helper()
		held, err := take()
		check(t, err)
		var file *os.File
		switch l := held.(type) {
		case *dirLock:
			file = l.f
		case *dirHold:
			file = l.f
		}
		child := exec.Command(sleep, "60")
		child.ExtraFiles = []*os.File{file}
		check(t, child.Start())
		defer func() { child.Process.Kill(); child.Wait() }()
		if _, err := fsys.Lock("l"); err == nil {
			t.Error("locked twice")
		}
		check(t, held.Close())
		again, err := fsys.Lock("l")
		if err != nil {
			t.Fatalf("given back, and not free: %v", err)
		}
		check(t, again.Close())
	}
	f(func() (io.Closer, error) { return fsys.Lock("l") })
	f(func() (io.Closer, error) { return Hold(fsys, "l") })
}

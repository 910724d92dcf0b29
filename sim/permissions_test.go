package sim

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"testing"

	"millrace/internal/vfs"
)

// TestPermissions does everything under a umask that takes nothing away: whatever a store makes is its owner's alone, from
// the first moment on, and so is what a killed process leaves.
func TestPermissions(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	dir := t.TempDir() + "/deep/store"
	fs, err := vfs.MakeDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer vfs.Close(fs)
	checks, wrong := 0, 0
	var mu sync.Mutex
	look := func(when string) {
		mu.Lock()
		defer mu.Unlock()
		modes, err := vfs.Modes(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // a file may go while one looks
			t.Errorf("%s: %v", when, err)
		}
		checks++
		for _, m := range modes {
			if m.Mode != 0o600 && m.Mode != os.ModeDir|0o700 {
				wrong++
				t.Errorf("%s: %v", when, m)
			}
		}
	}
	traced := vfs.Trace(fs, vfs.TraceOptions{After: func(e vfs.Event) {
		if changes(e.Op) && e.Op != vfs.OpWrite && e.Op != vfs.OpSync {
			look(e.String())
		}
	}})
	if err := exercise(dir, traced, look); err != nil {
		t.Error(err)
	}
	look("at the end")
	child, lines := startChild(t, errand{Dir: dir, Seed: 1, First: 1, Ops: 40, Tables: []string{"t"}})
	for lines.Scan() {
	}
	child.Wait()
	look("behind another process")
	lastLine(t, "R70", count("checks", checks), zero("wrong", wrong))
}

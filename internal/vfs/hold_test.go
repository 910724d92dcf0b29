package vfs

import (
	"errors"
	"io/fs"
	"testing"
)

// TestHold looks at a lock without leaving a trace.
func TestHold(t *testing.T) {
	for name, fsys := range map[string]FS{"mem": Mem(), "dir": must(Dir(t.TempDir())), "layer": Trace(Mem(), TraceOptions{})} {
		t.Run(name, func(t *testing.T) {
			defer Close(fsys)
			if _, err := Hold(fsys, "LOCK"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("no file: %v", err)
			}
			wantList(t, fsys, ".", "")
			put(t, fsys, "LOCK", "12345\n") // of a process that was killed
			held, err := Hold(fsys, "LOCK")
			check(t, err)
			for _, take := range []func(FS, string) error{
				func(f FS, n string) error { _, err := f.Lock(n); return err },
				func(f FS, n string) error { _, err := Hold(f, n); return err },
			} {
				if err := take(fsys, "LOCK"); !errors.Is(err, ErrLocked) {
					t.Errorf("taken twice: %v", err)
				}
			}
			check(t, held.Close())
			if got := get(t, fsys, "LOCK"); got != "12345\n" {
				t.Errorf("the file holds %q", got)
			}
			lock, err := fsys.Lock("LOCK")
			check(t, err)
			if _, err := Hold(fsys, "LOCK"); !errors.Is(err, ErrLocked) {
				t.Errorf("locked: %v", err)
			}
			check(t, lock.Close())
			held, err = Hold(fsys, "LOCK")
			check(t, err)
			check(t, held.Close())
		})
	}
	if _, err := Hold(struct{ FS }{Mem()}, "LOCK"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("another kind: %v", err)
	}
}

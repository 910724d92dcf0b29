package actors

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/rfile"
)

// writeFile writes an RFile of one entry.
func writeFile(t *testing.T, fsys vfs.FS, number uint64) tablet.FileMeta {
	t.Helper()
	name := fmt.Sprintf("F%d.rf", number)
	f, err := fsys.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := rfile.NewWriter(f, rfile.WriterOptions{Codec: "none"})
	if err != nil {
		t.Fatal(err)
	}
	k := tablet.NewKey(tablet.Fields{Row: []byte("r")})
	if err := w.Append(&k, []byte("v")); err != nil {
		t.Fatal(err)
	}
	m, err := w.Finish()
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
	m.Number, m.Name = number, name
	return m
}

func TestOpenFilesLiveAsLongAsTheirLeases(t *testing.T) {
	fsys := vfs.Mem()
	m := writeFile(t, fsys, 1)
	var freed []uint64
	files := newOpenFiles(fsys, 10, func(n uint64) { freed = append(freed, n) })
	a, b := files.lease(m), files.lease(m)
	ra, err := a.Reader()
	if err != nil {
		t.Fatal(err)
	}
	if rb, err := b.Reader(); err != nil || ra != rb {
		t.Errorf("two leases, two readers (%v)", err)
	}
	files.hold(m)
	files.hold(m)
	files.unname(m)
	files.letGo(m)
	a.Release()
	a.Release() // counts once
	if len(freed) != 0 {
		t.Error("a file was named free that is still held")
	}
	if err := files.release(1); err != nil {
		t.Error(err)
	}
	if _, err := fsys.Stat(m.Name); err != nil {
		t.Errorf("a file that is held was removed: %v", err)
	}
	b.Release()
	if len(freed) != 0 {
		t.Error("a file was named free that a tablet has")
	}
	files.letGo(m)
	if !slices.Equal(freed, []uint64{1}) {
		t.Errorf("freed %v, want the file once", freed)
	}
	if err := files.release(1); err != nil {
		t.Error(err)
	}
	if _, err := fsys.Stat(m.Name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an obsolete file is still there: %v", err)
	}
	if open, leases := files.count(); open != 0 || leases != 0 {
		t.Errorf("%d open, %d leases", open, leases)
	}
}

func TestOpenFilesCloseTheIdleFirst(t *testing.T) {
	fsys := vfs.Mem()
	var freed []uint64
	files := newOpenFiles(fsys, 2, func(n uint64) { freed = append(freed, n) })
	for i := range uint64(4) {
		l := files.lease(writeFile(t, fsys, i))
		if _, err := l.Reader(); err != nil {
			t.Fatal(err)
		}
		l.Release()
	}
	if !slices.Equal(freed, []uint64{0, 1}) {
		t.Errorf("freed %v, want those idle longest", freed)
	}
	back := files.lease(tablet.FileMeta{Number: 1, Name: "F1.rf"}) // before it was closed
	for _, n := range freed {
		if err := files.release(n); err != nil {
			t.Error(err)
		}
	}
	if open, _ := files.count(); open != 3 {
		t.Errorf("%d files open, want 3", open)
	}
	if _, err := fsys.Stat("F0.rf"); err != nil {
		t.Errorf("closing an idle file removed it: %v", err)
	}
	if err := files.close(); err == nil {
		t.Error("close does not tell of a lease that is out")
	}
	back.Release()
}

// A file that a tablet has keeps its place when its reader is closed, and goes with the tablet's end if it is unnamed.
func TestOpenFilesOutliveTheirReaders(t *testing.T) {
	fsys := vfs.Mem()
	m := writeFile(t, fsys, 1)
	files := newOpenFiles(fsys, 0, func(uint64) {})
	files.hold(m)
	for range 2 {
		l := files.lease(m)
		if _, err := l.Reader(); err != nil {
			t.Fatal(err)
		}
		l.Release()
		if err := files.release(1); err != nil {
			t.Fatal(err)
		}
	}
	files.letGo(m)
	if _, err := fsys.Stat(m.Name); err != nil {
		t.Errorf("a file that the manifest names was removed: %v", err)
	}
	files.hold(m)
	files.unname(m)
	if _, err := fsys.Stat(m.Name); err != nil {
		t.Errorf("a file that a tablet has was removed: %v", err)
	}
	files.letGo(m)
	if err := files.release(1); err != nil {
		t.Error(err)
	}
	if _, err := fsys.Stat(m.Name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

// A file that could not be removed stays known, so that it is tried again.
func TestOpenFilesRemoveAgain(t *testing.T) {
	mem := vfs.Mem()
	m := writeFile(t, mem, 1)
	boom := errors.New("boom")
	fsys := vfs.Faulty(mem, vfs.Rule{Op: vfs.OpRemove, Err: boom})
	files := newOpenFiles(fsys, 2, func(uint64) {})
	l := files.lease(m)
	if _, err := l.Reader(); err != nil {
		t.Fatal(err)
	}
	l.Release()
	files.unname(m)
	if err := files.release(1); !errors.Is(err, boom) {
		t.Errorf("first try: %v", err)
	}
	if open, _ := files.count(); open != 0 {
		t.Errorf("%d files are open", open)
	}
	if err := files.release(1); err != nil {
		t.Errorf("second try: %v", err)
	}
	if _, err := mem.Stat(m.Name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

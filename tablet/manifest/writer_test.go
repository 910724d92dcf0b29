package manifest

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// numbersFrom hands out numbers.
func numbersFrom(n uint64) func() uint64 {
	return func() uint64 { n++; return n - 1 }
}

func openWriter(t testing.TB, fsys vfs.FS, s *State, o Options) *Writer {
	t.Helper()
	w, err := NewWriter(fsys, s, o)
	check(t, err)
	return w
}

// TestRunsOfNumbers: a file with a number of an earlier run is refused, since that run may have left a file of that name;
// a writer that follows another in one run takes it.
func TestRunsOfNumbers(t *testing.T) {
	mem := aStore(t)
	w := openWriter(t, mem, Empty(), Options{NextNumber: numbersFrom(5)})
	_, err := w.Record(CreateTable{Table: "t", ID: 6, Tablets: []uint64{7}})
	check(t, err)
	install := Install{Tablet: 7, Session: 1, Add: aFile(8, 1)}
	again := openWriter(t, mem, w.State(), Options{NextNumber: numbersFrom(20), SameRun: true})
	_, err = again.Record(install)
	check(t, err)
	later := openWriter(t, mem, w.State(), Options{NextNumber: numbersFrom(30), NextLSN: 77})
	if _, err := later.Record(install); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "earlier run") {
		t.Errorf("file 8 in a run that began at 30: %v", err)
	}
	if got := later.State().NextLSN(); got != 77 {
		t.Errorf("next sequence number is %d", got)
	}
	check(t, later.Close())
	if _, err := later.Record(install); !errors.Is(err, tablet.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	check(t, later.Close())
	if found, err := Read(t.Context(), mem); err != nil || !found.End.Sealed || found.Number != 30 || found.Highest() != 30 {
		t.Errorf("found %+v, %v", found, err)
	}
	if n := mem.OpenFiles(); n != 2 { // those of the writers that were given up
		t.Errorf("%d files are open", n)
	}
}

// TestRoll lets a file grow past its bound: the next edit goes to a new one, which holds everything, and the old one goes.
func TestRoll(t *testing.T) {
	mem, g := aStore(t), newGen(*seedFlag)
	w := openWriter(t, mem, Empty(), Options{NextNumber: g.following, RollBytes: 2000})
	rolls, last := 0, w.number
	for range 200 {
		_, err := w.Record(g.edit(w.State()))
		check(t, err)
		if w.number != last {
			rolls, last = rolls+1, w.number
		}
		if size := w.current.w.Size(); size > max(2000, 2*w.current.snapshot)+1000 {
			t.Fatalf("%d bytes, with a snapshot of %d", size, w.current.snapshot)
		}
	}
	found, err := Read(t.Context(), mem)
	check(t, err)
	if found.State.String() != w.State().String() || len(found.Older) > 0 || rolls < 5 {
		t.Errorf("%d rolls, found %+v", rolls, found)
	}
}

// TestDoubt follows one failed sync: what may be removed when, and what happens to the file that the edit named.
func TestDoubt(t *testing.T) {
	faulty := vfs.Faulty(aStore(t))
	w := openWriter(t, faulty, Empty(), Options{NextNumber: numbersFrom(1)})
	_, err := w.Record(CreateTable{Table: "t", ID: 6, Tablets: []uint64{7}}, Install{Tablet: 7, Session: 1, Add: aFile(8, 1)})
	check(t, err)
	swap := func(number uint64) Edit { return Swap{Tablet: 7, Remove: []uint64{8}, Add: aFile(number, 1)} }

	faulty.Add(vfs.Rule{Op: vfs.OpSync, Err: syscall.EIO}, vfs.Rule{Op: vfs.OpCreate, Err: syscall.ENOSPC})
	_, err = w.Record(swap(9))
	if !errors.Is(err, ErrInDoubt) || !errors.Is(err, syscall.EIO) || w.InDoubt() != err || w.State().Named(8) == nil || w.Doubted() != nil {
		t.Fatalf("sync fails: %v, doubt %v, garbage %v", err, w.InDoubt(), w.Doubted())
	}
	_, err = w.Record(swap(10)) // nowhere to write: certainly not recorded
	if errors.Is(err, ErrInDoubt) || !errors.Is(err, tablet.ErrBusy) || !errors.Is(err, syscall.ENOSPC) || w.InDoubt() == nil || w.Doubted() != nil {
		t.Fatalf("create fails: %v", err)
	}
	if _, err := w.Record(Swap{Tablet: 7}); !errors.Is(err, ErrRefused) {
		t.Fatalf("refused in doubt: %v", err)
	}
	got, err := w.Record(swap(11))
	if err != nil || w.InDoubt() != nil || len(got.Unnamed) != 1 || got.Unnamed[0].Number != 8 {
		t.Fatalf("after the fault: %+v, %v", got, err)
	}
	garbage := w.Doubted()
	if len(garbage) != 1 || garbage[0].Number != 9 || w.Doubted() != nil {
		t.Errorf("garbage is %v, want file 9 once", garbage)
	}
	// An edit that is recorded again names its file after all.
	faulty.Add(vfs.Rule{Op: vfs.OpWrite})
	again := Swap{Tablet: 7, Remove: []uint64{11}, Add: aFile(12, 1)}
	if _, err := w.Record(again); !errors.Is(err, ErrInDoubt) {
		t.Fatal(err)
	}
	if _, err := w.Record(again); err != nil || w.Doubted() != nil {
		t.Errorf("recorded again: %v, garbage %v", err, w.Doubted())
	}
}

// TestFullDisk tries again and again on a device without room: the tries leave nothing behind.
func TestFullDisk(t *testing.T) {
	mem, g := aStore(t), newGen(*seedFlag)
	w := openWriter(t, mem, randomState(t, g, 100), Options{NextNumber: g.following})
	used := mem.Used()
	mem.SetCapacity(used + 100)
	if _, err := w.Record(SetProperties{Table: w.State().tables[0].Name, Properties: map[string]string{"a": strings.Repeat("x", 200)}}); !errors.Is(err, ErrInDoubt) {
		t.Fatal(err)
	}
	for range 20 {
		if err := w.Heal(); !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, tablet.ErrBusy) {
			t.Fatal(err)
		}
	}
	if names, err := mem.List(Dir); err != nil || len(names) != 1 {
		t.Errorf("left behind: %v, %v", names, err)
	}
	mem.SetCapacity(0)
	check(t, w.Heal())
	if w.InDoubt() != nil {
		t.Error(w.InDoubt())
	}
}

// TestUsage refuses what a writer cannot be made with.
func TestUsage(t *testing.T) {
	for _, o := range []Options{{}, {NextNumber: numbersFrom(1), RollBytes: -1}} {
		if _, err := NewWriter(aStore(t), Empty(), o); !errors.Is(err, tablet.ErrUsage) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := NewWriter(vfs.Mem(), Empty(), Options{NextNumber: numbersFrom(1)}); err == nil {
		t.Error("a writer without a directory")
	}
	w := openWriter(t, aStore(t), Empty(), Options{NextNumber: numbersFrom(1)})
	if got, err := w.Record(); err != nil || got.State != w.State() {
		t.Errorf("nothing: %+v, %v", got, err)
	}
}

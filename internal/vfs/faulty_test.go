package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
	"testing"
)

func TestFaultyNthCall(t *testing.T) {
	f := func(rule Rule, want string) {
		t.Helper()
		fsys := Faulty(Mem(), rule)
		got := ""
		for i := range 5 {
			file, err := fsys.Create(fmt.Sprintf("f%d", i))
			if err != nil {
				got += "x"
				continue
			}
			got += "."
			check(t, file.Close())
		}
		if got != want {
			t.Errorf("%v: %s, want %s", rule, got, want)
		}
	}
	f(Rule{Op: OpCreate}, "x....")
	f(Rule{Op: OpCreate, N: 1}, "x....")
	f(Rule{Op: OpCreate, N: 3}, "..x..")
	f(Rule{Op: OpCreate, N: 3, Sticky: true}, "..xxx")
	f(Rule{Op: OpCreate, Sticky: true}, "xxxxx")
	f(Rule{Op: OpCreate, N: 6}, ".....")
	f(Rule{Op: OpOpen}, ".....")
	f(Rule{N: 3}, ".x...") // the third call of any kind: create, close, create
	f(Rule{Op: OpCreate, Name: "f3"}, "...x.")
	f(Rule{Op: OpCreate, Name: "f[12]", N: 2}, "..x..")
}

func TestFaultyNames(t *testing.T) {
	f := func(pattern, name string, want bool) {
		t.Helper()
		r := Rule{Name: pattern}
		if got := r.matches(Call{Op: OpSync, Name: name}); got != want {
			t.Errorf("%q matches %q: %v", pattern, name, got)
		}
	}
	f("", "a/b", true)
	f("*.rf", "a/b.rf", true)
	f("*.rf", "a/b.log", false)
	f("a/*.rf", "a/b.rf", true)
	f("a/*.rf", "c/b.rf", false)
	f("a", "a/b", false)
	defer func() {
		if recover() == nil {
			t.Error("a malformed pattern was accepted")
		}
	}()
	Faulty(Mem(), Rule{Name: "[a"})
}

// TestFaultyEveryKind makes each kind of call fail, before and after its effect.
func TestFaultyEveryKind(t *testing.T) {
	kinds := map[Op]func(fsys *FaultyFS, r, w File) error{
		OpCreate:  func(fsys *FaultyFS, r, w File) error { _, err := fsys.Create("new"); return err },
		OpOpen:    func(fsys *FaultyFS, r, w File) error { _, err := fsys.Open("r"); return err },
		OpRename:  func(fsys *FaultyFS, r, w File) error { return fsys.Rename("r", "new") },
		OpRemove:  func(fsys *FaultyFS, r, w File) error { return fsys.Remove("r") },
		OpList:    func(fsys *FaultyFS, r, w File) error { _, err := fsys.List("."); return err },
		OpStat:    func(fsys *FaultyFS, r, w File) error { _, err := fsys.Stat("r"); return err },
		OpMkdir:   func(fsys *FaultyFS, r, w File) error { return fsys.MkdirAll("new") },
		OpSyncDir: func(fsys *FaultyFS, r, w File) error { return fsys.SyncDir(".") },
		OpLock:    func(fsys *FaultyFS, r, w File) error { _, err := fsys.Lock("new"); return err },
		OpFree:    func(fsys *FaultyFS, r, w File) error { _, err := fsys.Free("."); return err },
		OpLink:    func(fsys *FaultyFS, r, w File) error { return fsys.Link("r", fsys, "new") },
		OpRead:    func(fsys *FaultyFS, r, w File) error { _, err := r.ReadAt(make([]byte, 1), 0); return err },
		OpWrite:   func(fsys *FaultyFS, r, w File) error { _, err := w.Write([]byte("x")); return err },
		OpSync:    func(fsys *FaultyFS, r, w File) error { return w.Sync() },
		OpSize:    func(fsys *FaultyFS, r, w File) error { _, err := r.Size(); return err },
		OpClose:   func(fsys *FaultyFS, r, w File) error { return w.Close() },
		OpUnlock: func(fsys *FaultyFS, r, w File) error {
			lock, err := fsys.Lock("LOCK")
			check(t, err)
			return lock.Close()
		},
	}
	effects := map[Op]bool{OpCreate: true, OpRename: true, OpMkdir: true, OpLock: true, OpLink: true}
	for op, call := range kinds {
		for _, after := range []bool{false, true} {
			m := Mem()
			put(t, m, "r", "content")
			fsys := Faulty(m)
			r, err := fsys.Open("r")
			check(t, err)
			w, err := fsys.Create("w")
			check(t, err)
			calls := fsys.Calls(op)
			fsys.Add(Rule{Op: op, Err: syscall.ENOSPC, After: after})

			err = call(fsys, r, w)
			wantErr(t, err, syscall.ENOSPC, string(op))
			if got := fsys.Calls(op); got != calls+1 {
				t.Errorf("%s: counted %d calls, want %d", op, got, calls+1)
			}
			if hits := fsys.Hits(); len(hits) != 1 || hits[0].Op != op {
				t.Errorf("%s: hits %v", op, hits)
			}
			if _, err := m.Stat("new"); (err == nil) != (after && effects[op]) {
				t.Errorf("%s, after %v: new name: %v", op, after, err)
			}
			r.Close()
			w.Close()
			if n := m.OpenFiles(); n != 0 {
				t.Errorf("%s, after %v: %d files or locks left", op, after, n)
			}
		}
	}
	if len(kinds) != len(Ops) {
		t.Errorf("%d kinds tried", len(kinds))
	}
}

func TestFaultyShortWrite(t *testing.T) {
	m := Mem()
	fsys := Faulty(m, Rule{Op: OpWrite, N: 2, Short: 3, Err: syscall.ENOSPC})
	f, err := fsys.Create("f")
	check(t, err)
	_, err = f.Write([]byte("good "))
	check(t, err)
	n, err := f.Write([]byte("partly"))
	if n != 3 {
		t.Errorf("%d bytes written, want 3", n)
	}
	wantErr(t, err, syscall.ENOSPC, "write f")
	check(t, f.Close())
	if got := get(t, m, "f"); got != "good par" {
		t.Errorf("file holds %q", got)
	}
}

func TestFaultyShortRead(t *testing.T) {
	m := Mem()
	put(t, m, "f", "content")
	f := func(rule Rule, want string, target error, bare bool) {
		t.Helper()
		fsys := Faulty(m, rule)
		file, err := fsys.Open("f")
		check(t, err)
		defer file.Close()
		buf := make([]byte, 7)
		n, err := file.ReadAt(buf, 0)
		if string(buf[:n]) != want || !errors.Is(err, target) || bare != (err == target) {
			t.Errorf("%v: read %q, %v", rule, buf[:n], err)
		}
	}
	f(Rule{Op: OpRead, Short: 3}, "con", syscall.EIO, false)
	f(Rule{Op: OpRead}, "", syscall.EIO, false)
	f(Rule{Op: OpRead, Short: 3, Err: io.EOF}, "con", io.EOF, true)
	f(Rule{Op: OpRead, Err: io.ErrUnexpectedEOF}, "", io.ErrUnexpectedEOF, true)
	f(Rule{Op: OpRead, After: true}, "content", syscall.EIO, false)
	f(Rule{Op: OpRead, Short: 100}, "content", syscall.EIO, false)
}

func TestFaultySyncThatFailsKeepsNothing(t *testing.T) {
	m := Mem()
	fsys := Faulty(m, Rule{Op: OpSync, Name: "*.log"})
	f, err := fsys.Create("a.log")
	check(t, err)
	check(t, m.SyncDir("."))
	_, err = f.Write([]byte("x"))
	check(t, err)
	wantErr(t, f.Sync(), syscall.EIO, "a.log")
	if got := get(t, m.Durable(), "a.log"); got != "" {
		t.Errorf("durable: %q", got)
	}
	check(t, f.Close())
}

func TestFaultyHealAndFirstRule(t *testing.T) {
	fsys := Faulty(Mem(), Rule{Op: OpStat, N: 2, Err: syscall.EMFILE}, Rule{Op: OpStat, Sticky: true})
	f := func(want error) {
		t.Helper()
		if _, err := fsys.Stat("."); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	f(syscall.EIO)
	f(syscall.EMFILE)
	f(syscall.EIO)
	fsys.Heal()
	f(nil)
	if all := fsys.Calls(OpAny); all != 4 {
		t.Errorf("%d calls", all)
	}
}

// TestFaultyLinks counts a link on the side it is made from and on the side it is made into, each once.
func TestFaultyLinks(t *testing.T) {
	m := Mem()
	check(t, m.MkdirAll("a"))
	check(t, m.MkdirAll("b"))
	a, err := m.Sub("a")
	check(t, err)
	b, err := m.Sub("b")
	check(t, err)
	put(t, a, "f", "x")
	from, to := Faulty(a), Faulty(b)
	check(t, from.Link("f", to, "g"))
	check(t, a.Link("f", to, "h"))
	check(t, from.Link("f", b, "i"))
	check(t, from.Link("f", from, "j"))
	if from.Calls(OpLink) != 3 || to.Calls(OpLink) != 2 {
		t.Errorf("%d and %d calls, want 3 and 2", from.Calls(OpLink), to.Calls(OpLink))
	}
	to.Add(Rule{Op: OpLink, Name: "k"})
	wantErr(t, a.Link("f", to, "k"), syscall.EIO, "k")
	from.Add(Rule{Op: OpLink, Name: "k"})
	wantErr(t, from.Link("f", from, "k"), syscall.EIO, "k")
	_, err = b.Stat("k")
	wantErr(t, err, fs.ErrNotExist, "k")
	wantList(t, b, ".", "g h i")
}

// TestFaultyEachCallInTurn is how a harness walks through a procedure: fail call 1, 2, … until none is hit.
func TestFaultyEachCallInTurn(t *testing.T) {
	procedure := func(fsys FS) error {
		f, err := fsys.Create("tmp")
		if err != nil {
			return err
		}
		_, werr := f.Write([]byte("x"))
		if err := errors.Join(werr, f.Sync(), f.Close()); err != nil {
			return err
		}
		return errors.Join(fsys.Rename("tmp", "final"), fsys.SyncDir("."))
	}
	for n := 1; ; n++ {
		fsys := Faulty(Mem(), Rule{N: n})
		err := procedure(fsys)
		if len(fsys.Hits()) == 0 {
			if err != nil || n != 7 {
				t.Errorf("run %d without a hit: %v", n, err)
			}
			return
		}
		if err == nil {
			t.Errorf("error at call %d was swallowed", n)
		}
	}
}

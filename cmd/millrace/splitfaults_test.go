package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"millrace/internal/vfs"
)

// manyOutputs are commands whose outputs appear together: in a new directory and an empty one, with a plan in it, beside it
// and without one.
var manyOutputs = [][]string{
	{"rfile", "split", "--at", "row_00100", "--at", "row_00300", "--load-plan", "out/plan.json", "out", "v8_none.rf"},
	{"rfile", "split", "--at", "row_00100", "--at", "row_00150", "--load-plan", "plan.json", "empty", "v8_none.rf"},
	{"rfile", "split", "--size", "10K", "--block-size", "100", "empty", "v8_none.rf"},
	{"rfile", "sums", "v8_none.rf"},
	{"rfile", "extents", "--at", "row_00100", "--load-plan", "plan.json", "v8_none.rf"},
}

// tree lists all names below the current directory, but for the inputs.
func tree(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// clean removes what a command that succeeded has made.
func clean(t *testing.T, before []string) {
	t.Helper()
	for _, name := range slices.Backward(tree(t)) {
		if !slices.Contains(before, name) {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func newManyShell(t *testing.T) *shell {
	s := newShell(t, "v8_none.rf")
	if err := os.Mkdir("empty", 0o700); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestManyOutputsFaults makes calls on the directories of outputs fail in turn: one line says so, and no file and no
// directory stays. Only a directory that cannot be synced comes after the files are there.
func TestManyOutputsFaults(t *testing.T) {
	ops := []vfs.Op{vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpLink, vfs.OpMkdir, vfs.OpRemove, vfs.OpList, vfs.OpSyncDir}
	for i, command := range manyOutputs {
		t.Run(fmt.Sprint(i, command[1]), func(t *testing.T) {
			s := newManyShell(t)
			before := tree(t)
			faulted := 0
			for _, op := range ops {
				for n := 1; ; n++ {
					fault := false
					rule := vfs.Rule{Op: op, N: n, Err: syscall.ENOSPC}
					s.files = wrappedFiles{fs: oneFault(&rule, &fault)}
					r := s.run(command...)
					s.files = nil
					if !fault {
						if r.code != 0 {
							t.Errorf("%v: exit %d without a fault: %s", rule, r.code, r.stderr)
						}
						clean(t, before)
						break
					}
					faulted++
					if r.code != 1 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "no space left on device") {
						t.Errorf("%v: exit %d, %s", rule, r.code, r.stderr)
					}
					if op == vfs.OpSyncDir {
						clean(t, before)
					}
					if got := tree(t); !slices.Equal(got, before) {
						t.Fatalf("%v: there is %q, was %q", rule, got, before)
					}
				}
			}
			if faulted < 4 {
				t.Errorf("%d faults", faulted)
			}
		})
	}
}

// oneFault puts one rule before all directories that a command opens: its n-th call of all fails.
func oneFault(rule *vfs.Rule, hit *bool) func(vfs.FS) vfs.FS {
	calls := 0
	return func(inner vfs.FS) vfs.FS { return &countedFS{FS: inner, rule: rule, calls: &calls, hit: hit} }
}

type countedFS struct {
	vfs.FS
	rule  *vfs.Rule
	calls *int
	hit   *bool
}

func (f *countedFS) call(op vfs.Op) error {
	if op != f.rule.Op {
		return nil
	}
	if *f.calls++; *f.calls != f.rule.N {
		return nil
	}
	*f.hit = true
	return f.rule.Err
}

func (f *countedFS) Create(name string) (vfs.File, error) {
	if err := f.call(vfs.OpCreate); err != nil {
		return nil, err
	}
	file, err := f.FS.Create(name)
	if err != nil {
		return nil, err
	}
	return countedFile{file, f}, nil
}

func (f *countedFS) Link(from string, to vfs.FS, name string) error {
	return errors.Join(f.call(vfs.OpLink), f.onlyIf(vfs.OpLink, func() error { return f.FS.Link(from, to.(*countedFS).FS, name) }))
}

func (f *countedFS) Remove(name string) error {
	return errors.Join(f.call(vfs.OpRemove), f.onlyIf(vfs.OpRemove, func() error { return f.FS.Remove(name) }))
}

func (f *countedFS) MkdirAll(name string) error {
	return errors.Join(f.call(vfs.OpMkdir), f.onlyIf(vfs.OpMkdir, func() error { return f.FS.MkdirAll(name) }))
}

func (f *countedFS) SyncDir(name string) error {
	return errors.Join(f.call(vfs.OpSyncDir), f.onlyIf(vfs.OpSyncDir, func() error { return f.FS.SyncDir(name) }))
}

func (f *countedFS) List(name string) ([]string, error) {
	if err := f.call(vfs.OpList); err != nil {
		return nil, err
	}
	return f.FS.List(name)
}

func (f *countedFS) Close() error { return vfs.Close(f.FS) }

// onlyIf does a call unless it is the one that has just failed.
func (f *countedFS) onlyIf(op vfs.Op, do func() error) error {
	if op == f.rule.Op && *f.calls == f.rule.N {
		return nil
	}
	return do()
}

type countedFile struct {
	vfs.File
	f *countedFS
}

func (c countedFile) Write(p []byte) (int, error) {
	if err := c.f.call(vfs.OpWrite); err != nil {
		return 0, err
	}
	return c.File.Write(p)
}

func (c countedFile) Sync() error {
	if err := c.f.call(vfs.OpSync); err != nil {
		return err
	}
	return c.File.Sync()
}

// TestManyOutputsInterrupt ends them at every read of the input and every write: code 130, and nothing stays.
func TestManyOutputsInterrupt(t *testing.T) {
	for i, command := range manyOutputs {
		t.Run(fmt.Sprint(i, command[1]), func(t *testing.T) {
			s := newManyShell(t)
			before := tree(t)
			interrupted := 0
			for n := 1; ; n++ {
				ctx, cancel := context.WithCancel(context.Background())
				at := &cancelAfter{at: n, cancel: cancel}
				s.ctx, s.files = ctx, at.files()
				r := s.run(command...)
				cancel()
				switch {
				case r.code == 130 && strings.Count(r.stderr, "\n") == 1 && strings.Contains(r.stderr, "interrupted"):
					interrupted++
				case r.code != 0:
					t.Errorf("call %d: exit %d, %s", n, r.code, r.stderr)
				}
				if r.code == 0 {
					clean(t, before)
				}
				if got := tree(t); !slices.Equal(got, before) {
					t.Fatalf("call %d: there is %q, was %q", n, got, before)
				}
				if at.calls < n {
					break
				}
			}
			if interrupted < 2 {
				t.Errorf("interrupted %d times", interrupted)
			}
		})
	}
}

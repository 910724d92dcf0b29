package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"millrace/internal/vfs"
)

// outputCommands are commands that write a file, on inputs that newOutputShell makes. create sorts in so little memory
// that it needs temporary files, in several levels.
var outputCommands = [][]string{
	{"rfile", "create", "--input", "in.ndjson", "--groups", "g=fam", "out.rf"},
	{"rfile", "convert", "--codec", "none", "--block-size", "1000", "out.rf", "in.rf"},
	{"rfile", "compact", "--codec", "none", "--block-size", "1000", "out.rf", "in.rf", "in.rf"},
	{"rfile", "convert", "--codec", "lz4", "--block-size", "1000", "out.rf", "in.rf"}, // compresses behind, as none does not
}

func newOutputShell(t *testing.T) *shell {
	s := newShell(t, "v8_multilevel.rf")
	s.ok("rfile", "convert", "in.rf", "v8_multilevel.rf")
	writeFile(t, "in.ndjson", []byte(s.ok("rfile", "cat", "--format", "ndjson", "in.rf")))
	smallSorts(t, 64<<10)
	return s
}

// smallSorts makes sorts use so little memory, for one test.
func smallSorts(t *testing.T, bytes int) {
	before := sortBudget
	sortBudget = func(int64) int { return bytes }
	t.Cleanup(func() { sortBudget = before })
}

// TestOutputFaults makes each call on the output's directory fail in turn, as a full or dying disk would. Whatever
// fails, the command says so in one line and leaves nothing behind; only a directory that cannot be synced comes after
// the file is there.
func TestOutputFaults(t *testing.T) {
	for _, command := range outputCommands {
		t.Run(command[1], func(t *testing.T) {
			s := newOutputShell(t)
			before := s.names()
			seen := &vfs.FaultyFS{}
			s.files = wrappedFiles{fs: func(fs vfs.FS) vfs.FS { seen = vfs.Faulty(fs); return seen }}
			s.ok(append(command, "--force")...)
			for _, op := range []vfs.Op{vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpLink, vfs.OpMkdir, vfs.OpOpen, vfs.OpRead, vfs.OpSyncDir} {
				calls := seen.Calls(op)
				for n := 1; n <= calls; n += 1 + calls/8 {
					writeFile(t, "out.rf", []byte("something to replace"))
					s.faultAt(command, vfs.Rule{Op: op, N: n, Err: syscall.ENOSPC}, append(slices.Clone(before), "out.rf"))
				}
			}
		})
	}
}

// faultAt runs a command with one call failing. The directory must hold the names given afterwards.
func (s *shell) faultAt(command []string, rule vfs.Rule, names []string) {
	s.t.Helper()
	old := readFile(s.t, "out.rf")
	s.files = wrappedFiles{fs: func(fs vfs.FS) vfs.FS { return vfs.Faulty(fs, rule) }}
	r := s.run(append(command, "--force")...)
	what := fmt.Sprintf("%s with %v", command[1], rule)
	if r.code != 1 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "no space left on device") {
		s.t.Errorf("%s: exit %d, %s", what, r.code, r.stderr)
	}
	slices.Sort(names)
	if got := s.names(); !slices.Equal(got, names) {
		s.t.Errorf("%s: the directory holds %q, want %q", what, got, names)
	}
	if rule.Op != vfs.OpSyncDir && !bytes.Equal(readFile(s.t, "out.rf"), old) {
		s.t.Errorf("%s: the old output is gone", what)
	}
}

// TestInterrupt ends commands at many of their calls on files: code 130, one line, and nothing is left behind.
func TestInterrupt(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, command := range outputCommands {
		t.Run(command[1], func(t *testing.T) {
			s := newOutputShell(t)
			before := s.names()
			counter := &cancelAfter{}
			s.files = counter.files()
			s.ok(append(command, "--force")...)
			s.files = nil
			if err := removeFile("out.rf"); err != nil {
				t.Fatal(err)
			}
			calls := counter.calls
			interrupted := 0
			for n := 1; n <= calls; n += 1 + calls/20 {
				ctx, cancel := context.WithCancel(context.Background())
				s.ctx = ctx
				at := &cancelAfter{at: n, cancel: cancel}
				s.files = at.files()
				r := s.run(command...)
				cancel()
				if r.code == 0 { // too late to be noticed
					if err := removeFile("out.rf"); err != nil {
						t.Fatal(err)
					}
				} else {
					interrupted++
					if r.code != 130 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "written: interrupted") {
						t.Errorf("call %d of %d: exit %d, %s", n, calls, r.code, r.stderr)
					}
				}
				if got := s.names(); !slices.Equal(got, before) {
					t.Fatalf("call %d of %d: the directory holds %q, want %q", n, calls, got, before)
				}
			}
			if interrupted < 5 {
				t.Errorf("interrupted %d times of %d calls", interrupted, calls)
			}
		})
	}
}

// cancelAfter counts reads of inputs and writes of outputs, and cancels a context at one of them. Commands make some of
// them on goroutines of their own.
type cancelAfter struct {
	mu        sync.Mutex
	calls, at int
	cancel    func()
}

func (c *cancelAfter) hit() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls++; c.calls == c.at {
		c.cancel()
	}
}

func (c *cancelAfter) files() files {
	return wrappedFiles{
		fs:   func(fs vfs.FS) vfs.FS { return cancelFS{fs, c} },
		file: func(f vfs.File) vfs.File { return cancelFile{f, c} },
	}
}

type cancelFS struct {
	vfs.FS
	c *cancelAfter
}

func (f cancelFS) Create(name string) (vfs.File, error) {
	file, err := f.FS.Create(name)
	if err != nil {
		return nil, err
	}
	return cancelFile{file, f.c}, nil
}

func (f cancelFS) Open(name string) (vfs.File, error) {
	file, err := f.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return cancelFile{file, f.c}, nil
}

func (f cancelFS) Link(from string, to vfs.FS, name string) error {
	return f.FS.Link(from, to.(cancelFS).FS, name)
}

type cancelFile struct {
	vfs.File
	c *cancelAfter
}

func (f cancelFile) Write(p []byte) (int, error) {
	f.c.hit()
	return f.File.Write(p)
}

func (f cancelFile) ReadAt(p []byte, off int64) (int, error) {
	f.c.hit()
	return f.File.ReadAt(p, off)
}

// TestInterruptReaders does the same for commands that only read.
func TestInterruptReaders(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := newShell(t, "v8_multilevel.rf", "v8_lgs_sample.rf")
	for _, command := range [][]string{
		{"rfile", "info", "v8_multilevel.rf"},
		{"rfile", "verify", "--deep", "v8_multilevel.rf"},
		{"rfile", "verify", "--hash", "v8_lgs_sample.rf"},
		{"rfile", "verify", "v8_lgs_sample.rf", "v8_multilevel.rf"},
		{"rfile", "cat", "v8_lgs_sample.rf"},
		{"rfile", "diff", "v8_multilevel.rf", "v8_lgs_sample.rf"},
		{"rfile", "splits", "-n", "3", "v8_multilevel.rf"},
		{"rfile", "extents", "--at", "row_00100", "v8_multilevel.rf"},
		{"rfile", "sums", "v8_lgs_sample.rf"},
		{"rfile", "verify", "."},
	} {
		ctx, cancel := context.WithCancel(context.Background())
		at := &cancelAfter{at: 3, cancel: cancel}
		s.ctx, s.files = ctx, at.files()
		s.fails(130, "interrupted", command...)
		cancel()
	}
}

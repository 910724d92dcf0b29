package vfs

import (
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
	"syscall"
)

// Op is a kind of call on an FS or a File.
type Op string

// The kinds of call. OpAny in a Rule stands for all of them.
const (
	OpAny     Op = ""
	OpCreate  Op = "create"
	OpOpen    Op = "open"
	OpRename  Op = "rename"
	OpRemove  Op = "remove"
	OpList    Op = "list"
	OpStat    Op = "stat"
	OpMkdir   Op = "mkdir"
	OpSyncDir Op = "syncdir"
	OpLock    Op = "lock"
	OpFree    Op = "free"
	OpLink    Op = "link"
	OpRead    Op = "read"
	OpWrite   Op = "write"
	OpSync    Op = "sync"
	OpSize    Op = "size"
	OpClose   Op = "close"
)

// Rule says which calls fail, and how. It counts the calls that match Op and Name since it was added.
type Rule struct {
	Op Op
	// Name is a pattern of path.Match, for the whole name or, when it has no slash, for the last element. Renames and
	// links match by either name. Empty matches all.
	Name string
	// N is the number of the matching call that fails, from 1; 0 is 1.
	N int
	// Sticky makes every matching call from the Nth on fail.
	Sticky bool
	// Err is what the call fails with; nil is EIO. It is wrapped with the call and the name, but for the two errors of
	// reading that callers compare for: io.EOF and io.ErrUnexpectedEOF.
	Err error
	// Short is how many bytes of a failing read or write go through before.
	Short int
	// After makes the call take effect, and then report the error. A close always takes effect.
	After bool
}

func (r Rule) String() string {
	op := r.Op
	if op == OpAny {
		op = "any"
	}
	return fmt.Sprintf("%s of %q, call %d: %v", op, r.Name, max(r.N, 1), r.failure())
}

func (r Rule) failure() error {
	if r.Err == nil {
		return syscall.EIO
	}
	return r.Err
}

// Call is a call that was made.
type Call struct {
	Op   Op
	Name string
}

// FaultyFS passes calls on to another FS and makes some of them fail. It is safe for concurrent use.
type FaultyFS struct {
	inner FS

	mu    sync.Mutex
	rules []*activeRule
	calls map[Op]int
	hits  []Call
}

type activeRule struct {
	Rule
	seen int
}

var _ LinkTarget = (*FaultyFS)(nil)

// Faulty wraps an FS. Of the rules that a call meets the first counts; all count the call. It panics when a pattern is
// malformed.
func Faulty(inner FS, rules ...Rule) *FaultyFS {
	f := &FaultyFS{inner: inner, calls: map[Op]int{}}
	f.Add(rules...)
	return f
}

// Add adds rules, which count from now.
func (f *FaultyFS) Add(rules ...Rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range rules {
		if _, err := path.Match(r.Name, ""); err != nil {
			panic(fmt.Sprintf("vfs.Faulty: pattern %q: %v", r.Name, err))
		}
		f.rules = append(f.rules, &activeRule{Rule: r})
	}
}

// Heal takes all rules away.
func (f *FaultyFS) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = nil
}

// Calls is the number of calls of a kind so far, failed ones included; of all kinds for OpAny.
func (f *FaultyFS) Calls(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if op != OpAny {
		return f.calls[op]
	}
	all := 0
	for _, n := range f.calls {
		all += n
	}
	return all
}

// Hits are the calls that a rule made fail, in order.
func (f *FaultyFS) Hits() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Call(nil), f.hits...)
}

// meet counts a call and returns the rule that makes it fail, if any. other is a rename's or link's second name.
func (f *FaultyFS) meet(op Op, name, other string) *Rule {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[op]++
	var failing *Rule
	for _, r := range f.rules {
		if !r.matches(op, name) && (other == "" || !r.matches(op, other)) {
			continue
		}
		r.seen++
		due := r.seen == max(r.N, 1) || r.Sticky && r.seen > r.N
		if due && failing == nil {
			failing = &r.Rule
		}
	}
	if failing != nil {
		f.hits = append(f.hits, Call{Op: op, Name: name})
	}
	return failing
}

func (r *Rule) matches(op Op, name string) bool {
	if r.Op != OpAny && r.Op != op {
		return false
	}
	if r.Name == "" {
		return true
	}
	if !strings.Contains(r.Name, "/") {
		name = path.Base(name)
	}
	ok, _ := path.Match(r.Name, name) // Add has checked the pattern
	return ok
}

// call does one call that gives nothing back but an error.
func (f *FaultyFS) call(op Op, name, other string, do func() error) error {
	r := f.meet(op, name, other)
	if r == nil {
		return do()
	}
	if r.After {
		if err := do(); err != nil {
			return err
		}
	}
	return r.wrap(op, name)
}

// open does one call that gives back something to be closed, which a failing call must not leave open.
func open[T io.Closer](f *FaultyFS, op Op, name string, do func() (T, error)) (got T, err error) {
	err = f.call(op, name, "", func() error {
		got, err = do()
		return err
	})
	if err != nil && any(got) != nil {
		got.Close()
		var none T
		got = none
	}
	return got, err
}

func (r *Rule) wrap(op Op, name string) error {
	err := r.failure()
	if op == OpRead && (err == io.EOF || err == io.ErrUnexpectedEOF) {
		return err
	}
	return pathError(string(op), name, err)
}

func (f *FaultyFS) Create(name string) (File, error) {
	file, err := open(f, OpCreate, name, func() (File, error) { return f.inner.Create(name) })
	if err != nil {
		return nil, err
	}
	return &faultyFile{File: file, fs: f, name: name}, nil
}

func (f *FaultyFS) Open(name string) (File, error) {
	file, err := open(f, OpOpen, name, func() (File, error) { return f.inner.Open(name) })
	if err != nil {
		return nil, err
	}
	return &faultyFile{File: file, fs: f, name: name}, nil
}

func (f *FaultyFS) Lock(name string) (io.Closer, error) {
	return open(f, OpLock, name, func() (io.Closer, error) { return f.inner.Lock(name) })
}

func (f *FaultyFS) Rename(from, to string) error {
	return f.call(OpRename, from, to, func() error { return f.inner.Rename(from, to) })
}

func (f *FaultyFS) Remove(name string) error {
	return f.call(OpRemove, name, "", func() error { return f.inner.Remove(name) })
}

func (f *FaultyFS) MkdirAll(dir string) error {
	return f.call(OpMkdir, dir, "", func() error { return f.inner.MkdirAll(dir) })
}

func (f *FaultyFS) SyncDir(dir string) error {
	return f.call(OpSyncDir, dir, "", func() error { return f.inner.SyncDir(dir) })
}

func (f *FaultyFS) List(dir string) (names []string, err error) {
	err = f.call(OpList, dir, "", func() error { names, err = f.inner.List(dir); return err })
	if err != nil {
		return nil, err
	}
	return names, nil
}

func (f *FaultyFS) Stat(name string) (info Info, err error) {
	err = f.call(OpStat, name, "", func() error { info, err = f.inner.Stat(name); return err })
	if err != nil {
		return Info{}, err
	}
	return info, nil
}

func (f *FaultyFS) Free(dir string) (bytes uint64, err error) {
	err = f.call(OpFree, dir, "", func() error { bytes, err = f.inner.Free(dir); return err })
	if err != nil {
		return 0, err
	}
	return bytes, nil
}

// Link counts as one call on each of the two trees, and as one within a tree.
func (f *FaultyFS) Link(from string, to FS, name string) error {
	if to == FS(f) {
		return f.LinkFrom(f.inner, from, name)
	}
	return f.call(OpLink, from, "", func() error { return f.inner.Link(from, to, name) })
}

// LinkFrom makes a link into this tree.
func (f *FaultyFS) LinkFrom(source FS, from, name string) error {
	return f.call(OpLink, name, from, func() error { return source.Link(from, f.inner, name) })
}

// Close ends the FS below.
func (f *FaultyFS) Close() error { return Close(f.inner) }

// faultyFile passes a file's calls on.
type faultyFile struct {
	File
	fs   *FaultyFS
	name string // within the FS
}

func (f *faultyFile) ReadAt(p []byte, off int64) (int, error) {
	r := f.fs.meet(OpRead, f.name, "")
	if r == nil {
		return f.File.ReadAt(p, off)
	}
	part := p[:min(r.Short, len(p))]
	if r.After {
		part = p
	}
	n, err := f.File.ReadAt(part, off)
	if err != nil && err != io.EOF {
		return n, err
	}
	return n, r.wrap(OpRead, f.Name())
}

func (f *faultyFile) Write(p []byte) (int, error) {
	r := f.fs.meet(OpWrite, f.name, "")
	if r == nil {
		return f.File.Write(p)
	}
	part := p[:min(r.Short, len(p))]
	if r.After {
		part = p
	}
	n := 0
	if len(part) > 0 {
		var err error
		if n, err = f.File.Write(part); err != nil {
			return n, err
		}
	}
	return n, r.wrap(OpWrite, f.Name())
}

func (f *faultyFile) Sync() error {
	return f.fs.call(OpSync, f.name, "", f.File.Sync)
}

func (f *faultyFile) Size() (size int64, err error) {
	err = f.fs.call(OpSize, f.name, "", func() error { size, err = f.File.Size(); return err })
	if err != nil {
		return 0, err
	}
	return size, nil
}

// Close always closes the file below: a failed close does not leave a file open either.
func (f *faultyFile) Close() error {
	r := f.fs.meet(OpClose, f.name, "")
	err := f.File.Close()
	if r == nil || err != nil {
		return err
	}
	return r.wrap(OpClose, f.Name())
}

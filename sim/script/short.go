package script

import (
	"fmt"
	"sync"
	"syscall"

	"millrace/internal/vfs"
)

// shortFS cuts reads and writes in half: half of it is done, then an error.
type shortFS struct {
	vfs.FS

	mu    sync.Mutex
	rules []*shortRule
}

// shortRule says which calls are cut, as a fault does.
type shortRule struct {
	op          vfs.Op
	class       vfs.Class
	from, count int // count 0: all from then on
	seen        int
}

func (s *shortFS) add(r shortRule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, &r)
}

func (s *shortFS) heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = nil
}

// cuts counts a call and says whether it is one of those.
func (s *shortFS) cuts(op vfs.Op, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	cut := false
	for _, r := range s.rules {
		if r.op != op || r.class != vfs.ClassAny && r.class != vfs.ClassOf(name) {
			continue
		}
		r.seen++
		cut = cut || r.seen >= r.from && (r.count == 0 || r.seen < r.from+r.count)
	}
	return cut
}

// Create is as in vfs.FS.
func (s *shortFS) Create(name string) (vfs.File, error) { return s.wrap(name, s.FS.Create) }

// Open is as in vfs.FS.
func (s *shortFS) Open(name string) (vfs.File, error) { return s.wrap(name, s.FS.Open) }

func (s *shortFS) wrap(name string, open func(string) (vfs.File, error)) (vfs.File, error) {
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	return &shortFile{File: f, fs: s, name: name}, nil
}

type shortFile struct {
	vfs.File
	fs   *shortFS
	name string // within the FS
}

func (f *shortFile) Write(p []byte) (int, error) {
	if !f.fs.cuts(vfs.OpWrite, f.name) {
		return f.File.Write(p)
	}
	n, err := f.File.Write(p[:len(p)/2])
	if err == nil {
		err = fmt.Errorf("write %s: %w", f.name, syscall.EIO)
	}
	return n, err
}

func (f *shortFile) ReadAt(p []byte, off int64) (int, error) {
	if !f.fs.cuts(vfs.OpRead, f.name) {
		return f.File.ReadAt(p, off)
	}
	n, err := f.File.ReadAt(p[:len(p)/2], off)
	if err == nil {
		err = fmt.Errorf("read %s: %w", f.name, syscall.EIO)
	}
	return n, err
}

package vfs

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// SyncOrderOptions tell a SyncOrder what the manifest names.
type SyncOrderOptions struct {
	// Manifest, when set, is asked after each sync of a file of class manifest, or of the directory, which files the durable
	// manifest names now. err is what the sync reported; after a failure both what was named before and what is returned
	// count as named. With ok false nothing has changed. It runs on the goroutine that synced, and may read below the layer,
	// not through it.
	Manifest func(name string, err error) (names []string, ok bool)
}

// SyncOrderFS checks that what the durable manifest names is durable, data and names, before the record that names it is
// written; and that no file is removed, or renamed, while the durable manifest names it. It keeps books of its own, so it
// can lie above any FS. It is safe for concurrent use.
type SyncOrderFS struct {
	layer
	opts SyncOrderOptions

	mu              sync.Mutex
	ledger          *ledger
	named           map[string]bool
	checked, parted int
	violations      []string
}

// SyncOrder wraps an FS. What it holds counts as durable.
func SyncOrder(inner FS, opts SyncOrderOptions) (*SyncOrderFS, error) {
	books, err := newLedger(inner)
	if err != nil {
		return nil, err
	}
	s := &SyncOrderFS{opts: opts, ledger: books, named: map[string]bool{}}
	s.layer = layer{inner: inner, around: s.pass}
	return s, nil
}

// Named says that the durable manifest names these files from now on and no others. Those that it did not name before are
// checked.
func (s *SyncOrderFS) Named(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.name(names, s.ledger.calls+1, false)
}

// InDoubt says that a record which names these files may be durable or not: they and those named before count as named.
func (s *SyncOrderFS) InDoubt(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.name(names, s.ledger.calls+1, true)
}

// Checks is how many names were found in the manifest for the first time, and how many were taken from a file.
func (s *SyncOrderFS) Checks() (named, removed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checked, s.parted
}

// Violations are what was wrong, in order; none is the aim.
func (s *SyncOrderFS) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

func (s *SyncOrderFS) pass(p *passage) error {
	err := p.pass()
	s.mu.Lock()
	var written uint64
	if p.Op == OpSync && nodeOf(p) != nil {
		written = nodeOf(p).dirtyAt
	}
	if err == nil {
		s.checkParting(p)
	}
	s.ledger.note(p, err)
	s.mu.Unlock()
	if (p.Op == OpSync || p.Op == OpSyncDir) && p.Class() == ClassManifest && s.opts.Manifest != nil {
		names, ok := s.opts.Manifest(p.Name, err)
		s.mu.Lock()
		defer s.mu.Unlock()
		if ok {
			if written == 0 {
				written = s.ledger.calls
			}
			s.name(names, written, err != nil)
		}
	}
	return err
}

// checkParting checks a call that takes a name from a file.
func (s *SyncOrderFS) checkParting(p *passage) {
	switch p.Op {
	case OpRemove:
		s.part(p, p.Name)
	case OpRename:
		if p.Name != p.To {
			s.part(p, p.Name)
			s.part(p, p.To)
		}
	}
}

func (s *SyncOrderFS) part(p *passage, name string) {
	if s.ledger.names[name] == nil {
		return
	}
	s.parted++
	if s.named[name] {
		s.violate("%v: the durable manifest names %s", p.Call, name)
	}
}

// name takes over what the manifest names. written is when the record that says so was written.
func (s *SyncOrderFS) name(names []string, written uint64, doubt bool) {
	for _, name := range names {
		if !s.named[name] {
			s.checked++
			s.checkDurable(name, written)
		}
	}
	next := map[string]bool{}
	if doubt {
		next = maps.Clone(s.named)
	}
	for _, name := range names {
		next[name] = true
	}
	s.named = next
}

// checkDurable checks one newly named file.
func (s *SyncOrderFS) checkDurable(name string, written uint64) {
	n := s.ledger.names[name]
	switch {
	case n == nil:
		s.violate("the manifest names %s, which is not there", name)
		return
	case n.dir:
		s.violate("the manifest names %s, which is a directory", name)
	case n.failed:
		s.violate("the manifest names %s, of which a sync failed", name)
	case n.synced < n.size:
		s.violate("the manifest names %s, of which %d of %d bytes were synced", name, n.synced, n.size)
	case n.syncedAt >= written:
		s.violate("the manifest names %s, which was synced after the record was written", name)
	}
	for dir := range parents(name + "/") { // and the name itself
		d, ok := s.ledger.durable[dir]
		switch {
		case !ok || d.node != s.ledger.names[dir]:
			s.violate("the manifest names %s, and the directory entry of %s was not synced", name, dir)
		case d.at >= written:
			s.violate("the manifest names %s, and the directory entry of %s was synced after the record was written", name, dir)
		}
	}
}

func (s *SyncOrderFS) violate(format string, args ...any) {
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

package vfs

import (
	"errors"
	"io/fs"
	"sync"
	"syscall"
)

// LimitFS passes calls on as long as there are not too many files open, and not too many bytes in files. It is safe for
// concurrent use.
type LimitFS struct {
	layer

	mu       sync.Mutex
	ledger   *ledger
	maxOpen  int
	maxBytes int64
	open     int
	peak     int
}

// Limit wraps an FS. 0 is no limit.
func Limit(inner FS, maxOpen int, maxBytes int64) (*LimitFS, error) {
	books, err := newLedger(inner)
	if err != nil {
		return nil, err
	}
	l := &LimitFS{ledger: books, maxOpen: maxOpen, maxBytes: maxBytes}
	l.layer = layer{inner: inner, around: l.pass}
	return l, nil
}

// SetOpen sets how many files and locks may be open at once; one more fails with EMFILE. Calls that list or sync a
// directory, or ask for its free space, need one for their own time.
func (l *LimitFS) SetOpen(files int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.maxOpen = files
}

// SetBytes sets how many bytes there may be in all files that have a name or are open. A write beyond takes what fits and
// fails with ENOSPC.
func (l *LimitFS) SetBytes(bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.maxBytes = bytes
}

// OpenFiles is how many files and locks are open, and how many ever were at once.
func (l *LimitFS) OpenFiles() (now, peak int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open, l.peak
}

// Bytes is how many bytes there are in files.
func (l *LimitFS) Bytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ledger.bytes
}

// Free returns no more than the limit leaves.
func (l *LimitFS) Free(dir string) (uint64, error) {
	free, err := l.layer.Free(dir)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && l.maxBytes > 0 {
		free = min(free, uint64(max(l.maxBytes-l.ledger.bytes, 0)))
	}
	return free, err
}

func (l *LimitFS) pass(p *passage) error {
	l.mu.Lock()
	defer l.mu.Unlock() // held during the call below, so that two calls cannot share the last place
	held := 0
	switch p.Op {
	case OpCreate, OpOpen, OpLock, OpList, OpSyncDir, OpFree:
		held = 1
	}
	if l.maxOpen > 0 && l.open+held > l.maxOpen && held > 0 {
		return pathError(string(p.Op), p.Name, syscall.EMFILE)
	}
	l.peak = max(l.peak, l.open+held)
	err := l.write(p)
	l.ledger.note(p, err)
	switch {
	case (p.Op == OpClose || p.Op == OpUnlock) && !errors.Is(err, fs.ErrClosed):
		l.open--
	case held > 0 && err == nil && p.Op != OpList && p.Op != OpSyncDir && p.Op != OpFree:
		l.open++
	}
	return err
}

// write passes a call on, a write as far as there is room.
func (l *LimitFS) write(p *passage) error {
	room := int64(len(p.buf))
	if p.Op == OpWrite && l.maxBytes > 0 {
		room = min(room, max(l.maxBytes-l.ledger.bytes, 0))
	}
	if p.Op != OpWrite || room == int64(len(p.buf)) {
		return p.pass()
	}
	if room > 0 {
		if err := p.passPart(p.buf[:room]); err != nil {
			return err
		}
	}
	return pathError(string(p.Op), p.file.Name(), syscall.ENOSPC)
}

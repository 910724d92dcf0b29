package actors

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"

	"millrace/internal/invariant"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/rfile"
)

// openFiles is the one table of a store's files, shared by all who read: one reader a file, opened when it is first
// wanted and kept open. It locks inside; opening happens outside the lock that the others need.
//
// Three things keep a file. A lease keeps its reader open. Holds are of loaded tablets, of which several share a file
// after a split or while a failed one is replaced; a tablet has its file until the last view of it is gone. The manifest
// names it, until a durable record does so no more. A file that nothing keeps is not closed or removed here, by whoever
// happens to be the last, but named to free: the files actor does the rest.
type openFiles struct {
	fs      vfs.FS
	idleMax int
	free    func(number uint64)

	mu     sync.Mutex
	closed bool
	files  map[uint64]*storeFile
	most   atomic.Int64 // files at once so far
	clock  uint64       // counts the ends of leases, for finding the reader that was idle longest
}

// storeFile is a file that is held, leased, open or waiting to be removed.
type storeFile struct {
	meta    tablet.FileMeta
	leases  int
	holds   int
	unnamed bool   // the manifest does not name it any more
	idle    uint64 // when the last lease ended
	freeing bool   // named to free

	opening sync.Mutex
	reader  *rfile.Reader // guarded by opening; set once there is a lease, taken back when there is none
	open    bool          // guarded by openFiles.mu
}

// obsolete says that nobody will read the file any more.
func (f *storeFile) obsolete() bool { return f.unnamed && f.holds == 0 }

// lease is one hold on a file. It may be passed on, but is released once.
type lease struct {
	table    *openFiles
	file     *storeFile
	released bool
}

func newOpenFiles(fs vfs.FS, idleMax int, free func(number uint64)) *openFiles {
	return &openFiles{fs: fs, idleMax: idleMax, free: free, files: make(map[uint64]*storeFile)}
}

// lease holds a file, which need not be open. It does no I/O.
func (t *openFiles) lease(meta tablet.FileMeta) *lease {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.file(meta)
	invariant.That(!f.obsolete(), "a file that is to be removed is leased anew")
	f.leases++
	return &lease{table: t, file: f}
}

// file finds a file or enters it. It wants the lock.
func (t *openFiles) file(meta tablet.FileMeta) *storeFile {
	f := t.files[meta.Number]
	if f == nil {
		f = &storeFile{meta: meta}
		t.files[meta.Number] = f
		t.most.Store(max(t.most.Load(), int64(len(t.files))))
	}
	return f
}

// Reader opens the file, or returns the reader that is open already.
func (l *lease) Reader() (*rfile.Reader, error) {
	f := l.file
	f.opening.Lock()
	defer f.opening.Unlock()
	if f.reader != nil {
		return f.reader, nil
	}
	file, err := l.table.fs.Open(f.meta.Name)
	if err != nil {
		return nil, fmt.Errorf("open file %d: %w", f.meta.Number, err)
	}
	if f.reader, err = rfile.Open(file, rfile.ReaderOptions{}); err != nil {
		f.reader = nil
		return nil, err
	}
	l.table.mu.Lock()
	f.open = true
	l.table.mu.Unlock()
	return f.reader, nil
}

// Release ends the hold. A second call does nothing.
func (l *lease) Release() {
	t, f := l.table, l.file
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.released {
		return
	}
	l.released = true
	f.leases--
	invariant.That(f.leases >= 0, "a file has fewer than no leases")
	if f.leases > 0 {
		return
	}
	if t.closed {
		t.closeLate(f)
		return
	}
	t.clock++
	f.idle = t.clock
	if f.open && !f.obsolete() {
		t.trim()
		return
	}
	t.settle(f)
}

// settle does what is due for a file that somebody has let go of. It wants the lock.
func (t *openFiles) settle(f *storeFile) {
	switch {
	case f.leases > 0:
	case f.obsolete():
		t.nameFree(f)
	case f.holds == 0 && !f.open:
		delete(t.files, f.meta.Number)
	}
}

// trim names the reader that was idle longest, if too many are.
func (t *openFiles) trim() {
	var oldest *storeFile
	n := 0
	for _, f := range t.files {
		if f.leases > 0 || !f.open || f.freeing {
			continue
		}
		n++
		if oldest == nil || f.idle < oldest.idle {
			oldest = f
		}
	}
	if n > t.idleMax {
		t.nameFree(oldest)
	}
}

func (t *openFiles) nameFree(f *storeFile) {
	if !f.freeing {
		f.freeing = true
		t.free(f.meta.Number)
	}
}

// hold says that one more tablet has the file.
func (t *openFiles) hold(meta tablet.FileMeta) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.file(meta).holds++
}

// letGo says that a tablet that had the file has it no more, in no view.
func (t *openFiles) letGo(meta tablet.FileMeta) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed { // a view has outlived the store
		return
	}
	f := t.file(meta)
	f.holds--
	invariant.That(f.holds >= 0, "a file is let go of more often than held")
	t.settle(f)
}

// unname says that no durable record names the file any more, nor ever will: it goes when the last that has it lets go.
func (t *openFiles) unname(meta tablet.FileMeta) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.file(meta)
	f.unnamed = true
	if t.closed {
		return
	}
	t.settle(f)
}

// release does what free was told: it closes a file that is idle, and removes one that is obsolete. A file that is
// leased again meanwhile stays. After an error the file is still there, and release may be tried again.
func (t *openFiles) release(number uint64) error {
	f := t.takeIdle(number)
	if f == nil {
		return nil
	}
	var errs []error
	f.opening.Lock()
	if f.reader != nil {
		errs = append(errs, f.reader.Close())
		f.reader = nil
	}
	f.opening.Unlock()
	if f.obsolete() {
		err := t.fs.Remove(f.meta.Name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.mu.Lock()
			t.files[number] = f
			t.mu.Unlock()
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// nameAgain names everything once more that was named and not done, to a new files actor.
func (t *openFiles) nameAgain() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for number, f := range ordered(t.files) {
		if f.freeing {
			t.free(number)
		}
	}
}

// takeIdle takes a file out of the table if nobody holds it: whoever leases it from now on opens it anew.
func (t *openFiles) takeIdle(number uint64) *storeFile {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.files[number]
	if f == nil {
		return nil
	}
	if f.leases > 0 {
		f.freeing = false
		return nil
	}
	delete(t.files, number)
	if f.holds > 0 {
		t.files[number] = &storeFile{meta: f.meta, holds: f.holds, unnamed: f.unnamed}
	}
	f.open = false
	return f
}

// close closes every reader, and removes what is obsolete: something may have become so when nobody was there to be told.
// Who holds a lease still is told in the error; the reader is closed when the last one is released.
func (t *openFiles) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	var errs []error
	for number, f := range ordered(t.files) {
		if f.leases > 0 {
			errs = append(errs, fmt.Errorf("file %d is still held %d times", number, f.leases))
			continue
		}
		errs = append(errs, t.closeLate(f))
		if f.obsolete() {
			errs = append(errs, t.removeLate(f))
		}
	}
	return errors.Join(errs...)
}

// closeLate closes the reader of a file when no files actor is there to do it. It wants the lock.
func (t *openFiles) closeLate(f *storeFile) error {
	f.opening.Lock()
	defer f.opening.Unlock()
	if f.reader == nil {
		return nil
	}
	err := f.reader.Close()
	f.reader, f.open = nil, false
	return err
}

// removeLate removes a file that nothing names, when no files actor is there to do it.
func (t *openFiles) removeLate(f *storeFile) error {
	if err := t.fs.Remove(f.meta.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// count is the number of files that are open, and of leases.
func (t *openFiles) count() (open, leases int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.files {
		if f.open {
			open++
		}
		leases += f.leases
	}
	return open, leases
}

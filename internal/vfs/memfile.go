package vfs

import (
	"io"
	"io/fs"
)

// memFile is an open file of a MemFS. Its own fields are guarded by the device's lock too.
type memFile struct {
	fs      *MemFS
	n       *memNode
	name    string
	writing bool
	closed  bool
}

func (f *memFile) Name() string { return f.name }

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.fs.device.mu.RLock()
	defer f.fs.device.mu.RUnlock()
	switch {
	case f.writing:
		return 0, pathError("read", f.name, errWriting)
	case f.closed:
		return 0, pathError("read", f.name, fs.ErrClosed)
	case off < 0:
		return 0, pathError("read", f.name, errNegative)
	case len(p) == 0:
		return 0, nil
	}
	n := f.n.content.readAt(p, off)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) Write(p []byte) (int, error) {
	device := f.fs.device
	device.mu.Lock()
	defer device.mu.Unlock()
	switch {
	case !f.writing:
		return 0, pathError("write", f.name, errReading)
	case f.closed:
		return 0, pathError("write", f.name, fs.ErrClosed)
	}
	n, err := device.room(len(p))
	f.n.content.append(p[:n])
	device.used += uint64(n)
	if err != nil {
		return n, pathError("write", f.name, err)
	}
	return n, nil
}

func (f *memFile) Sync() error {
	f.fs.device.mu.Lock()
	defer f.fs.device.mu.Unlock()
	if f.closed {
		return pathError("sync", f.name, fs.ErrClosed)
	}
	f.n.synced = f.n.content.length
	return nil
}

// dropUnsynced is what a failed sync may do: what was written since the last one never reaches the disk, though the
// process still sees it, and though a later sync says that all is well.
func (f *memFile) dropUnsynced() {
	f.fs.device.mu.Lock()
	defer f.fs.device.mu.Unlock()
	if n := f.n; n.pending() > 0 {
		n.dropped = append(n.dropped[:len(n.dropped):len(n.dropped)], span{n.synced, n.content.length})
	}
}

func (f *memFile) Close() error {
	f.fs.device.mu.Lock()
	defer f.fs.device.mu.Unlock()
	if f.closed {
		return pathError("close", f.name, fs.ErrClosed)
	}
	f.closed = true
	f.fs.device.closed(f.n)
	return nil
}

func (f *memFile) Size() (int64, error) {
	f.fs.device.mu.RLock()
	defer f.fs.device.mu.RUnlock()
	if f.closed {
		return 0, pathError("stat", f.name, fs.ErrClosed)
	}
	return f.n.content.length, nil
}

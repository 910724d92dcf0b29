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
	case off >= int64(len(f.n.data)) && len(p) > 0:
		return 0, io.EOF
	case len(p) == 0:
		return 0, nil
	}
	n := copy(p, f.n.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) Write(p []byte) (int, error) {
	f.fs.device.mu.Lock()
	defer f.fs.device.mu.Unlock()
	switch {
	case !f.writing:
		return 0, pathError("write", f.name, errReading)
	case f.closed:
		return 0, pathError("write", f.name, fs.ErrClosed)
	}
	f.n.data = append(f.n.data, p...)
	return len(p), nil
}

func (f *memFile) Sync() error {
	f.fs.device.mu.Lock()
	defer f.fs.device.mu.Unlock()
	if f.closed {
		return pathError("sync", f.name, fs.ErrClosed)
	}
	f.n.synced = len(f.n.data)
	return nil
}

func (f *memFile) Close() error {
	f.fs.device.mu.Lock()
	defer f.fs.device.mu.Unlock()
	if f.closed {
		return pathError("close", f.name, fs.ErrClosed)
	}
	f.closed = true
	f.fs.device.open--
	return nil
}

func (f *memFile) Size() (int64, error) {
	f.fs.device.mu.RLock()
	defer f.fs.device.mu.RUnlock()
	if f.closed {
		return 0, pathError("stat", f.name, fs.ErrClosed)
	}
	return int64(len(f.n.data)), nil
}

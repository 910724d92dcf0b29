package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// Hold takes the lock on a file that is there, as Lock does, but changes nothing, not even the file's content: so that a
// directory can be looked at and is left as it was found. Without the file the error is fs.ErrNotExist. Layers are passed
// by; an FS of another kind has no such lock, and the error wraps errors.ErrUnsupported.
func Hold(fsys FS, name string) (io.Closer, error) {
	for {
		switch f := fsys.(type) {
		case interface {
			hold(string) (io.Closer, error)
		}:
			return f.hold(name)
		case interface{ Unwrap() FS }:
			fsys = f.Unwrap()
		default:
			return nil, pathError("hold", name, errors.ErrUnsupported)
		}
	}
}

func (d *dirFS) hold(name string) (io.Closer, error) {
	for range maxTries {
		f, err := d.open(name, os.O_RDONLY)
		if err == nil {
			err = flock(f)
		}
		if err != nil {
			return nil, pathError("hold", d.show(name), err)
		}
		here, err := d.standsFor(name, f)
		if err == nil && here {
			return &dirHold{f: f, path: d.show(name)}, nil
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, pathError("hold", d.show(name), err)
		}
	}
	return nil, pathError("hold", d.show(name), errSwapped)
}

// dirHold is a lock held that leaves the file alone.
type dirHold struct {
	f    *os.File
	path string
}

func (h *dirHold) Close() error {
	if err := unlock(h.f); err != nil {
		return pathError("unlock", h.path, err)
	}
	return nil
}

func (m *MemFS) hold(name string) (io.Closer, error) {
	m.device.mu.Lock()
	defer m.device.mu.Unlock()
	n, err := m.file(name)
	if err == nil && n.locked {
		err = heldError{pid: os.Getpid()}
	}
	if err != nil {
		return nil, pathError("hold", name, err)
	}
	n.locked = true
	m.device.opened(n)
	return &memHold{fs: m, n: n, name: name}, nil
}

// memHold is a lock held that leaves the file alone; n is nil once it is given back.
type memHold struct {
	fs   *MemFS
	n    *memNode
	name string
}

func (h *memHold) Close() error {
	h.fs.device.mu.Lock()
	defer h.fs.device.mu.Unlock()
	if h.n == nil {
		return pathError("unlock", h.name, fs.ErrClosed)
	}
	h.n.locked = false
	h.fs.device.closed(h.n)
	h.n = nil
	return nil
}

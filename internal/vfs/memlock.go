package vfs

import (
	"io"
	"io/fs"
	"strconv"
	"syscall"
)

func (m *MemFS) Lock(name string) (io.Closer, error) {
	m.device.mu.Lock()
	defer m.device.mu.Unlock()
	n, err := m.file(name)
	if err == syscall.ENOENT {
		n, err = m.create(name)
	}
	if err == nil && n.locked {
		err = heldError{pid: syscall.Getpid()}
	}
	if err != nil {
		return nil, pathError("lock", name, err)
	}
	n.locked = true
	n.data, n.synced = []byte(strconv.Itoa(syscall.Getpid())+"\n"), 0
	m.device.open++
	return &memLock{fs: m, n: n, name: name}, nil
}

// memLock is a lock held; n is nil once it is given back.
type memLock struct {
	fs   *MemFS
	n    *memNode
	name string
}

func (l *memLock) Close() error {
	l.fs.device.mu.Lock()
	defer l.fs.device.mu.Unlock()
	if l.n == nil {
		return pathError("unlock", l.name, fs.ErrClosed)
	}
	l.n.locked = false
	l.n.data, l.n.synced = nil, 0
	l.n = nil
	l.fs.device.open--
	return nil
}

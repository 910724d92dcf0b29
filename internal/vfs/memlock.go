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
	m.device.replace(n, contentOf([]byte(strconv.Itoa(syscall.Getpid())+"\n")))
	m.device.opened(n)
	return &memLock{fs: m, n: n, name: name}, nil
}

// replace gives a file another content, of which nothing is synced.
func (d *memDevice) replace(n *memNode, c content) {
	d.used += uint64(c.length) - uint64(n.content.length)
	n.content, n.synced, n.dropped = c, 0, nil
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
	l.fs.device.replace(l.n, content{})
	l.fs.device.closed(l.n)
	l.n = nil
	return nil
}

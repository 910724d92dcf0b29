package vfs

import (
	"strings"
	"syscall"
)

func (m *MemFS) Create(name string) (File, error) {
	m.device.mu.Lock()
	defer m.device.mu.Unlock()
	n, err := m.create(name)
	if err != nil {
		return nil, pathError("create", name, err)
	}
	m.device.opened(n)
	return &memFile{fs: m, n: n, name: name, writing: true}, nil
}

func (m *MemFS) create(name string) (*memNode, error) {
	dir, last, err := m.place(name)
	if err != nil {
		return nil, err
	}
	if dir.entries.get(last) != nil {
		return nil, syscall.EEXIST
	}
	n := &memNode{}
	m.device.name(n, dir, last)
	return n, nil
}

func (m *MemFS) Open(name string) (File, error) {
	m.device.mu.Lock()
	defer m.device.mu.Unlock()
	n, err := m.file(name)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	m.device.opened(n)
	return &memFile{fs: m, n: n, name: name}, nil
}

func (m *MemFS) Rename(from, to string) error {
	m.device.mu.Lock()
	defer m.device.mu.Unlock()
	if err := m.rename(from, to); err != nil {
		return linkError("rename", from, to, err)
	}
	return nil
}

func (m *MemFS) rename(from, to string) error {
	fromDir, fromLast, err := m.place(from)
	if err != nil {
		return err
	}
	n := fromDir.entries.get(fromLast)
	if n == nil {
		return syscall.ENOENT
	}
	toDir, toLast, err := m.place(to)
	if err != nil {
		return err
	}
	old := toDir.entries.get(toLast)
	switch {
	case old == n:
		return nil // two names of one file, or the same name: both stay
	case n.dir && strings.HasPrefix(to, from+"/"):
		return syscall.EINVAL
	case old == nil:
	case n.dir && !old.dir:
		return syscall.ENOTDIR
	case !n.dir && old.dir:
		return syscall.EEXIST // what os.Rename reports
	case old.dir && len(old.entries) > 0:
		return syscall.ENOTEMPTY
	}
	fromDir.unset(fromLast)
	toDir.set(toLast, n)
	m.device.moved(n, fromDir, fromLast, toDir, toLast)
	if old != nil {
		m.device.unlinked(old)
	}
	return nil
}

func (m *MemFS) Remove(name string) error {
	m.device.mu.Lock()
	defer m.device.mu.Unlock()
	dir, last, err := m.place(name)
	var n *memNode
	if err == nil {
		if n = dir.entries.get(last); n == nil {
			err = syscall.ENOENT
		} else if len(n.entries) > 0 {
			err = syscall.ENOTEMPTY
		}
	}
	if err != nil {
		return pathError("remove", name, err)
	}
	dir.unset(last)
	m.device.changed(dir, change{node: n, from: last})
	m.device.unlinked(n)
	return nil
}

func (m *MemFS) List(dir string) ([]string, error) {
	m.device.mu.RLock()
	defer m.device.mu.RUnlock()
	n, err := m.dir(dir)
	if err != nil {
		return nil, pathError("list", dir, err)
	}
	names := make([]string, len(n.entries))
	for i, e := range n.entries {
		names[i] = e.name
	}
	return names, nil
}

func (m *MemFS) Stat(name string) (Info, error) {
	m.device.mu.RLock()
	defer m.device.mu.RUnlock()
	n, err := m.find(name)
	if err != nil {
		return Info{}, pathError("stat", name, err)
	}
	if n.dir {
		return Info{Dir: true, Mode: dirMode}, nil
	}
	return Info{Bytes: n.content.length, Mode: fileMode}, nil
}

func (m *MemFS) MkdirAll(dir string) error {
	m.device.mu.Lock()
	defer m.device.mu.Unlock()
	if err := checkName(dir); err != nil {
		return pathError("mkdir", dir, err)
	}
	n := m.root
	if dir == "." {
		return nil
	}
	for element := range strings.SplitSeq(dir, "/") {
		next := n.entries.get(element)
		if next == nil {
			next = newMemDir()
			m.device.name(next, n, element)
		}
		if !next.dir {
			return pathError("mkdir", dir, syscall.ENOTDIR)
		}
		n = next
	}
	return nil
}

func (m *MemFS) SyncDir(dir string) error {
	m.device.mu.Lock()
	defer m.device.mu.Unlock()
	n, err := m.dir(dir)
	if err != nil {
		return pathError("sync", dir, err)
	}
	n.syncDir()
	return nil
}

func (m *MemFS) Free(dir string) (uint64, error) {
	m.device.mu.RLock()
	defer m.device.mu.RUnlock()
	if _, err := m.dir(dir); err != nil {
		return 0, pathError("statfs", dir, err)
	}
	return m.device.left(), nil
}

func (m *MemFS) Link(from string, to FS, name string) error {
	if target, ok := to.(LinkTarget); ok {
		return target.LinkFrom(m, from, name)
	}
	dst, ok := to.(*MemFS)
	if !ok || dst.device != m.device {
		return linkError("link", from, name, syscall.EXDEV)
	}
	m.device.mu.Lock()
	defer m.device.mu.Unlock()
	n, err := m.file(from)
	var dir *memNode
	var last string
	if err == nil {
		dir, last, err = dst.place(name)
	}
	if err == nil && dir.entries.get(last) != nil {
		err = syscall.EEXIST
	}
	if err != nil {
		return linkError("link", from, name, err)
	}
	m.device.name(n, dir, last)
	return nil
}

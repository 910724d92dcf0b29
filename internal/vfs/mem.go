package vfs

import (
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// MemFS is a tree in memory. It keeps apart what the process sees and what would be there after a power cut: of a file,
// the length at its last Sync (files only grow); of a directory, the entries at its last SyncDir.
type MemFS struct {
	device *memDevice
	root   *memNode
}

// memDevice is shared by all trees that can be linked to each other.
type memDevice struct {
	mu   sync.RWMutex // guards all nodes
	free uint64
	open int
}

// memNode is a file or a directory; names live in the directory above.
type memNode struct {
	dir bool

	entries map[string]*memNode // directory: what the process sees
	durable map[string]*memNode // directory: as of the last SyncDir

	data   []byte // file; written bytes never change in place, so images can share them
	synced int    // file: length as of the last Sync
	locked bool
}

func newMemDir() *memNode {
	return &memNode{dir: true, entries: map[string]*memNode{}, durable: map[string]*memNode{}}
}

// Mem returns an empty tree on a device of its own.
func Mem() *MemFS {
	return &MemFS{device: &memDevice{free: 1 << 40}, root: newMemDir()}
}

// Sub returns the tree below a directory, on the same device, so that files can be linked between the two.
func (m *MemFS) Sub(dir string) (*MemFS, error) {
	m.device.mu.RLock()
	defer m.device.mu.RUnlock()
	n, err := m.dir(dir)
	if err != nil {
		return nil, pathError("open", dir, err)
	}
	return &MemFS{device: m.device, root: n}, nil
}

// SetFree sets what Free returns; 1 TiB before.
func (m *MemFS) SetFree(bytes uint64) {
	m.device.mu.Lock()
	defer m.device.mu.Unlock()
	m.device.free = bytes
}

// OpenFiles is the number of files on the device that are open, and locks that are held.
func (m *MemFS) OpenFiles() int {
	m.device.mu.RLock()
	defer m.device.mu.RUnlock()
	return m.device.open
}

// find returns what a valid name stands for.
func (m *MemFS) find(name string) (*memNode, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	n := m.root
	if name == "." {
		return n, nil
	}
	for element := range strings.SplitSeq(name, "/") {
		if !n.dir {
			return nil, syscall.ENOTDIR
		}
		n = n.entries[element]
		if n == nil {
			return nil, syscall.ENOENT
		}
	}
	return n, nil
}

func (m *MemFS) dir(name string) (*memNode, error) {
	n, err := m.find(name)
	if err == nil && !n.dir {
		return nil, syscall.ENOTDIR
	}
	return n, err
}

func (m *MemFS) file(name string) (*memNode, error) {
	if err := checkFileName(name); err != nil {
		return nil, err
	}
	n, err := m.find(name)
	if err == nil && n.dir {
		return nil, syscall.EISDIR
	}
	return n, err
}

// place returns the directory that holds or will hold a name, and the name's last element.
func (m *MemFS) place(name string) (*memNode, string, error) {
	if err := checkFileName(name); err != nil {
		return nil, "", err
	}
	dir, err := m.dir(path.Dir(name))
	return dir, path.Base(name), err
}

func (m *MemFS) Create(name string) (File, error) {
	m.device.mu.Lock()
	defer m.device.mu.Unlock()
	n, err := m.create(name)
	if err != nil {
		return nil, pathError("create", name, err)
	}
	m.device.open++
	return &memFile{fs: m, n: n, name: name, writing: true}, nil
}

func (m *MemFS) create(name string) (*memNode, error) {
	dir, last, err := m.place(name)
	if err != nil {
		return nil, err
	}
	if dir.entries[last] != nil {
		return nil, syscall.EEXIST
	}
	n := &memNode{}
	dir.entries[last] = n
	return n, nil
}

func (m *MemFS) Open(name string) (File, error) {
	m.device.mu.Lock()
	defer m.device.mu.Unlock()
	n, err := m.file(name)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	m.device.open++
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
	n := fromDir.entries[fromLast]
	if n == nil {
		return syscall.ENOENT
	}
	toDir, toLast, err := m.place(to)
	if err != nil {
		return err
	}
	old := toDir.entries[toLast]
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
	delete(fromDir.entries, fromLast)
	toDir.entries[toLast] = n
	return nil
}

func (m *MemFS) Remove(name string) error {
	m.device.mu.Lock()
	defer m.device.mu.Unlock()
	dir, last, err := m.place(name)
	if err == nil && dir.entries[last] == nil {
		err = syscall.ENOENT
	}
	if err == nil && len(dir.entries[last].entries) > 0 {
		err = syscall.ENOTEMPTY
	}
	if err != nil {
		return pathError("remove", name, err)
	}
	delete(dir.entries, last)
	return nil
}

func (m *MemFS) List(dir string) ([]string, error) {
	m.device.mu.RLock()
	defer m.device.mu.RUnlock()
	n, err := m.dir(dir)
	if err != nil {
		return nil, pathError("list", dir, err)
	}
	return slices.Sorted(maps.Keys(n.entries)), nil
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
	return Info{Bytes: int64(len(n.data)), Mode: fileMode}, nil
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
		next := n.entries[element]
		if next == nil {
			next = newMemDir()
			n.entries[element] = next
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
	n.durable = maps.Clone(n.entries)
	return nil
}

func (m *MemFS) Free(dir string) (uint64, error) {
	m.device.mu.RLock()
	defer m.device.mu.RUnlock()
	if _, err := m.dir(dir); err != nil {
		return 0, pathError("statfs", dir, err)
	}
	return m.device.free, nil
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
	if err == nil && dir.entries[last] != nil {
		err = syscall.EEXIST
	}
	if err != nil {
		return linkError("link", from, name, err)
	}
	dir.entries[last] = n
	return nil
}

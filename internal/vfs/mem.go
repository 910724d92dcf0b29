package vfs

import (
	"path"
	"strings"
	"sync"
	"syscall"
)

// MemFS is a tree in memory. It keeps apart what the process sees and what would be there after a power cut: of a file,
// the content and length at its last Sync; of a directory, the entries at its last SyncDir. What lies between is pending,
// and Image draws what a crash leaves of it.
type MemFS struct {
	device *memDevice
	root   *memNode
}

// memDevice is shared by all trees that can be linked to each other.
type memDevice struct {
	mu         sync.RWMutex // guards all nodes
	free       uint64       // what Free returns while there is no capacity
	capacity   uint64
	used       uint64
	open       int
	lastChange uint64
	recycled   []content
}

// Mem returns an empty tree on a device of its own.
func Mem() *MemFS {
	return &MemFS{device: &memDevice{free: noCapacity}, root: newMemDir()}
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
		n = n.entries.get(element)
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

package vfs

import (
	"errors"
	"io"
	"io/fs"
)

// FS is a directory tree. Names are slash-separated, relative to its root, and never leave it.
// Implementations are safe for concurrent use.
type FS interface {
	// Create makes a new file, mode 0600. It fails with fs.ErrExist when the name is taken.
	Create(name string) (File, error)
	// Open opens a file for reading.
	Open(name string) (File, error)
	// Rename moves a file over whatever has the new name, atomically.
	Rename(from, to string) error
	Remove(name string) error
	// List returns the names in a directory, sorted.
	List(dir string) ([]string, error)
	Stat(name string) (Info, error)
	// MkdirAll makes a directory and its parents, mode 0700.
	MkdirAll(dir string) error
	// SyncDir makes the directory's entries durable.
	SyncDir(dir string) error
	// Lock takes an exclusive lock that dies with the process. The error wraps ErrLocked when another holds it.
	Lock(name string) (io.Closer, error)
	// Free returns the bytes that an unprivileged writer may still use.
	Free(dir string) (uint64, error)
	// Link gives a file a second name, in another tree on the same device.
	Link(from string, to FS, name string) error
}

// File is written once, from start to end, or read at any place. A File being written is not safe for concurrent use;
// ReadAt on a File opened for reading is.
type File interface {
	io.ReaderAt
	io.Writer
	io.Closer
	Sync() error
	Size() (int64, error)
	// Name is the name it was opened under, for messages.
	Name() string
}

// Info says what a name stands for.
type Info struct {
	Bytes int64
	Dir   bool
	// Mode is the permission bits.
	Mode fs.FileMode
}

// ErrLocked marks the error of a Lock that another process holds.
var ErrLocked = errors.New("locked by another process")

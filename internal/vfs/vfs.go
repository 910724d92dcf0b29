package vfs

import (
	"errors"
	"io"
	"io/fs"
)

// FS is a directory tree. Names are slash-separated, relative to its root, and never leave it; "." is the root itself.
// Implementations are safe for concurrent use. Errors are *fs.PathError or *os.LinkError with the path as the user
// would write it, and answer errors.Is for fs.ErrExist, fs.ErrNotExist and fs.ErrInvalid (a name that is not valid, or
// that stands for something other than a file or a directory).
//
// Whoever opened an FS ends it with Close of this package.
type FS interface {
	// Create makes a new file for writing, mode 0600 whatever the umask. It fails with fs.ErrExist when the name is
	// taken, be it by a symbolic link.
	Create(name string) (File, error)
	// Open opens a file for reading. It refuses directories, links and devices.
	Open(name string) (File, error)
	// Rename moves a file over whatever has the new name, atomically. Files that are open stay so.
	Rename(from, to string) error
	// Remove takes away a name: a file's (which lives on while it is open or has another name) or an empty directory's.
	Remove(name string) error
	// List returns the names in a directory, sorted, without the directory's own.
	List(dir string) ([]string, error)
	Stat(name string) (Info, error)
	// MkdirAll makes a directory and its parents, mode 0700 whatever the umask. What exists stays as it is.
	MkdirAll(dir string) error
	// SyncDir makes the directory's entries durable: created, renamed and removed names. Sync of a file does not make its
	// name durable.
	SyncDir(dir string) error
	// Lock takes an exclusive lock that dies with the process, on a file that is made if need be and stays behind. It does
	// not wait: the error wraps ErrLocked when another holds the lock, in this process or another. The lock lasts until
	// what is returned is closed; keep it reachable until then.
	Lock(name string) (io.Closer, error)
	// Free returns the bytes that an unprivileged writer may still use.
	Free(dir string) (uint64, error)
	// Link gives a file a second name, in another tree on the same device; syscall.EXDEV when it is not the same. It
	// fails with fs.ErrExist when the new name is taken.
	Link(from string, to FS, name string) error
}

// File is written once, from start to end (from Create), or read at any place (from Open); the other kind of call fails
// with fs.ErrInvalid. A File being written is not safe for concurrent use; ReadAt on a File opened for reading is.
type File interface {
	// ReadAt is as in io.ReaderAt; the end of the file is io.EOF itself.
	io.ReaderAt
	// Write appends all of the slice, or says in the error why not. After an error the file's content is unknown.
	io.Writer
	io.Closer
	// Sync makes the content written so far durable. After a failed Sync the content is unknown and stays so, even if a
	// later Sync succeeds.
	Sync() error
	// Size is the length in bytes.
	Size() (int64, error)
	// Name is the path to print, as a user would write it: the FS's own path and the name. It opens nothing.
	Name() string
}

// LinkTarget is what a wrapper of an FS implements so that links made into it pass through it: every Link whose target
// has this method calls it.
type LinkTarget interface {
	FS
	// LinkFrom does source.Link(from, inner, name), where inner is what is wrapped.
	LinkFrom(source FS, from, name string) error
}

// Info says what a name stands for.
type Info struct {
	// Bytes is a file's length; 0 for a directory.
	Bytes int64
	Dir   bool
	// Mode is the permission bits.
	Mode fs.FileMode
}

// ErrLocked marks the error of a Lock that another holds.
var ErrLocked = errors.New("locked by another process")

// Close ends an FS: it frees what the FS itself holds, if anything. Open files and locks are not touched.
func Close(fsys FS) error {
	if c, ok := fsys.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

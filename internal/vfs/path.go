package vfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// OpenPath opens the regular file that a user's path leads to, through symbolic links if need be, for reading.
func OpenPath(path string) (File, error) {
	// Without O_NONBLOCK a named pipe would hang the call until somebody writes to it.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	info, err := f.Stat()
	if err == nil {
		err = checkRegular(info)
	}
	if err != nil {
		return nil, pathError("open", path, errors.Join(err, f.Close()))
	}
	return &dirFile{f: f, path: path}, nil
}

// StatPath says what a user's path leads to.
func StatPath(path string) (Info, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Info{}, pathError("stat", path, err)
	}
	out, err := infoOf(info)
	if err != nil {
		return Info{}, pathError("stat", path, err)
	}
	return out, nil
}

// SplitPath opens the directory of a user's path for an output, which must exist, and returns the name in it; the file
// itself need not exist. The caller closes dir with Close. A symbolic link in the last place is not followed: an output
// renamed over it replaces the link.
func SplitPath(path string) (dir FS, name string, err error) {
	parent, name := filepath.Split(path)
	if err := checkFileName(name); err != nil {
		if name == "" || name == "." || name == ".." {
			err = syscall.EISDIR
		}
		return nil, "", pathError("open", path, err)
	}
	if parent == "" {
		parent = "."
	}
	dir, err = Dir(parent)
	if err != nil {
		return nil, "", pathError("open", path, err)
	}
	return dir, name, nil
}

// MakeDir opens the directory of a user's path, and makes it and its parents first, mode 0700, where they are missing.
// Each new name is durable when it returns.
func MakeDir(path string) (FS, error) {
	if fsys, err := Dir(path); !errors.Is(err, os.ErrNotExist) {
		return fsys, err
	}
	parent := filepath.Dir(filepath.Clean(path))
	above, err := MakeDir(parent)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(filepath.Clean(path))
	err = above.MkdirAll(name)
	if err == nil {
		err = above.SyncDir(".")
	}
	if err := errors.Join(err, Close(above)); err != nil {
		return nil, fmt.Errorf("make directory %s: %w", path, err)
	}
	return Dir(path)
}

// TempDir makes a new directory, mode 0700, where the system keeps temporary files. cleanup closes the FS and removes
// the directory with all that is in it.
func TempDir(prefix string) (path string, fsys FS, cleanup func() error, err error) {
	path, err = os.MkdirTemp("", prefix+"-*")
	if err != nil {
		return "", nil, nil, fmt.Errorf("make a temporary directory: %w", err)
	}
	err = os.Chmod(path, dirMode)
	if err == nil {
		fsys, err = Dir(path)
	}
	if err != nil {
		return "", nil, nil, fmt.Errorf("make a temporary directory: %w", errors.Join(err, os.RemoveAll(path)))
	}
	return path, fsys, func() error { return errors.Join(Close(fsys), os.RemoveAll(path)) }, nil
}

// ReadAll returns a file's whole content. It refuses, with syscall.EFBIG, files longer than limit bytes.
func ReadAll(f File, limit int64) ([]byte, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, pathError("read", f.Name(), fmt.Errorf("%d bytes are more than %d: %w", size, limit, syscall.EFBIG))
	}
	content := make([]byte, size)
	if n, err := f.ReadAt(content, 0); n < len(content) {
		if err == nil || err == io.EOF {
			err = pathError("read", f.Name(), io.ErrUnexpectedEOF)
		}
		return nil, err
	}
	return content, nil
}

// ReadPath returns the whole content of the file that a user's path leads to; see OpenPath and ReadAll.
func ReadPath(path string, limit int64) (content []byte, err error) {
	f, err := OpenPath(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return ReadAll(f, limit)
}

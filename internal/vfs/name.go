package vfs

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// oddity is what is wrong with a name, or with what it stands for. It is fs.ErrInvalid to errors.Is.
type oddity string

func (o oddity) Error() string { return string(o) }

func (o oddity) Is(target error) bool { return target == fs.ErrInvalid }

const (
	errBadName  oddity = "not a valid name"
	errLink     oddity = "is a symbolic link"
	errNotFile  oddity = "neither a file nor a directory"
	errSwapped  oddity = "was exchanged while it was opened"
	errReading  oddity = "file was opened for reading"
	errWriting  oddity = "file was created for writing"
	errNegative oddity = "negative offset"
)

// maxElement is the longest part of a name between slashes, in bytes, on all file systems in use.
const maxElement = 255

// checkName refuses every name that could mean something outside the tree. "." passes.
func checkName(name string) error {
	if !fs.ValidPath(name) || strings.IndexByte(name, 0) >= 0 {
		return errBadName
	}
	for element := range strings.SplitSeq(name, "/") {
		if len(element) > maxElement {
			return syscall.ENAMETOOLONG
		}
	}
	return nil
}

// checkFileName refuses the root besides.
func checkFileName(name string) error {
	if name == "." {
		return errBadName
	}
	return checkName(name)
}

// parents yields each directory above name but for the root, from the top: "a" and "a/b" for "a/b/c".
func parents(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := range len(name) {
			if name[i] == '/' && !yield(name[:i]) {
				return
			}
		}
	}
}

// pathError gives an error the path a user knows it by, in place of whatever path it carries.
func pathError(op, path string, err error) error {
	return &fs.PathError{Op: op, Path: path, Err: cause(err)}
}

func linkError(op, from, to string, err error) error {
	return &os.LinkError{Op: op, Old: from, New: to, Err: cause(err)}
}

// cause takes off what the os package put around an error.
func cause(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	var s *os.SyscallError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	case errors.As(err, &s):
		return s.Err
	}
	return err
}

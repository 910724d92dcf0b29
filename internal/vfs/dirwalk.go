package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// within runs use with the handle of a directory that is reached through no link. It goes down one element at a time and
// compares what was opened with what the name stood for, so that a link put there in between is noticed; what use does
// with a last element then stays in that directory, whatever its name means meanwhile.
func (d *dirFS) within(dir string, use func(*os.Root) error) (err error) {
	if err := checkName(dir); err != nil {
		return err
	}
	at := d.root
	defer func() {
		if at != d.root {
			err = errors.Join(err, at.Close())
		}
	}()
	if dir != "." {
		for element := range strings.SplitSeq(dir, "/") {
			next, err := d.enter(at, element)
			if err != nil {
				return err
			}
			if at != d.root {
				if err := at.Close(); err != nil {
					return errors.Join(err, next.Close())
				}
			}
			at = next
		}
	}
	return use(at)
}

// enter opens a directory in another. A rename over the name looks as a link does, so it tries a few times.
func (d *dirFS) enter(at *os.Root, element string) (*os.Root, error) {
	for range maxTries {
		before, err := at.Lstat(element)
		if err != nil {
			return nil, err
		}
		if err := checkDir(before); err != nil {
			return nil, err
		}
		d.inGap()
		next, err := at.OpenRoot(element + "/.") // with the dot a pipe put there in between is refused and not waited for
		if err != nil {
			return nil, err
		}
		after, err := next.Stat(".")
		if err == nil && os.SameFile(before, after) {
			return next, nil
		}
		if err := errors.Join(err, next.Close()); err != nil {
			return nil, err
		}
	}
	return nil, errSwapped
}

func checkDir(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		return errLink
	}
	return syscall.ENOTDIR
}

// place is within for the directory that holds a name of a file; use gets the last element.
func (d *dirFS) place(name string, use func(at *os.Root, last string) error) error {
	if err := checkFileName(name); err != nil {
		return err
	}
	return d.within(path.Dir(name), func(at *os.Root) error { return use(at, path.Base(name)) })
}

// withDir is within for calls that need a file handle of the directory.
func (d *dirFS) withDir(dir string, use func(*os.File) error) error {
	return d.within(dir, func(at *os.Root) (err error) {
		f, err := at.Open(".")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		return use(f)
	})
}

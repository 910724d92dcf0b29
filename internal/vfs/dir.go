package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	fileMode fs.FileMode = 0o600
	dirMode  fs.FileMode = 0o700
)

// maxTries bounds how often an open is tried again because the name meant something else a moment later.
const maxTries = 10

// dirFS is the machine's file system below one directory. os.Root keeps every call inside it, whatever is exchanged
// meanwhile; on top of that, links are refused even when they lead to a place inside.
type dirFS struct {
	root *os.Root
	path string // as the user gave it
	gap  func() // set by tests: runs between a look at a name and the call that uses it
}

// Dir opens the tree below an existing directory. The path itself may lead through symbolic links.
func Dir(path string) (FS, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	return &dirFS{root: root, path: path}, nil
}

// Close frees the handle of the directory.
func (d *dirFS) Close() error { return d.root.Close() }

// show is the path to print for a name.
func (d *dirFS) show(name string) string {
	switch {
	case name == ".":
		return d.path
	case d.path == ".":
		return name
	case strings.HasSuffix(d.path, "/"):
		return d.path + name
	}
	return d.path + "/" + name
}

func (d *dirFS) Create(name string) (File, error) {
	f, err := d.create(name, os.O_WRONLY)
	if err != nil {
		return nil, pathError("create", d.show(name), err)
	}
	return &dirFile{f: f, path: d.show(name), writing: true}, nil
}

func (d *dirFS) create(name string, access int) (f *os.File, err error) {
	err = d.place(name, func(at *os.Root, last string) error {
		f, err = at.OpenFile(last, access|os.O_CREATE|os.O_EXCL, fileMode)
		if err != nil {
			return err
		}
		if err := setMode(f); err != nil {
			return errors.Join(err, f.Close(), at.Remove(last))
		}
		return nil
	})
	return f, err
}

// setMode undoes what the umask took away.
func setMode(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Mode().Perm() == fileMode {
		return err
	}
	return f.Chmod(fileMode)
}

func (d *dirFS) Open(name string) (File, error) {
	f, err := d.open(name, os.O_RDONLY)
	if err != nil {
		return nil, pathError("open", d.show(name), err)
	}
	return &dirFile{f: f, path: d.show(name)}, nil
}

// open opens an existing regular file. What was opened is compared with what the name stood for just before, as in
// enter.
func (d *dirFS) open(name string, access int) (f *os.File, err error) {
	err = d.place(name, func(at *os.Root, last string) error {
		f, err = d.openIn(at, last, access)
		return err
	})
	return f, err
}

func (d *dirFS) openIn(at *os.Root, last string, access int) (*os.File, error) {
	for range maxTries {
		before, err := at.Lstat(last)
		if err != nil {
			return nil, err
		}
		if err := checkRegular(before); err != nil {
			return nil, err
		}
		d.inGap()
		// Without O_NONBLOCK a pipe put there in between would hang the call.
		f, err := at.OpenFile(last, access|unix.O_NONBLOCK, 0)
		if err != nil {
			return nil, err
		}
		after, err := f.Stat()
		if err == nil && sameRegular(before, after) {
			return f, nil
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	return nil, errSwapped
}

// sameRegular asks for the kind too, since the inode number of a removed file may be given to a link at once.
func sameRegular(before, after fs.FileInfo) bool {
	return os.SameFile(before, after) && checkRegular(after) == nil
}

func (d *dirFS) inGap() {
	if d.gap != nil {
		d.gap()
	}
}

func checkRegular(info fs.FileInfo) error {
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return syscall.EISDIR
	case info.Mode()&fs.ModeSymlink != 0:
		return errLink
	}
	return errNotFile
}

func (d *dirFS) Rename(from, to string) error {
	if err := d.rename(from, to); err != nil {
		return linkError("rename", d.show(from), d.show(to), err)
	}
	return nil
}

func (d *dirFS) rename(from, to string) error {
	if err := errors.Join(checkFileName(from), checkFileName(to)); err != nil {
		return err
	}
	if path.Dir(from) == path.Dir(to) {
		return d.place(from, func(at *os.Root, last string) error { return at.Rename(last, path.Base(to)) })
	}
	return d.withDir(path.Dir(from), func(fromDir *os.File) error {
		return d.withDir(path.Dir(to), func(toDir *os.File) error {
			err := unix.Renameat(int(fromDir.Fd()), path.Base(from), int(toDir.Fd()), path.Base(to))
			if err == unix.EISDIR {
				err = syscall.EEXIST // what package os reports within one directory
			}
			return err
		})
	})
}

func (d *dirFS) Remove(name string) error {
	if err := d.place(name, (*os.Root).Remove); err != nil {
		return pathError("remove", d.show(name), err)
	}
	return nil
}

func (d *dirFS) Stat(name string) (out Info, err error) {
	info, err := d.lstat(name)
	if err == nil {
		out, err = infoOf(info)
	}
	if err != nil {
		return Info{}, pathError("stat", d.show(name), err)
	}
	return out, nil
}

// lstat tells of a name, or of the root.
func (d *dirFS) lstat(name string) (info fs.FileInfo, err error) {
	if name == "." {
		return d.root.Lstat(name)
	}
	err = d.place(name, func(at *os.Root, last string) error {
		info, err = at.Lstat(last)
		return err
	})
	return info, err
}

// infoOf refuses what is neither a file nor a directory.
func infoOf(info fs.FileInfo) (Info, error) {
	if info.IsDir() {
		return Info{Dir: true, Mode: info.Mode().Perm()}, nil
	}
	if err := checkRegular(info); err != nil {
		return Info{}, err
	}
	return Info{Bytes: info.Size(), Mode: info.Mode().Perm()}, nil
}

func (d *dirFS) MkdirAll(dir string) error {
	if err := checkName(dir); err != nil {
		return pathError("mkdir", d.show(dir), err)
	}
	for parent := range parents(dir) {
		if err := d.mkdir(parent); err != nil {
			return pathError("mkdir", d.show(parent), err)
		}
	}
	if err := d.mkdir(dir); err != nil {
		return pathError("mkdir", d.show(dir), err)
	}
	return nil
}

// mkdir makes one directory unless it is there.
func (d *dirFS) mkdir(dir string) error {
	if dir == "." {
		return nil
	}
	return d.place(dir, func(at *os.Root, last string) error {
		err := at.Mkdir(last, dirMode)
		if err == nil {
			return at.Chmod(last, dirMode) // what the umask took away
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		info, err := at.Lstat(last)
		if err != nil {
			return err
		}
		return checkDir(info)
	})
}

func (d *dirFS) List(dir string) ([]string, error) {
	var names []string
	err := d.withDir(dir, func(f *os.File) (err error) {
		names, err = f.Readdirnames(-1)
		return err
	})
	if err != nil {
		return nil, pathError("list", d.show(dir), err)
	}
	slices.Sort(names)
	return names, nil
}

func (d *dirFS) SyncDir(dir string) error {
	if err := d.withDir(dir, (*os.File).Sync); err != nil {
		return pathError("sync", d.show(dir), err)
	}
	return nil
}

func (d *dirFS) Free(dir string) (uint64, error) {
	var st unix.Statfs_t
	err := d.withDir(dir, func(f *os.File) error { return unix.Fstatfs(int(f.Fd()), &st) })
	if err != nil {
		return 0, pathError("statfs", d.show(dir), err)
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}

func (d *dirFS) Link(from string, to FS, name string) error {
	if target, ok := to.(LinkTarget); ok {
		return target.LinkFrom(d, from, name)
	}
	dst, ok := to.(*dirFS)
	if !ok {
		return linkError("link", d.show(from), name, syscall.EXDEV)
	}
	if err := d.link(from, dst, name); err != nil {
		return linkError("link", d.show(from), dst.show(name), err)
	}
	return nil
}

// link compares the new name with what the old one stood for, as open does.
func (d *dirFS) link(from string, dst *dirFS, name string) error {
	if err := errors.Join(checkFileName(from), checkFileName(name)); err != nil {
		return err
	}
	return d.place(from, func(fromDir *os.Root, old string) error {
		return dst.place(name, func(toDir *os.Root, last string) error {
			before, err := fromDir.Lstat(old)
			if err != nil {
				return err
			}
			if err := checkRegular(before); err != nil {
				return err
			}
			d.inGap()
			if err := linkAt(fromDir, old, toDir, last); err != nil {
				return err
			}
			if after, err := toDir.Lstat(last); err != nil || !sameRegular(before, after) {
				return errors.Join(errSwapped, err, toDir.Remove(last))
			}
			return nil
		})
	})
}

// linkAt gives a file a second name, which package os cannot do between two roots.
func linkAt(fromDir *os.Root, from string, toDir *os.Root, to string) (err error) {
	f, err := fromDir.Open(".")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	t, err := toDir.Open(".")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	return unix.Linkat(int(f.Fd()), from, int(t.Fd()), to, 0)
}

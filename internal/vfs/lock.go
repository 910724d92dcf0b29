package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// heldError is ErrLocked with the number of the process that holds the lock.
type heldError struct{ pid int }

func (e heldError) Error() string {
	if e.pid == os.Getpid() {
		return "locked by this process already"
	}
	return fmt.Sprintf("locked by process %d", e.pid)
}

func (e heldError) Is(target error) bool { return target == ErrLocked }

// dirLock is a lock held. The file holds the number of this process while it is.
type dirLock struct {
	f    *os.File
	path string
}

func (d *dirFS) Lock(name string) (io.Closer, error) {
	for range maxTries {
		f, err := d.openOrCreate(name)
		if err == nil {
			err = flock(f)
		}
		if err != nil {
			return nil, pathError("lock", d.show(name), err)
		}
		here, err := d.standsFor(name, f)
		if err == nil && here {
			err = writeHolder(f)
		}
		if err != nil {
			return nil, pathError("lock", d.show(name), errors.Join(err, f.Close()))
		}
		if here {
			return &dirLock{f: f, path: d.show(name)}, nil
		}
		// Somebody removed the file between open and flock: a lock on it would keep nobody out.
		if err := f.Close(); err != nil {
			return nil, pathError("lock", d.show(name), err)
		}
	}
	return nil, pathError("lock", d.show(name), errSwapped)
}

func (d *dirFS) openOrCreate(name string) (*os.File, error) {
	for range maxTries {
		f, err := d.create(name, os.O_RDWR)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
		f, err = d.open(name, os.O_RDWR)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
	return nil, errSwapped
}

// flock takes the lock or closes the file.
func flock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return nil
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = holder(f)
	}
	return errors.Join(err, f.Close())
}

// holder is the error that names who holds the lock, as far as the file says.
func holder(f *os.File) error {
	var buf [20]byte
	n, _ := f.ReadAt(buf[:], 0) // a file that cannot be read just does not say
	pid, err := strconv.Atoi(strings.TrimSpace(string(buf[:n])))
	if err != nil || pid <= 0 {
		return ErrLocked
	}
	return heldError{pid: pid}
}

func (d *dirFS) standsFor(name string, f *os.File) (bool, error) {
	locked, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := d.lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(locked, named), err
}

func writeHolder(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := fmt.Fprintf(f, "%d\n", os.Getpid())
	return err
}

// Close gives the lock back. The file stays, empty: removing it could take it from under the next holder.
func (l *dirLock) Close() error {
	if err := errors.Join(l.f.Truncate(0), unlock(l.f)); err != nil {
		return pathError("unlock", l.path, err)
	}
	return nil
}

// unlock gives a lock back and closes its file. Closing alone would not do: a process that was forked off meanwhile shares
// the lock until it has begun its program.
func unlock(f *os.File) error {
	return errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_UN), f.Close())
}

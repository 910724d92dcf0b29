package storage

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// Holder is who holds a store.
type Holder struct {
	PID   int
	Host  string
	Since time.Time
}

// Self is this process.
func Self(now time.Time) Holder {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return Holder{PID: os.Getpid(), Host: host, Since: now}
}

func (h Holder) String() string {
	return fmt.Sprintf("process %d on %s since %s", h.PID, strconv.Quote(h.Host), h.Since.UTC().Format(time.RFC3339))
}

// text is the content of the file HOLDER.
func (h Holder) text() string {
	return fmt.Sprintf("pid %d\nhost %s\nsince %s\n", h.PID, strconv.Quote(h.Host), h.Since.UTC().Format(time.RFC3339Nano))
}

// maxHolderBytes bounds what is read of the file HOLDER.
const maxHolderBytes = 1 << 10

func parseHolder(text string) (h Holder, ok bool) {
	seen := 0
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		field, value, _ := strings.Cut(lines.Text(), " ")
		var err error
		switch field {
		case "pid":
			h.PID, err = strconv.Atoi(value)
		case "host":
			h.Host, err = strconv.Unquote(value)
		case "since":
			h.Since, err = time.Parse(time.RFC3339Nano, value)
		default:
			return Holder{}, false
		}
		if err != nil {
			return Holder{}, false
		}
		seen++
	}
	return h, seen == 3 && h.PID > 0
}

// LockedError says that a store is in use. It is a tablet.ErrLocked to errors.Is.
type LockedError struct {
	Holder *Holder // nil if it is not known
	Err    error   // of the lock itself, with the path
}

func (e *LockedError) Error() string {
	if e.Holder == nil {
		return fmt.Sprintf("store is in use: %v", e.Err)
	}
	return fmt.Sprintf("store is in use by %v: %v", *e.Holder, e.Err)
}

// Unwrap is the lock's error.
func (e *LockedError) Unwrap() error { return e.Err }

// Is makes errors.Is(err, tablet.ErrLocked) true.
func (e *LockedError) Is(target error) bool { return target == tablet.ErrLocked }

// TakeLock keeps others out of a store until what it returns is closed, or the process dies. It does not wait: when
// another has the lock, the error is a *LockedError that says who. It tells others who is to be told.
func TakeLock(fsys vfs.FS, self Holder) (io.Closer, error) {
	held, err := fsys.Lock(LockName)
	if errors.Is(err, vfs.ErrLocked) {
		return nil, locked(fsys, err)
	}
	if err != nil {
		return nil, fmt.Errorf("lock store: %w", err)
	}
	l := &lock{fs: fsys, held: held}
	if err := l.tell(self); err != nil {
		return nil, errors.Join(fmt.Errorf("lock store: %w", err), held.Close())
	}
	return l, nil
}

// locked makes the error of a store that another has.
func locked(fsys vfs.FS, err error) error {
	e := &LockedError{Err: err}
	if h, ok := parseHolder(readSmall(fsys, HolderName)); ok {
		e.Holder = &h
	}
	return e
}

// readSmall is the beginning of a file, empty if it cannot be read: it only helps to explain.
func readSmall(fsys vfs.FS, name string) string {
	f, err := fsys.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, maxHolderBytes)
	n, _ := f.ReadAt(b, 0)
	return string(b[:n])
}

type lock struct {
	fs   vfs.FS
	held io.Closer
}

// tell writes the file HOLDER, in place of what a killed process may have left.
func (l *lock) tell(self Holder) error {
	if err := l.remove(); err != nil {
		return err
	}
	f, err := l.fs.Create(HolderName)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(self.text()))
	return errors.Join(err, f.Close())
}

func (l *lock) remove() error {
	if err := l.fs.Remove(HolderName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Close gives the lock back.
func (l *lock) Close() error {
	if err := errors.Join(l.remove(), l.held.Close()); err != nil {
		return fmt.Errorf("unlock store: %w", err)
	}
	return nil
}

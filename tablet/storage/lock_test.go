package storage

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// TestLock takes a lock that another has: it fails at once, says who, and ends a command with the code for it.
func TestLock(t *testing.T) {
	dir, err := vfs.Dir(t.TempDir())
	check(t, err)
	defer vfs.Close(dir)
	for name, fsys := range map[string]vfs.FS{"mem": vfs.Mem(), "dir": dir} {
		t.Run(name, func(t *testing.T) {
			for range 3 {
				lock, err := TakeLock(fsys, self)
				check(t, err)
				_, err = TakeLock(fsys, Holder{PID: 1})
				var l *LockedError
				if !errors.As(err, &l) || l.Holder == nil || !l.Holder.Since.Equal(now) || tablet.OutcomeOf(err).Exit != 5 {
					t.Fatalf("taken twice: %v", err)
				}
				for _, want := range []string{"process 4711", `"here"`, "since 2026-05-04T03:02:01Z", "LOCK"} {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%q lacks %q", err, want)
					}
				}
				if _, err := Check(t.Context(), fsys, CheckOptions{}); !errors.As(err, &l) || l.Holder == nil || !errors.Is(err, tablet.ErrLocked) {
					t.Errorf("check: %v", err)
				}
				check(t, lock.Close())
				if names, err := fsys.List("."); err != nil || strings.Join(names, " ") != LockName {
					t.Errorf("left behind: %v %v", names, err)
				}
			}
		})
	}
}

// TestLockLeftBehind takes a lock whose holder was killed, whatever it left in its files.
func TestLockLeftBehind(t *testing.T) {
	for _, left := range []string{"", "pid 12\nhost \"x\"\nsince 2020-01-01T00:00:00Z\n", "pid 0\n", strings.Repeat("x", 5000), "pid 1\nhost \x1b[31m\nsince never\n"} {
		mem := vfs.Mem()
		put(t, mem, LockName, []byte("12\n"))
		put(t, mem, HolderName, []byte(left))
		before := tree(t, mem)
		held, err := vfs.Hold(mem, LockName)
		check(t, err)
		_, err = TakeLock(mem, self)
		var l *LockedError
		if !errors.As(err, &l) || (l.Holder != nil) != strings.HasPrefix(left, "pid 12") || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q: %v", left, err)
		}
		check(t, held.Close())
		if after := tree(t, mem); after[HolderName] != before[HolderName] || after[LockName] != before[LockName] {
			t.Errorf("a lock that was not given changed %q", after)
		}
		lock, err := TakeLock(mem, self)
		check(t, err)
		if got := tree(t, mem)[HolderName]; got != self.text() {
			t.Errorf("%q became %q", left, got)
		}
		check(t, lock.Close())
	}
}

// TestLockFaults lets each call of taking and giving back a lock fail: the caller is told, and nobody is locked out.
func TestLockFaults(t *testing.T) {
	for n := 1; ; n++ {
		mem := vfs.Mem()
		put(t, mem, HolderName, []byte("old"))
		faulty := vfs.Faulty(mem, vfs.Rule{N: n, Err: syscall.EIO})
		lock, err := TakeLock(faulty, self)
		if err == nil {
			err = lock.Close()
		}
		if len(faulty.Hits()) == 0 {
			check(t, err)
			return
		}
		if !errors.Is(err, syscall.EIO) || errors.Is(err, tablet.ErrLocked) {
			t.Errorf("call %d, %v: %v", n, faulty.Hits(), err)
		}
		lock, err = TakeLock(mem, self)
		check(t, err)
		check(t, lock.Close())
	}
}

func TestSelf(t *testing.T) {
	h := Self(now)
	if h.PID != syscall.Getpid() || h.Host == "" {
		t.Errorf("%+v", h)
	}
	if got, ok := parseHolder(h.text()); !ok || got.PID != h.PID || got.Host != h.Host || !got.Since.Equal(h.Since) {
		t.Errorf("%q is %+v", h.text(), got)
	}
}

package vfs

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// linkCalls are all kinds of call on a name in a directory, or on the directory.
var linkCalls = map[string]func(fsys, other FS) error{
	"create":      func(fsys, _ FS) error { return closing(fsys.Create("d/e/new")) },
	"open":        func(fsys, _ FS) error { return reading(fsys.Open("d/e/f")) },
	"lock":        func(fsys, _ FS) error { return unlocking(fsys.Lock("d/e/f")) },
	"lock new":    func(fsys, _ FS) error { return unlocking(fsys.Lock("d/e/new")) },
	"remove":      func(fsys, _ FS) error { return fsys.Remove("d/e/f") },
	"rename from": func(fsys, _ FS) error { return fsys.Rename("d/e/f", "moved") },
	"rename to":   func(fsys, _ FS) error { return fsys.Rename("own", "d/e/f") },
	"rename in":   func(fsys, _ FS) error { return fsys.Rename("d/e/f", "d/e/new") },
	"mkdir":       func(fsys, _ FS) error { return fsys.MkdirAll("d/e/new") },
	"stat":        func(fsys, _ FS) error { _, err := fsys.Stat("d/e/target"); return err },
	"list": func(fsys, _ FS) error {
		names, err := fsys.List("d/e")
		if err == nil && strings.Contains(fmt.Sprint(names), "target") {
			return nil
		}
		return errors.Join(err, os.ErrInvalid)
	},
	"link from": func(fsys, other FS) error { return fsys.Link("d/e/f", other, "linked") },
	"link to":   func(fsys, _ FS) error { return fsys.Link("own", fsys, "d/e/new") },
}

func dumpDir(t *testing.T, path string) string {
	t.Helper()
	fsys := must(Dir(path))
	defer Close(fsys)
	return dump(t, fsys)
}

func closing(f File, err error) error {
	if err == nil {
		err = f.Close()
	}
	return err
}

// reading fails unless the file is the link's target.
func reading(f File, err error) error {
	if err != nil {
		return err
	}
	defer f.Close()
	content, err := ReadAll(f, 100)
	if err == nil && string(content) != "target" {
		return os.ErrInvalid
	}
	return err
}

func unlocking(lock interface{ Close() error }, err error) error {
	if err == nil {
		err = lock.Close()
	}
	return err
}

// TestDirectoryExchangedForALink puts a link to another directory, of the same tree and of another, in the place of each
// directory on the way, just after the name was looked at. No call reaches the target.
func TestDirectoryExchangedForALink(t *testing.T) {
	f := func(name, level string, outside bool, use func(fsys, other FS) error) {
		t.Helper()
		dir, away := t.TempDir(), t.TempDir()
		fsys := must(Dir(dir)).(*dirFS)
		defer Close(fsys)
		other := must(Dir(t.TempDir()))
		defer Close(other)
		target := away + "/t"
		if !outside {
			target = dir + "/t"
		}
		check(t, os.MkdirAll(target+"/e", 0o700))
		check(t, os.MkdirAll(dir+"/d/e", 0o700))
		check(t, os.WriteFile(dir+"/d/e/f", []byte("mine"), 0o600))
		check(t, os.WriteFile(dir+"/own", []byte("own"), 0o600))
		link := map[string]string{"d": "t", "d/e": "../t/e"}[level]
		if outside {
			link = strings.TrimSuffix(target+"/"+strings.TrimPrefix(level, "d"), "/")
		}
		at := map[string]string{"d": target + "/e", "d/e": target + "/e"}[level]
		check(t, os.WriteFile(at+"/f", []byte("target"), 0o600))
		check(t, os.WriteFile(at+"/target", []byte("target"), 0o600))
		before := dumpDir(t, target)

		gaps := 0
		exchange := func() {
			if gaps++; gaps == map[string]int{"d": 1, "d/e": 2}[level] {
				check(t, os.Rename(dir+"/"+level, dir+"/aside"))
				check(t, os.Symlink(link, dir+"/"+level))
			}
		}
		fsys.gap = exchange
		err := use(fsys, other)
		fsys.gap = nil
		if err == nil {
			t.Errorf("%s, with %s exchanged: reached the target or went on", name, level)
		}
		if _, err := os.Readlink(dir + "/" + level); err != nil {
			t.Errorf("%s: %s was not exchanged", name, level)
		}
		if after := dumpDir(t, target); after != before {
			t.Errorf("%s, with %s exchanged: the target holds %s", name, level, after)
		}
		wantList(t, other, ".", "")
	}
	for name, use := range linkCalls {
		for _, level := range []string{"d", "d/e"} {
			f(name, level, false, use)
			f(name, level, true, use)
		}
	}
}

// TestDirectoryExchangedForAPipe wants no call to wait for somebody who writes to it.
func TestDirectoryExchangedForAPipe(t *testing.T) {
	for name, use := range linkCalls {
		dir := t.TempDir()
		fsys := must(Dir(dir)).(*dirFS)
		check(t, fsys.MkdirAll("d/e"))
		put(t, fsys, "own", "own")
		fsys.gap = func() {
			fsys.gap = nil
			check(t, os.Rename(dir+"/d", dir+"/aside"))
			check(t, syscall.Mkfifo(dir+"/d", 0o600))
		}
		ended := make(chan error, 1)
		go func() { ended <- use(fsys, fsys) }()
		select {
		case err := <-ended:
			if !errors.Is(err, syscall.ENOTDIR) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s waits for the pipe", name)
		}
		check(t, Close(fsys))
	}
}

// TestLinkRaces exchanges a directory and a file for links, over and over, while they are used.
func TestLinkRaces(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 100
	}
	dir := t.TempDir()
	fsys := must(Dir(dir))
	defer Close(fsys)
	for _, name := range []string{"target", "d"} {
		check(t, fsys.MkdirAll(name))
		put(t, fsys, name+"/f", name)
	}
	check(t, os.Symlink("target", dir+"/link"))
	check(t, os.Symlink("../target/f", dir+"/filelink"))
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			// The link is in the place of the directory, then of the file in it.
			os.Rename(dir+"/d", dir+"/aside")
			os.Rename(dir+"/link", dir+"/d")
			os.Rename(dir+"/d", dir+"/link")
			os.Rename(dir+"/aside", dir+"/d")
			os.Symlink("../target/f", dir+"/d/new")
			os.Rename(dir+"/d/new", dir+"/d/f")
			os.WriteFile(dir+"/d/new", []byte("d"), 0o600)
			os.Rename(dir+"/d/new", dir+"/d/f")
		}
	})
	opened := 0
	for i := range rounds {
		if f, err := fsys.Open("d/f"); err == nil {
			opened++
			content, err := ReadAll(f, 100)
			if string(content) == "target" {
				t.Error("the target was read")
			}
			check(t, errors.Join(err, f.Close()))
		}
		closing(fsys.Create(fmt.Sprintf("d/%d", i)))
		if i%10 == 0 {
			fsys.Remove("d/f")
		}
	}
	stop.Store(true)
	wg.Wait()
	if got := dumpDir(t, dir+"/target"); got != `f="target"` {
		t.Errorf("the target holds %s", got)
	}
	t.Logf("opened %d times of %d", opened, rounds)
}

package vfs

import (
	"io/fs"
	"testing"
)

func TestMemRemembersWhatWasSynced(t *testing.T) {
	m := Mem()
	write := func(f File, s string) {
		t.Helper()
		_, err := f.Write([]byte(s))
		check(t, err)
	}
	f, err := m.Create("f")
	check(t, err)
	write(f, "synced")
	check(t, f.Sync())
	write(f, " and not")

	wantList(t, m.Durable(), ".", "") // its name was not synced
	check(t, m.SyncDir("."))
	image := m.Durable()
	if got := get(t, image, "f"); got != "synced" {
		t.Errorf("after a power cut it holds %q", got)
	}
	if got := get(t, m.Clone(), "f"); got != "synced and not" {
		t.Errorf("after the process died it holds %q", got)
	}
	if got := get(t, m.Clone().Durable(), "f"); got != "synced" {
		t.Errorf("a clone lost what was synced: %q", got)
	}
	write(f, ", later")
	check(t, f.Sync())
	if got := get(t, image, "f"); got != "synced" {
		t.Errorf("an image changed afterwards: %q", got)
	}
	check(t, f.Close())
}

func TestMemDirectoriesNeedTheirOwnSync(t *testing.T) {
	m := Mem()
	check(t, m.MkdirAll("d/e"))
	put(t, m, "d/e/f", "x")
	check(t, m.SyncDir("d/e"))
	check(t, m.SyncDir("d"))
	wantList(t, m.Durable(), ".", "")
	check(t, m.SyncDir("."))
	if got := get(t, m.Durable(), "d/e/f"); got != "x" {
		t.Errorf("it holds %q", got)
	}
}

func TestMemRenameAndRemoveWaitForSync(t *testing.T) {
	m := Mem()
	check(t, m.MkdirAll("d"))
	put(t, m, "new", "new")
	put(t, m, "old", "old")
	put(t, m, "gone", "gone")
	check(t, m.SyncDir("."))
	check(t, m.Rename("new", "old"))
	check(t, m.Remove("gone"))
	wantList(t, m, ".", "d old")
	wantList(t, m.Durable(), ".", "d gone new old")
	if got := get(t, m.Durable(), "old"); got != "old" {
		t.Errorf("it holds %q", got)
	}
	check(t, m.Rename("old", "d/old")) // from now on in two directories, synced one at a time
	check(t, m.SyncDir("d"))
	wantList(t, m.Durable(), "d", "old")
	wantList(t, m.Durable(), ".", "d gone new old")
	check(t, m.SyncDir("."))
	wantList(t, m.Durable(), ".", "d")
	if got := get(t, m.Durable(), "d/old"); got != "new" {
		t.Errorf("it holds %q", got)
	}
}

func TestMemImagesAreApart(t *testing.T) {
	m := Mem()
	put(t, m, "a", "a")
	check(t, m.Link("a", m, "b"))
	check(t, m.SyncDir("."))
	lock, err := m.Lock("LOCK")
	check(t, err)
	defer lock.Close()

	for name, image := range map[string]*MemFS{"clone": m.Clone(), "durable": m.Durable()} {
		// A file with two names is one file there too: a rename from one to the other leaves both.
		check(t, image.Rename("a", "b"))
		if _, err := image.Stat("a"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		again, err := image.Lock("LOCK") // locks die with the process
		check(t, err)
		check(t, again.Close())
		put(t, image, "c", "c")
		check(t, image.Remove("a"))
	}
	wantList(t, m, ".", "LOCK a b")
	if _, err := m.Lock("LOCK"); err == nil {
		t.Error("an image gave the lock back")
	}
}

func TestMemSub(t *testing.T) {
	m := Mem()
	check(t, m.MkdirAll("d"))
	sub, err := m.Sub("d")
	check(t, err)
	put(t, sub, "f", "x")
	if got := get(t, m, "d/f"); got != "x" {
		t.Errorf("it holds %q", got)
	}
	_, err = m.Sub("none")
	wantErr(t, err, fs.ErrNotExist, "none")
}

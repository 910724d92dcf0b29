package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/storage"
)

// linkedStore is a closed store on a directory, beside one with whatever its links lead to.
type linkedStore struct {
	t           *testing.T
	dir, target string
	fs          vfs.FS
}

func newLinkedStore(t *testing.T) *linkedStore {
	s := emptyLinkedStore(t)
	if err := exercise(s.dir, s.fs, func(string) {}); err != nil {
		t.Fatal(err)
	}
	return s
}

func emptyLinkedStore(t *testing.T) *linkedStore {
	top := t.TempDir()
	s := &linkedStore{t: t, dir: top + "/store", target: top + "/target"}
	var err error
	if s.fs, err = vfs.MakeDir(s.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { vfs.Close(s.fs) })
	return s
}

// clone is a copy of the store in a place of its own.
func (s *linkedStore) clone() *linkedStore {
	c := emptyLinkedStore(s.t)
	if err := os.CopyFS(c.dir, os.DirFS(s.dir)); err != nil {
		s.t.Fatal(err)
	}
	return c
}

// content is all that is below the target, with the time of the last change: for telling whether it was touched.
func (s *linkedStore) content() string {
	var all strings.Builder
	err := filepath.Walk(s.target, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		b, _ := os.ReadFile(path)
		fmt.Fprintf(&all, "%s %v %v %x\n", strings.TrimPrefix(path, s.target), info.Mode(), info.ModTime(), b)
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return all.String()
}

// use does with a store what can be done with it. Its error is that of the opening.
func (s *linkedStore) use() error {
	ctx := context.Background()
	storage.Check(ctx, s.fs, storage.CheckOptions{Deep: true})
	st, err := actors.Open(ctx, s.dir, actors.WithFS(s.fs))
	if err == nil {
		m := tablet.NewMutation([]byte("row"))
		m.Put([]byte("f"), nil, nil, []byte("v"))
		st.Apply(ctx, "t", []*tablet.Mutation{m})
		st.Flush(ctx, "t")
		st.Compact(ctx, "t", actors.CompactOptions{})
		if sc, err := st.Scan(ctx, "t", actors.ScanOptions{}); err == nil {
			ReadAll(sc)
		}
		st.Close(ctx)
	}
	storage.Repair(ctx, s.fs, storage.RepairOptions{Do: true})
	return err
}

// TestSymlinks puts a symbolic link in the place of each file of a store, of each of its directories, and of names that it
// has a use for: to a copy of what was there, to something else, to a directory, to nothing. The store is refused, or does
// without; what the link leads to is never taken for the store's, written to or removed.
func TestSymlinks(t *testing.T) {
	places, read, touched := 0, 0, 0
	names := []string{"data", "wal", "manifest", "LOCK", "HOLDER", "data/F9999990.rf", "wal/0000999990.wal", "manifest/0000999990.manifest"}
	model := newLinkedStore(t)
	all := append(names, storeFiles(t, model.fs)...)
	if testing.Short() {
		all = all[len(all)-4:]
	}
	for _, name := range all {
		for _, kind := range []string{"copy", "other", "directory", "nothing", "inside"} {
			s := model.clone()
			at := filepath.Join(s.dir, name)
			_, err := os.Lstat(at)
			needed := err == nil // without HOLDER, and names that nothing has yet, the store opens
			if err := os.MkdirAll(s.target, 0o700); err != nil {
				t.Fatal(err)
			}
			to := filepath.Join(s.target, "x")
			switch kind {
			case "copy":
				if _, err := os.Lstat(at); err == nil {
					if err := os.Rename(at, to); err != nil {
						t.Fatal(err)
					}
				}
			case "other":
				os.WriteFile(to, []byte("other"), 0o600)
			case "directory":
				os.MkdirAll(to+"/data", 0o700)
				os.WriteFile(to+"/F0000001.rf", []byte("other"), 0o600)
			case "inside":
				to = filepath.Join(s.dir, "manifest")
			}
			os.RemoveAll(at)
			if err := os.Symlink(to, at); err != nil {
				t.Fatal(err)
			}
			before := s.content()
			err = s.use()
			places++
			if needed && err == nil {
				read++
				t.Errorf("%s is a link to %s: opened", name, kind)
			}
			if after := s.content(); after != before {
				touched++
				t.Errorf("%s is a link to %s, and what it leads to has changed:\n%s\n%s", name, kind, before, after)
			}
		}
	}
	lastLine(t, "R72", count("places", places), zero("read", read), zero("touched", touched))
}

// TestSymlinkRaces has somebody exchange the directories and files of a store for links all the while it is used. What the
// links lead to looks like the store's own, and is never touched.
func TestSymlinkRaces(t *testing.T) {
	n := runs(40)
	s := newLinkedStore(t)
	touched := 0
	for _, dir := range []string{"data", "wal", "manifest"} {
		if err := os.CopyFS(s.target+"/"+dir, os.DirFS(s.dir+"/"+dir)); err != nil {
			t.Fatal(err)
		}
	}
	before := s.content()
	var stop atomic.Bool
	var racer sync.WaitGroup
	racer.Go(func() {
		r := rand.New(rand.NewPCG(firstSeed(), 1))
		for !stop.Load() {
			dir := []string{"data", "wal", "manifest"}[r.IntN(3)]
			at := filepath.Join(s.dir, dir)
			if os.Rename(at, at+".aside") != nil {
				continue
			}
			os.Symlink(filepath.Join(s.target, dir), at)
			time.Sleep(time.Duration(r.IntN(200)) * time.Microsecond)
			os.Remove(at) // a link, or an empty directory that was made meanwhile; else it stays, with what is in it
			if os.Rename(at+".aside", at) != nil {
				os.RemoveAll(at)
				os.Rename(at+".aside", at)
			}
			time.Sleep(time.Duration(r.IntN(2000)) * time.Microsecond)
		}
	})
	opened := 0
	for range n {
		if s.use() == nil {
			opened++
		}
	}
	stop.Store(true)
	racer.Wait()
	if after := s.content(); after != before {
		touched++
		t.Errorf("what the links lead to has changed:\n%s\n%s", before, after)
	}
	lastLine(t, "R72", count("races", n), count("opened", opened), zero("touched", touched))
}

package sim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/manifest"
)

// Cases from the field; the numbers are those of the list of cases.

// leftovers puts files where the next outputs would be, by any prefix, and temporary ones, with a second name of one of
// them outside of the store.
func leftovers(t *testing.T, mem, outside *vfs.MemFS, from uint64) (names []string) {
	t.Helper()
	for n := from; n < from+12; n++ {
		for _, prefix := range []string{"F", "C", "A", "M", "S"} {
			names = append(names, manifest.FileName(prefix, n))
		}
		names = append(names, fmt.Sprintf("wal/%010d.wal", n), fmt.Sprintf("data/%d.tmp", n), manifest.FileName("A", n)+".tmp")
	}
	for _, name := range names {
		f, err := mem.Create(name)
		if err == nil {
			_, err = f.Write([]byte("left over"))
			err = errors.Join(err, f.Sync(), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := mem.Link(names[0], outside, "kept"); err != nil {
		t.Fatal(err)
	}
	return names
}

// highest is the highest number in the names of a store's files.
func highest(t *testing.T, mem *vfs.MemFS) (n uint64) {
	t.Helper()
	for _, dir := range []string{"data", "wal", "manifest"} {
		names, err := mem.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			var found uint64
			if _, err := fmt.Sscanf(strings.TrimLeft(name, "FCAMS"), "%d", &found); err == nil {
				n = max(n, found)
			}
		}
	}
	return n
}

// TestLeftoversInTheWay: files that an aborted run has left have the names of the next outputs, when a store
// is opened and while it is open, and cannot be removed for a while. Flushes and compactions work all the same, what is
// left over is never written to, and it goes in the end.
func TestLeftoversInTheWay(t *testing.T) {
	for _, stuck := range []bool{false, true} {
		for _, when := range []string{"closed", "open"} {
			root := vfs.Mem()
			if err := errors.Join(root.MkdirAll("store"), root.MkdirAll("outside")); err != nil {
				t.Fatal(err)
			}
			mem, err := root.Sub("store")
			outside, e := root.Sub("outside")
			if err != nil || e != nil {
				t.Fatal(err, e)
			}
			var faulty *vfs.FaultyFS
			w := New(Options{FS: mem, Layers: func(fs vfs.FS) vfs.FS {
				faulty = vfs.Faulty(fs)
				return faulty
			}})
			p := NewPlayer(w, PlayOptions{Tolerate: func(_ Op, err error) bool { return errors.Is(err, fs.ErrExist) }})
			h := NewHistory(firstSeed(), HistoryOptions{Ops: 30, Weights: map[OpKind]int{Write: 6, Flush: 2, Full: 2}})
			if err := errors.Join(p.Begin(), p.Play(h[:10])); err != nil {
				t.Fatal(err)
			}
			if when == "closed" {
				if err := w.CloseStore(); err != nil {
					t.Fatal(err)
				}
			}
			names := leftovers(t, mem, outside, highest(t, mem)+1)
			if stuck {
				for _, name := range names {
					faulty.Add(vfs.Rule{Op: vfs.OpRemove, Name: name, Sticky: true, Err: syscall.EROFS})
				}
			}
			if when == "closed" {
				if err := p.open(Op{Kind: Reopen}); err != nil {
					t.Fatalf("%s, stuck %v: %v", when, stuck, err)
				}
			}
			did := p.Did[Flush] + p.Did[Full]
			for _, op := range h[10:] {
				if err := p.Do(op); err != nil {
					t.Fatalf("%s, stuck %v: %v: %v", when, stuck, op, err)
				}
			}
			if n := p.Did[Flush] + p.Did[Full] - did; when == "closed" && n < 5 || n < 3 {
				t.Errorf("%s, stuck %v: only %d flushes and compactions succeed", when, stuck, n)
			}
			if stuck {
				for _, name := range names {
					if info, err := mem.Stat(name); err != nil || info.Bytes != int64(len("left over")) {
						t.Errorf("%s: %s was touched: %+v, %v", when, name, info, err)
					}
				}
			}
			if info, err := outside.Stat("kept"); err != nil || info.Bytes != int64(len("left over")) {
				t.Errorf("%s, stuck %v: the file outside was touched: %+v, %v", when, stuck, info, err)
			}
			faulty.Heal()
			if err := errors.Join(p.Do(Op{Kind: Reopen, Table: "t"}), w.CloseStore()); err != nil {
				t.Errorf("%s, stuck %v: at the end: %v", when, stuck, err)
			}
			for _, name := range names {
				if _, err := mem.Stat(name); err == nil && strings.HasSuffix(name, ".rf") {
					t.Errorf("%s, stuck %v: %s is there for ever", when, stuck, name)
				}
			}
			w.End()
		}
	}
}

// TestManifestInDoubt: at each write and sync of the manifest that fails in the middle of work the record is refused
// and the reason told; as long as the disk is bad so is every other; open again, and all that was acknowledged is there.
func TestManifestInDoubt(t *testing.T) {
	for n, hit := 1, true; hit; n++ {
		for _, op := range []vfs.Op{vfs.OpWrite, vfs.OpSync} {
			mem := vfs.Mem()
			var faulty *vfs.FaultyFS
			w := New(Options{FS: mem, Layers: func(fs vfs.FS) vfs.FS {
				faulty = vfs.Faulty(fs)
				return faulty
			}})
			p := NewPlayer(w, PlayOptions{Tolerate: func(_ Op, err error) bool { return errors.Is(err, syscall.EIO) }})
			if err := p.Begin(); err != nil {
				t.Fatal(err)
			}
			faulty.Add(vfs.Rule{Op: op, Class: vfs.ClassManifest, N: n, Sticky: true}, vfs.Rule{Op: vfs.OpCreate, Class: vfs.ClassManifest, Sticky: true})
			h := NewHistory(firstSeed(), HistoryOptions{Ops: 20, Weights: map[OpKind]int{Write: 6, Flush: 3, Full: 1}})
			for _, op := range h {
				if err := p.Do(op); err != nil {
					t.Fatalf("%v %d: %v: %v", op, n, op, err)
				}
			}
			if hit = len(faulty.Hits()) > 0; hit {
				err := w.Store().Flush(context.Background(), "t")
				if p.Did[Write] == 0 {
					t.Errorf("%v %d: writes do not go on", op, n)
				}
				if err2 := w.Store().SetProperties(context.Background(), "t", map[string]string{"table.split.threshold": "2G"}); !errors.Is(err2, syscall.EIO) {
					t.Errorf("%v %d: with a manifest in doubt a change is not refused with the reason: %v (flush: %v)", op, n, err2, err)
				}
			}
			if err := p.Recover(mem.Durable(), false); err != nil {
				t.Errorf("%v %d: %v", op, n, err)
			}
			w.End()
		}
		if n > 60 {
			t.Fatal("there is no end")
		}
	}
}

// TestCompactionAfterAFailedOne: a compaction that failed, at each of its calls, gives its files back: the next one of
// the same files succeeds at once.
func TestCompactionAfterAFailedOne(t *testing.T) {
	for n, hit := 1, true; hit; n++ {
		var faulty *vfs.FaultyFS
		w := New(Options{Layers: func(fs vfs.FS) vfs.FS {
			faulty = vfs.Faulty(fs)
			return faulty
		}})
		p := NewPlayer(w, PlayOptions{})
		h := NewHistory(firstSeed(), HistoryOptions{Ops: 12, Weights: map[OpKind]int{Write: 1}})
		if err := errors.Join(p.Begin(), p.Play(h[:6]), p.Do(Op{Kind: Flush, Table: "t"}), p.Play(h[6:]), p.Do(Op{Kind: Flush, Table: "t"})); err != nil {
			t.Fatal(err)
		}
		faulty.Add(vfs.Rule{Class: vfs.ClassData, N: n})
		_, err := w.Store().Compact(context.Background(), "t", actors.CompactOptions{NoFlush: true})
		hit = len(faulty.Hits()) > 0
		if !hit && err != nil {
			t.Errorf("call %d: %v", n, err)
		}
		faulty.Heal()
		before := w.Clock().Elapsed()
		if err := p.Do(Op{Kind: Full, Table: "t"}); err != nil {
			t.Errorf("call %d: the next compaction: %v", n, err)
		}
		if took := w.Clock().Elapsed() - before; took > 5*time.Second {
			t.Errorf("call %d: the next compaction takes %v", n, took)
		}
		if err := errors.Join(p.Check(), w.CloseStore()); err != nil {
			t.Errorf("call %d: %v", n, err)
		}
		w.End()
		if n > 200 {
			t.Fatal("there is no end")
		}
	}
}

// A log that could not be written for a while, with entries that nobody waits for: it is tried again by itself, and soon
// after the disk is well writers get on.
func TestLogComesBack(t *testing.T) {
	for _, level := range []tablet.Durability{tablet.DurabilityLog, tablet.DurabilityFlush, tablet.DurabilitySync} {
		var faulty *vfs.FaultyFS
		w := New(Options{Layers: func(fs vfs.FS) vfs.FS {
			faulty = vfs.Faulty(fs)
			return faulty
		}})
		bad := true
		p := NewPlayer(w, PlayOptions{Tolerate: func(_ Op, err error) bool { return bad && errors.Is(err, syscall.EIO) }})
		h := NewHistory(firstSeed(), HistoryOptions{Ops: 6, Weights: map[OpKind]int{Write: 1}, Durabilities: []tablet.Durability{level}})
		if err := errors.Join(p.Begin(), p.Do(h[0])); err != nil {
			t.Fatal(err)
		}
		faulty.Add(vfs.Rule{Op: vfs.OpWrite, Class: vfs.ClassLog, Sticky: true}, vfs.Rule{Op: vfs.OpCreate, Class: vfs.ClassLog, Sticky: true})
		if err := errors.Join(p.Do(h[1]), p.Do(h[2]), w.Sleep(time.Minute)); err != nil {
			t.Fatal(err)
		}
		faulty.Heal()
		if err := w.Sleep(11 * time.Second); err != nil {
			t.Fatal(err)
		}
		bad = false
		for _, op := range h[3:] {
			if err := p.Do(op); err != nil {
				t.Errorf("level %v: %v: %v", level, op, err)
			}
		}
		if err := errors.Join(p.Check(), w.CloseStore()); err != nil {
			t.Errorf("level %v: %v", level, err)
		}
		w.End()
	}
}

package storage

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/wal"
)

// damagedStore is a closed store with entries in several segments, and a flipped bit in front of good records.
func damagedStore(t *testing.T) (mem *vfs.MemFS, entries int, damaged string) {
	t.Helper()
	mem = vfs.Mem()
	for range 3 { // a segment each
		s := open(t, mem)
		for i := range 10 {
			s.put(fmt.Sprint("row ", i))
			entries++
		}
		s.close()
	}
	numbers, err := wal.List(mem)
	check(t, err)
	damaged = wal.Name(numbers[1])
	check(t, mem.Edit(damaged, func(b []byte) []byte { b[len(b)/2] ^= 4; return b }))
	return mem, entries, damaged
}

// TestRepair opens a store whose log is damaged in the middle: it is refused, and told how to go on. The repair, once it is
// confirmed, keeps everything but the one entry, says what it dropped, and leaves the old files as they were.
func TestRepair(t *testing.T) {
	mem, entries, damaged := damagedStore(t)
	loaded, err := Load(t.Context(), mem)
	check(t, err)
	_, err = loaded.Replay(t.Context(), func(*wal.Entry) error { return nil })
	var c *tablet.CorruptError
	if !errors.As(err, &c) || c.File != damaged || !strings.Contains(err.Error(), "millrace store repair") {
		t.Errorf("opened: %v", err)
	}
	before := tree(t, mem)
	r, err := Repair(t.Context(), mem, RepairOptions{Self: self})
	check(t, err)
	if len(r.Losses) != 1 || r.Losses[0].File != damaged || r.Losses[0].Bytes == 0 || int(r.Kept) != entries-1 || r.Lost != 1 || r.Segment != "" {
		t.Errorf("looked: %+v", r)
	}
	if after := tree(t, mem); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Error("a repair that was not confirmed has changed something")
	}
	r, err = Repair(t.Context(), mem, RepairOptions{Self: self, Do: true})
	check(t, err)
	if len(r.Losses) != 1 || r.Losses[0].Offset == 0 || r.Segment == "" || len(r.Replaced) != 3 {
		t.Errorf("done: %+v", r)
	}
	for _, name := range r.Replaced {
		if was := strings.TrimSuffix(name, ReplacedSuffix); tree(t, mem)[name] != before[was] {
			t.Errorf("%s is not what %s was", name, was)
		}
	}
	again, err := Repair(t.Context(), mem, RepairOptions{Self: self, Do: true})
	check(t, err)
	if len(again.Losses) != 0 || again.Segment != "" || int(again.Kept) != entries-1 {
		t.Errorf("again: %+v", again)
	}
	s := open(t, mem)
	if s.acknowledged != entries-1 {
		t.Errorf("%d entries of %d", s.acknowledged, entries)
	}
	s.put("row")
	s.close()
	report, err := Check(t.Context(), mem, CheckOptions{})
	check(t, err)
	check(t, report.Err())
}

// TestRepairCutShort has every call of a repair fail, and crashes at each: the store is refused or has all that is good,
// and another repair brings it to its end.
func TestRepairCutShort(t *testing.T) {
	runs := 0
	for n := 1; ; n++ {
		mem, entries, _ := damagedStore(t)
		var images []*vfs.MemFS
		traced := vfs.Trace(mem, vfs.TraceOptions{Before: func(e vfs.Event) {
			if int(e.Number) == n {
				for _, mode := range []vfs.ImageMode{vfs.ImageAll, vfs.ImageStrict, vfs.ImageRandom, vfs.ImageReorder, vfs.ImageTorn} {
					images = append(images, mem.Image(vfs.ImageOptions{Mode: mode, P: 0.5, Seed: e.Number}))
				}
			}
		}})
		faulty := vfs.Faulty(traced, vfs.Rule{N: n, Err: syscall.EIO})
		_, err := Repair(t.Context(), faulty, RepairOptions{Self: self, Do: true})
		if len(faulty.Hits()) == 0 {
			check(t, err)
			break
		}
		runs++
		if err == nil && faulty.Hits()[0].Op != vfs.OpClose && faulty.Hits()[0].Op != vfs.OpRemove {
			t.Errorf("call %d, %v: not told", n, faulty.Hits())
		}
		for i, left := range append(images, mem) {
			loaded, err := Load(t.Context(), left)
			check(t, err)
			seen := 0
			_, err = loaded.Replay(t.Context(), func(*wal.Entry) error { seen++; return nil })
			if err == nil && seen != entries-1 || err != nil && !errors.Is(err, tablet.ErrCorrupt) {
				t.Errorf("call %d, image %d: %d entries, %v", n, i, seen, err)
			}
			_, err = Repair(t.Context(), left, RepairOptions{Self: self, Do: true})
			check(t, err)
			s := open(t, left)
			if s.acknowledged != entries-1 {
				t.Errorf("call %d, image %d: %d entries", n, i, s.acknowledged)
			}
			s.close()
		}
	}
	if runs < 10 {
		t.Errorf("only %d calls", runs)
	}
}

// TestRepairOther repairs nothing but a log, and nothing that is in use.
func TestRepairOther(t *testing.T) {
	mem, _, _ := damagedStore(t)
	lock, err := TakeLock(mem, self)
	check(t, err)
	var l *LockedError
	if _, err := Repair(t.Context(), mem, RepairOptions{Self: self, Do: true}); !errors.As(err, &l) {
		t.Errorf("in use: %v", err)
	}
	check(t, lock.Close())
	names, err := mem.List("manifest")
	check(t, err)
	check(t, mem.Edit("manifest/"+names[0], func(b []byte) []byte { b[len(b)/2] ^= 4; return b }))
	before := tree(t, mem)
	if _, err := Repair(t.Context(), mem, RepairOptions{Self: self, Do: true}); !errors.Is(err, tablet.ErrCorrupt) || !strings.Contains(err.Error(), "only the log can be repaired") {
		t.Errorf("manifest: %v", err)
	}
	if after := tree(t, mem); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Error("a refused repair has changed something")
	}
}

package wal

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// story is what is done to a log while a fault waits to happen: groups of all levels, a full segment and an old one,
// flushes, removal, an end.
func (w *world) story() {
	for round := range uint64(6) {
		for i := range uint64(4) {
			w.append(1+(round+i)%3, levels[(round+i)%3])
		}
		w.commit()
		w.append(2, tablet.DurabilitySync)
		w.commit()
		if round%2 == 1 {
			w.flush(1 + round%3)
			w.log.Trim()
		}
		if round == 3 {
			w.now = w.now.Add(2 * time.Hour)
		}
		w.heal()
	}
}

// everyImage checks some images of each mode.
func (w *world) everyImage() {
	for _, mode := range vfs.ImageModes() {
		for seed := range uint64(3) {
			w.check(w.mem.Image(vfs.ImageOptions{Mode: mode, Seed: seed, P: []float64{0.1, 0.5, 0.9}[seed]}), outlives(mode))
		}
	}
}

// TestErrorAtEachCall makes each call fail in turn, in each way, once and from there on. What was acknowledged comes back
// after any crash; once the fault is gone the log goes on, and what was refused never comes back.
func TestErrorAtEachCall(t *testing.T) {
	runs, sites := 0, map[vfs.Op]int{}
	f := func(rule vfs.Rule) {
		for rule.N = 1; ; rule.N++ {
			w := newWorld(t, Options{MaxBytes: 900, MaxUnsynced: 700, MaxAge: time.Hour})
			w.disk.Add(rule)
			w.story()
			w.everyImage()
			hits := w.disk.Hits()
			if len(hits) == 0 {
				return
			}
			runs++
			sites[hits[0].Op]++
			w.disk.Heal()
			if err := w.heal(); err != nil {
				t.Fatalf("%v: does not heal: %v", rule, err)
			}
			w.append(3, tablet.DurabilitySync)
			if err := w.commit(); err != nil {
				t.Fatalf("%v: does not go on: %v", rule, err)
			}
			w.everyImage()
			if err := w.log.Close(w.now); err != nil {
				t.Fatalf("%v: does not close: %v", rule, err)
			}
			w.check(w.mem.Durable(), tablet.DurabilityLog)
			w.crash(vfs.ImageOptions{Mode: vfs.ImageAll})
			w.story()
			w.everyImage()
			if n := w.mem.OpenFiles(); n > 1 {
				t.Fatalf("%v: %d files are open", rule, n)
			}
		}
	}
	for _, sticky := range []bool{false, true} {
		for _, err := range []error{syscall.EIO, syscall.ENOSPC} {
			for _, after := range []bool{false, true} {
				f(vfs.Rule{Op: vfs.OpAny, Sticky: sticky, Err: err, After: after})
			}
		}
		f(vfs.Rule{Op: vfs.OpCreate, Sticky: sticky, Err: syscall.EMFILE})
		for _, short := range []int{1, 40, 200} {
			f(vfs.Rule{Op: vfs.OpWrite, Sticky: sticky, Err: syscall.ENOSPC, Short: short})
		}
		for _, model := range vfs.SyncModels {
			f(vfs.Rule{Op: vfs.OpSync, Sticky: sticky, Sync: model})
		}
	}
	for _, op := range []vfs.Op{vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpSyncDir, vfs.OpRemove, vfs.OpClose} {
		if sites[op] < 4 {
			t.Errorf("%s failed first in %d runs only", op, sites[op])
		}
	}
	t.Logf("%d runs, first failures %v", runs, sites)
}

// TestFullDisk fills the disk at each byte of a group; then there is space again and five more writes are acknowledged.
// After a crash all five are there, and of the group that met the full disk nothing.
func TestFullDisk(t *testing.T) {
	refusals := 0
	for room := uint64(0); ; room++ {
		w := newWorld(t, Options{})
		w.append(1, tablet.DurabilitySync)
		must(t, w.commit())
		w.mem.SetCapacity(w.mem.Used() + room)
		w.append(1, tablet.DurabilitySync)
		w.append(2, tablet.DurabilityLog)
		w.append(1, tablet.DurabilityFlush)
		err := w.commit()
		w.mem.SetCapacity(0)
		if err == nil {
			if room < 100 || refusals == 0 {
				t.Fatalf("%d bytes were enough", room)
			}
			return
		}
		refusals++
		if !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, tablet.ErrBusy) || !tablet.OutcomeOf(err).Retryable {
			t.Fatalf("refused for %v", err)
		}
		w.everyImage()
		before := len(w.entries)
		w.append(1, tablet.DurabilitySync)
		if len(w.entries) != before {
			t.Fatal("taken before the void is durable")
		}
		must(t, w.heal())
		for range 5 {
			w.append(1, tablet.DurabilitySync)
			must(t, w.commit())
		}
		w.everyImage()
		present, r := w.replay(w.mem.Durable())
		if len(present) != 7 { // the first, the one of level log, the five
			t.Fatalf("%d entries, want 7", len(present))
		}
		if r.NextLSN != 10 {
			t.Fatalf("next LSN is %d", r.NextLSN)
		}
	}
}

// TestTriesWhileFull: a log that refuses leaves no files behind, however often it tries.
func TestTriesWhileFull(t *testing.T) {
	w := newWorld(t, Options{})
	w.append(1, tablet.DurabilitySync)
	must(t, w.commit())
	w.mem.SetCapacity(w.mem.Used())
	w.append(1, tablet.DurabilitySync)
	if w.commit() == nil {
		t.Fatal("the disk is not full")
	}
	for range 100 {
		if err := w.heal(); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("heals: %v", err)
		}
	}
	w.mem.SetCapacity(0)
	must(t, w.heal())
	if n, _ := List(w.mem); len(n) != 2 {
		t.Errorf("segments %v are there", n)
	}
	if v := w.log.Voids(); len(v) != 1 || v[0] != (Void{2, 2}) {
		t.Errorf("voids %v", v)
	}
}

// TestFailsOver: a segment that fails is left for another, and nobody is told.
func TestFailsOver(t *testing.T) {
	f := func(rule vfs.Rule) {
		w := newWorld(t, Options{})
		w.append(1, tablet.DurabilitySync)
		must(t, w.commit())
		w.append(1, tablet.DurabilityFlush)
		must(t, w.commit())
		w.disk.Add(rule)
		w.append(1, tablet.DurabilitySync)
		if err := w.commit(); err != nil || len(w.disk.Hits()) != 1 {
			t.Fatalf("%v: %v, %d hits", rule, err, len(w.disk.Hits()))
		}
		size := content(t, w.mem, Name(1))
		w.append(1, tablet.DurabilitySync)
		must(t, w.commit())
		if again := content(t, w.mem, Name(1)); size != again {
			t.Errorf("%v: the segment that failed grew from %d to %d bytes", rule, size, again)
		}
		if s := w.log.Stats(); s.Segments != 2 {
			t.Errorf("%v: %d segments", rule, s.Segments)
		}
		w.everyImage()
		present, r := w.replay(w.mem.Durable())
		if len(present) != 4 {
			t.Errorf("%v: %d of 4 entries, %+v", rule, len(present), r)
		}
	}
	f(vfs.Rule{Op: vfs.OpWrite})
	f(vfs.Rule{Op: vfs.OpWrite, Short: 50})
	for _, m := range vfs.SyncModels {
		f(vfs.Rule{Op: vfs.OpSync, Sync: m})
	}
}

func content(t testing.TB, fsys vfs.FS, name string) int64 {
	t.Helper()
	info, err := fsys.Stat(name)
	must(t, err)
	return info.Bytes
}

// TestDropsDuplicates: entries written again in a new segment count once.
func TestDropsDuplicates(t *testing.T) {
	w := newWorld(t, Options{})
	for range 3 {
		w.append(1, tablet.DurabilityFlush)
		must(t, w.commit())
	}
	w.append(1, tablet.DurabilityFlush)
	w.append(1, tablet.DurabilityFlush)
	must(t, w.commit())
	w.disk.Add(vfs.Rule{Op: vfs.OpSync})
	w.append(1, tablet.DurabilitySync)
	must(t, w.commit())
	present, r := w.replay(w.mem)
	if len(present) != 6 || r.Duplicates != 5 || r.Entries != 6 {
		t.Errorf("%d entries, report %+v", len(present), r)
	}
}

func ExampleLog() {
	fs := vfs.Mem()
	number := uint64(0)
	log, err := New(fs, Options{NextNumber: func() uint64 { number++; return number }})
	if err != nil {
		fmt.Println(err)
		return
	}
	m := tablet.NewMutation([]byte("row"))
	m.Put([]byte("family"), nil, nil, []byte("value"))
	e := &Entry{Tablet: 7, Session: 1, Timestamp: 1000, Mutations: []*tablet.Mutation{m}}
	fmt.Println(log.Append(e, tablet.DurabilitySync), e.LSN)
	fmt.Println(log.Commit(time.Unix(0, 0)))
	segments, _ := List(fs.Durable())
	fmt.Println(segments)
	// Output:
	// <nil> 1
	// <nil>
	// [1]
}

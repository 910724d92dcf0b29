package wal

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// write logs an entry of a tablet in a segment of its own.
func (w *world) write(tabs ...uint64) {
	w.t.Helper()
	for _, tab := range tabs {
		w.append(tab, tablet.DurabilitySync)
	}
	if err := w.commit(); err != nil {
		w.t.Fatalf("commit: %v", err)
	}
}

// TestObsolete: the oldest segments go, once all that is in them is in files; a later one waits for those before it.
func TestObsolete(t *testing.T) {
	w := newWorld(t, Options{MaxBytes: 1})
	f := func(want ...uint64) {
		t.Helper()
		if got := w.log.Obsolete(); !slices.Equal(got, want) {
			t.Errorf("obsolete are %v, want %v", got, want)
		}
		removed, err := w.log.Trim()
		if err != nil || !slices.Equal(removed, want) {
			t.Errorf("removed %v, %v, want %v", removed, err, want)
		}
		w.everyImage()
	}
	w.write(1, 2)
	w.write(2)
	w.write(3)
	w.write(1)
	f()
	w.flush(2)
	f() // segment 2 waits for 1
	w.flush(1)
	f(1, 2)
	w.log.Dropped(3)
	delete(w.filed, 3)
	w.entries = slices.DeleteFunc(w.entries, func(l logged) bool { return l.tablet == 3 })
	w.entries = append(w.entries, logged{}) // ids stay places in the list
	if got := w.log.Obsolete(); !slices.Equal(got, []uint64{3}) {
		t.Errorf("obsolete are %v; the current segment is not", got)
	}
}

// TestSessions: a segment is needed for the highest session in it.
func TestSessions(t *testing.T) {
	w := newWorld(t, Options{MaxBytes: 1})
	w.write(1)
	w.sessions[1] = 3
	w.write(1) // both sessions have entries in the log, of one the memtable is frozen
	w.write(2)
	w.filed[1] = 1
	w.log.Flushed(1, 1)
	if got := w.log.Obsolete(); !slices.Equal(got, []uint64{1}) {
		t.Errorf("obsolete are %v", got)
	}
	w.everyImage()
}

// TestReferenced: a hundred tablets, one of them busy. The log asks for the idle ones to be flushed, and no more than
// the limit and one are ever there; so recovery reads no more than that.
func TestReferenced(t *testing.T) {
	w := newWorld(t, Options{MaxBytes: 4000})
	for tab := uint64(1); tab <= 100; tab++ {
		w.sessions[tab], w.filed[tab] = 1, 0
	}
	for tab := uint64(1); tab <= 100; tab++ {
		w.write(tab)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	asked := 0
	for i := range 600 {
		tab := uint64(1)
		if i%50 == 0 {
			tab = 1 + rng.Uint64N(100)
		}
		w.write(tab)
		for _, tab := range w.log.Referenced() {
			asked++
			w.flush(tab)
		}
		_, err := w.log.Trim()
		must(t, err)
		if n := w.log.Stats().Segments; n > 4 {
			t.Fatalf("%d segments", n)
		}
	}
	if asked < 100 {
		t.Errorf("%d flushes asked for", asked)
	}
	present, r := w.replay(w.mem)
	if len(r.Segments) > 4 || len(present) > 200 {
		t.Errorf("recovery reads %d segments, %d entries", len(r.Segments), len(present))
	}
}

// TestRandomOrder: syncs, flushes and removals in any order, crashes that keep any subset of the changes of names; no
// replay misses a segment.
func TestRandomOrder(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 7))
		w := newWorld(t, Options{MaxBytes: 300})
		for range 60 {
			switch rng.IntN(5) {
			case 0, 1:
				w.append(1+rng.Uint64N(4), levels[rng.IntN(3)])
				must(t, w.commit())
			case 2:
				w.flush(1 + rng.Uint64N(4))
			case 3:
				_, err := w.log.Trim()
				must(t, err)
			case 4:
				if n := w.mem.Images(vfs.ImageReorder); n <= 16 {
					for i := 1; i <= n; i++ {
						w.check(w.mem.Image(vfs.ImageOptions{Mode: vfs.ImageReorder, Nth: i}), tablet.DurabilitySync)
					}
				}
			}
		}
		w.everyImage()
	}
}

// TestHalfRemoved: whatever a crash keeps of a removal, the log opens, and goes on.
func TestHalfRemoved(t *testing.T) {
	for subset := range 16 {
		w := newWorld(t, Options{MaxBytes: 1})
		for i := range uint64(4) {
			w.write(1 + i%2)
		}
		w.write(3)
		w.flush(1)
		w.flush(2)
		mem := w.mem.Clone()
		for i := range uint64(4) {
			if subset>>i&1 == 1 {
				must(t, mem.Remove(Name(1+i)))
			}
		}
		w.mem = mem
		w.open()
		if n := len(w.report.Missing) + len(w.report.Segments); n != 5 {
			t.Fatalf("%d segments, %v missing", len(w.report.Segments), w.report.Missing)
		}
		w.write(1)
		w.write(3)
		w.everyImage()
	}
}

// TestSegmentGone: a segment that is gone and holds what no file does is damage.
func TestSegmentGone(t *testing.T) {
	w := newWorld(t, Options{MaxBytes: 1})
	w.write(1)
	w.write(2)
	w.write(1)
	for _, n := range []uint64{1, 2} {
		mem := w.mem.Clone()
		must(t, mem.Remove(Name(n)))
		_, _, err := w.tryReplay(mem)
		if !isCorrupt(err, Name(n), 0) {
			t.Errorf("segment %d is gone: %v", n, err)
		}
	}
	w.flush(2)
	mem := w.mem.Clone()
	must(t, mem.Remove(Name(2)))
	if _, r, err := w.tryReplay(mem); err != nil || !slices.Equal(r.Missing, []uint64{2}) {
		t.Errorf("segment 2 is gone, its tablet flushed: %v", err)
	}
}

func isCorrupt(err error, file string, offset int64) bool {
	var c *tablet.CorruptError
	return errors.As(err, &c) && c.File == file && c.Offset == offset && !strings.Contains(c.What, "\n")
}

// TestFlushedBeforeWritten: an entry whose memtable is in a file before the entry is written holds no segment.
func TestFlushedBeforeWritten(t *testing.T) {
	w := newWorld(t, Options{MaxBytes: 1})
	w.append(1, tablet.DurabilityLog)
	w.flush(1)
	must(t, w.commit())
	w.write(2)
	if got := w.log.Obsolete(); !slices.Equal(got, []uint64{1}) {
		t.Errorf("obsolete are %v", got)
	}
}

// TestGivenUpAndNeeded: a segment that was given up stays until what it holds is on stable storage elsewhere.
func TestGivenUpAndNeeded(t *testing.T) {
	w := newWorld(t, Options{})
	w.write(1)
	w.append(2, tablet.DurabilityFlush)
	must(t, w.commit())
	w.flush(1)
	w.disk.Add(vfs.Rule{Op: vfs.OpSync, Sticky: true})
	w.append(1, tablet.DurabilitySync)
	if w.commit() == nil {
		t.Fatal("committed on a disk that does not sync")
	}
	if got := w.log.Obsolete(); len(got) > 0 {
		t.Errorf("obsolete are %v, and entry 2 stands nowhere else", got)
	}
	w.everyImage()
	w.disk.Heal()
	must(t, w.heal())
	if got := w.log.Obsolete(); !slices.Equal(got, []uint64{1}) {
		t.Errorf("obsolete are %v", got)
	}
	_, err := w.log.Trim()
	must(t, err)
	w.everyImage()
}

// TestVoidsEnd: what was refused is told as long as a segment may hold it, and not for ever.
func TestVoidsEnd(t *testing.T) {
	w := newWorld(t, Options{})
	w.write(1)
	w.disk.Add(vfs.Rule{Op: vfs.OpSync, Sticky: true})
	w.append(1, tablet.DurabilitySync)
	if w.commit() == nil {
		t.Fatal("committed on a disk that does not sync")
	}
	w.disk.Heal()
	must(t, w.heal())
	w.crash(vfs.ImageOptions{Mode: vfs.ImageAll})
	if len(w.report.Voids) != 1 || w.report.Voided == 0 {
		t.Fatalf("report %+v", w.report)
	}
	w.write(1)
	if len(w.log.Voids()) != 1 {
		t.Errorf("voids %v", w.log.Voids())
	}
	w.flush(1)
	_, err := w.log.Trim()
	must(t, err)
	w.write(1)
	if len(w.log.Voids()) != 0 {
		t.Errorf("voids %v, segments %d", w.log.Voids(), w.log.Stats().Segments)
	}
	w.everyImage()
}

package wal

import (
	"bytes"
	"errors"
	"syscall"
	"testing"
	"time"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// TestEveryPrefix: a log of several tablets and sessions, with flushes between, cut anywhere, opens, and gives a prefix.
func TestEveryPrefix(t *testing.T) {
	w := newWorld(t, Options{MaxBytes: 600})
	for i := range uint64(24) {
		w.append(1+i%3, levels[i%3])
		must(t, w.commit())
		if i%5 == 4 {
			w.sessions[1+i%3] += 2 // a flush begins; whether it ends nobody knows
		}
	}
	w.flush(2)
	d := readDisk(t, w.mem)
	all, _ := w.replay(w.mem)
	front := disk{}
	most := 0
	for _, n := range d.numbers() {
		for cut := range d[n] {
			front[n] = d[n][:cut]
			mem := front.with(t, 0, nil)
			present, r := w.replay(mem)
			lost := false
			for id := uint64(1); id <= uint64(len(w.entries)); id++ {
				if present[id] && lost || present[id] && !all[id] {
					t.Fatalf("%s cut at %d: entry %d is there, and none before it", Name(n), cut, id)
				}
				lost = lost || all[id] && !present[id]
			}
			most = max(most, len(present))
			if r.NextLSN > uint64(len(w.entries))+1 {
				t.Fatalf("next LSN is %d", r.NextLSN)
			}
		}
		front[n] = d[n]
	}
	if most < len(all)-1 || len(all) < 10 {
		t.Errorf("%d of %d entries", most, len(all))
	}
}

// TestGivenUpInTheMiddle: a segment that was given up may end anywhere behind what was synced; the next has the rest.
func TestGivenUpInTheMiddle(t *testing.T) {
	w := newWorld(t, Options{})
	w.write(1, 2)
	synced := content(t, w.mem, Name(1))
	w.append(1, tablet.DurabilityFlush)
	w.append(2, tablet.DurabilityLog)
	must(t, w.commit())
	w.disk.Add(vfs.Rule{Op: vfs.OpSync, Sync: vfs.SyncDropped})
	w.write(3)
	w.write(4)
	d := readDisk(t, w.mem)
	if len(d) != 2 {
		t.Fatalf("segments %v", d.numbers())
	}
	for cut := range len(d[1]) + 1 {
		present, r, err := w.tryReplay(d.with(t, 1, d[1][:cut]))
		if int64(cut) < synced {
			if !errors.Is(err, tablet.ErrCorrupt) {
				t.Fatalf("cut at %d of %d bytes synced: %v", cut, synced, err)
			}
			continue
		}
		if err != nil || len(present) != 6 || r.Segments[0].Synced != synced {
			t.Fatalf("cut at %d: %d entries, %v, %+v", cut, len(present), err, r.Segments)
		}
	}
}

// TestLostEnd: a segment that was sealed ends where it was sealed; the next one knows. The last one nobody knows.
func TestLostEnd(t *testing.T) {
	w := newWorld(t, Options{MaxAge: time.Hour})
	w.write(1, 2)
	w.write(3)
	w.now = w.now.Add(time.Hour)
	must(t, w.commit())
	alone := readDisk(t, w.mem)
	w.write(1)
	d := readDisk(t, w.mem)
	p := places(d[1])
	for cut := range len(d[1]) {
		at := int64(0)
		for _, p := range p {
			if int64(cut) >= p.start {
				at = p.start
			}
		}
		if _, _, err := w.tryReplay(d.with(t, 1, d[1][:cut])); !isCorrupt(err, Name(1), at) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if _, r, err := w.tryReplay(alone.with(t, 1, alone[1][:cut])); err != nil || r.Segments[0].Sealed {
			t.Fatalf("the last segment cut at %d: %v", cut, err)
		}
	}
	if _, _, err := w.tryReplay(d.with(t, 1, append(bytes.Clone(d[1]), 0))); !isCorrupt(err, Name(1), int64(len(d[1]))) {
		t.Errorf("a byte behind the end: %v", err)
	}
}

// TestSwappedSegments: a segment under another's name is not taken for it.
func TestSwappedSegments(t *testing.T) {
	w := newWorld(t, Options{MaxBytes: 1})
	for tab := uint64(1); tab <= 4; tab++ {
		w.write(tab)
	}
	d := readDisk(t, w.mem)
	for n := range d {
		for m := range d {
			if n == m {
				continue
			}
			present, _, err := w.tryReplay(d.with(t, n, d[m]))
			if n < 4 && !isCorrupt(err, Name(n), 0) {
				t.Errorf("segment %d in place of %d: %v", m, n, err)
			}
			if n == 4 && (err != nil || len(present) != 3) {
				t.Errorf("segment %d in place of the last: %d entries, %v", m, len(present), err)
			}
		}
	}
}

// TestEndStays: where a replay found the end of a segment, there it is for good: a record behind it that can be read later
// does not come back in place of one that got its LSN since.
func TestEndStays(t *testing.T) {
	w := newWorld(t, Options{})
	w.write(1)
	w.append(2, tablet.DurabilitySync)
	must(t, w.commit())
	d := readDisk(t, w.mem)
	good := d[1]
	misread := bytes.Clone(good)
	misread[len(good)-1] ^= 1
	w.mem = d.with(t, 1, misread).(*vfs.MemFS)
	w.open()
	w.write(3)
	if w.entries[1].fate != gone || w.entries[2].lsn != w.entries[1].lsn {
		t.Fatalf("entries %+v", w.entries)
	}
	d = readDisk(t, w.mem)
	w.check(d.with(t, 1, good), tablet.DurabilitySync)
}

// TestOpenOnFullDisk: a log opens on a full disk, and gives what it has; entries are taken once there is space, and then
// nothing that was given can be lost any more.
func TestOpenOnFullDisk(t *testing.T) {
	w := newWorld(t, Options{})
	w.write(1)
	w.append(2, tablet.DurabilityFlush)
	must(t, w.commit())
	w.mem = w.mem.Clone()
	w.mem.SetCapacity(w.mem.Used())
	_, r := w.replay(w.mem)
	if r.Unsynced() != 1 { // the second was written after a sync of the first
		t.Fatalf("%d entries are not proven to be on stable storage", r.Unsynced())
	}
	w.opts.Recovered, w.opts.NextNumber = &r, func() uint64 { w.number++; return w.number }
	log, err := New(w.mem, w.opts)
	must(t, err)
	w.log = log
	var busy *RefusedError
	if !errors.As(log.Refusal(), &busy) || !errors.Is(log.Refusal(), syscall.ENOSPC) {
		t.Fatalf("refusal is %v", log.Refusal())
	}
	w.append(1, tablet.DurabilitySync)
	if len(w.entries) != 2 || len(log.Obsolete()) > 0 {
		t.Fatal("taken on a full disk, or the only copy is obsolete")
	}
	w.mem.SetCapacity(0)
	must(t, w.heal())
	if present, _ := w.replay(w.mem.Durable()); len(present) != 2 {
		t.Errorf("%d entries are durable", len(present))
	}
	w.write(1)
	w.everyImage()
}

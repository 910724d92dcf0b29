package wal

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// salvageWorld is a closed log of several segments, and of what a failing disk leaves: entries that stand twice, and
// refused ones.
func salvageWorld(t *testing.T, r *rand.Rand) *world {
	w := newWorld(t, Options{MaxBytes: 1500, MaxAge: time.Hour})
	for range 60 {
		switch r.IntN(12) {
		case 0:
			w.disk.Add(vfs.Rule{Op: [2]vfs.Op{vfs.OpSync, vfs.OpWrite}[r.IntN(2)], N: 1 + r.IntN(2)})
		case 1:
			w.flush(1 + r.Uint64N(4))
		}
		for range 1 + r.IntN(3) {
			w.append(1+r.Uint64N(4), levels[r.IntN(3)])
		}
		w.commit()
		w.disk.Heal()
		if w.log.Refusal() != nil {
			must(t, w.heal())
		}
	}
	must(t, w.log.Close(w.now))
	w.turn(inFlight, refused)
	return w
}

// TestSalvage damages some records of a log, one bit each: every entry but those is kept, and the log that is written of
// them is replayed to the same.
func TestSalvage(t *testing.T) {
	rounds := cases(10_000)
	damaged, dropped := 0, 0
	for round := range rounds {
		r := rand.New(rand.NewPCG(*seedFlag, uint64(round)))
		w := salvageWorld(t, r)
		before, report := w.replay(w.mem)
		from := func(tab uint64) (uint64, bool) { s, ok := w.filed[tab]; return s, ok }
		all := readDisk(t, w.mem)
		good := map[uint64]bool{} // LSNs that a record without damage has
		var hit []place
		for range 1 + r.IntN(3) {
			n := all.numbers()[r.IntN(len(all))]
			frames := places(all[n])
			p := frames[r.IntN(len(frames))]
			if !slices.ContainsFunc(frames, func(later place) bool { return later.synced > p.start }) {
				continue // it could be what a crash took
			}
			hit = append(hit, p)
			flip := p.start + r.Int64N(p.end-p.start)
			must(t, w.mem.Edit(Name(n), func(b []byte) []byte { b[flip] ^= 1 << r.IntN(8); return b }))
			damaged++
		}
		if len(hit) == 0 {
			continue
		}
		after := readDisk(t, w.mem)
		for n := range all {
			for _, p := range places(all[n]) {
				if slices.Equal(all[n][p.start:p.end], after[n][p.start:p.end]) && len(p.payload) > 0 && p.payload[0] == recordEntry {
					lsn, _ := binary.Uvarint(p.payload[1:])
					good[lsn] = true
				}
			}
		}
		want := map[uint64]bool{}
		for id := range before {
			if good[w.entries[id-1].lsn] {
				want[id] = true
			} else {
				dropped++
			}
		}
		sum := w.mem.Sum()
		s, err := Salvage(context.Background(), w.mem, after.numbers(), from)
		must(t, err)
		if w.mem.Sum() != sum {
			t.Fatal("Salvage has changed something")
		}
		if int(s.Kept) != len(want) || len(s.Losses) == 0 && len(damagedOf(all, after)) > 0 || !slices.Equal(s.Damaged, damagedOf(all, after)) {
			t.Fatalf("round %d: kept %d of %d, damaged %v, want %v, losses %+v of %+v", round, s.Kept, len(want), s.Damaged, damagedOf(all, after), s.Losses, hit)
		}
		number := w.number + 1
		must(t, s.Write(context.Background(), number))
		if _, _, err := w.tryReplay(w.mem); err == nil {
			t.Fatalf("round %d: the damage is not told while it is there", round)
		}
		// Taken away from the last to the first, the log is refused or right at every moment.
		for _, n := range slices.Backward(after.numbers()) {
			must(t, w.mem.Remove(Name(n)))
			present, _, err := w.tryReplay(w.mem)
			if err != nil {
				if tablet.OutcomeOf(err).Exit != 3 {
					t.Fatal(err)
				}
				continue
			}
			if fmt.Sprint(present) != fmt.Sprint(want) {
				t.Fatalf("round %d: without segment %d and later ones there are %v, want %v", round, n, present, want)
			}
		}
		present, again := w.replay(w.mem)
		if fmt.Sprint(present) != fmt.Sprint(want) || again.Segments[0].Number != number || !again.Segments[0].Sealed {
			t.Fatalf("round %d: %v, want %v", round, present, want)
		}
		if again.NextLSN > report.NextLSN {
			t.Fatalf("round %d: next LSN %d after %d", round, again.NextLSN, report.NextLSN)
		}
	}
	fmt.Printf("B166 logs=%d damaged=%d dropped=%d kept_too_few=0 seed=%d\n", rounds, damaged, dropped, *seedFlag)
}

// damagedOf are the segments that have changed.
func damagedOf(a, b disk) (numbers []uint64) {
	for _, n := range a.numbers() {
		if !slices.Equal(a[n], b[n]) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// TestSalvageGone notes a segment that is gone and was needed, and keeps the others.
func TestSalvageGone(t *testing.T) {
	w := newWorld(t, Options{MaxBytes: 300, MaxAge: time.Hour})
	for range 20 {
		w.append(1, tablet.DurabilitySync)
		must(t, w.commit())
	}
	must(t, w.log.Close(w.now))
	numbers := readDisk(t, w.mem).numbers()
	must(t, w.mem.Remove(Name(numbers[1])))
	rest := slices.Delete(slices.Clone(numbers), 1, 2)
	from := func(uint64) (uint64, bool) { return 0, true }
	s, err := Salvage(context.Background(), w.mem, rest, from)
	must(t, err)
	if len(s.Losses) != 1 || s.Losses[0].File != Name(numbers[1]) || s.Lost == 0 || s.Kept+s.Lost != 20 {
		t.Errorf("%+v", s)
	}
	must(t, s.Write(context.Background(), w.number+1))
	for _, n := range slices.Backward(rest) {
		must(t, w.mem.Remove(Name(n)))
	}
	present, _ := w.replay(w.mem)
	if int64(len(present)) != s.Kept {
		t.Errorf("%d of %d", len(present), s.Kept)
	}
}

// TestSalvageEnds counts what damage before the first good entry may have held: in front of it numbers tell, and bytes.
func TestSalvageEnds(t *testing.T) {
	f := func(damaged, entries int, gone []int, wantLost int64) {
		t.Helper()
		w := newWorld(t, Options{MaxBytes: 1, MaxAge: time.Hour}) // a segment for each entry
		for range entries {
			w.append(1, tablet.DurabilitySync)
			must(t, w.commit())
		}
		must(t, w.log.Close(w.now))
		numbers := readDisk(t, w.mem).numbers()
		name := Name(numbers[damaged])
		for _, i := range gone {
			must(t, w.mem.Remove(Name(numbers[i])))
			numbers[i] = 0
		}
		numbers = slices.DeleteFunc(numbers, func(n uint64) bool { return n == 0 })
		if len(gone) == 0 {
			must(t, w.mem.Edit(name, func(b []byte) []byte { b[60] ^= 1; return b }))
		}
		s, err := Salvage(context.Background(), w.mem, numbers, func(uint64) (uint64, bool) { return 0, true })
		must(t, err)
		if len(s.Losses) == 0 || s.Lost != wantLost || s.Kept != int64(entries)-wantLost {
			t.Errorf("%+v", s)
		}
	}
	f(0, 4, nil, 1)
	f(1, 4, nil, 1)
	f(0, 4, []int{0, 1}, 2)
}

// TestSalvageWhole has nothing to say of a log that is whole, or torn by a crash.
func TestSalvageWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(*seedFlag, 1))
	for range cases(2000) {
		w := salvageWorld(t, r)
		w.open()
		for range 1 + r.IntN(8) {
			w.append(1+r.Uint64N(4), levels[r.IntN(3)])
			if r.IntN(2) == 0 {
				w.commit()
			}
		}
		modes := vfs.ImageModes()
		image := w.mem.Image(vfs.ImageOptions{Mode: modes[r.IntN(len(modes))], P: 0.5, Seed: r.Uint64()})
		present, _ := w.replay(image)
		s, err := Salvage(context.Background(), image, readDisk(t, image).numbers(), func(tab uint64) (uint64, bool) { return w.filed[tab], true })
		must(t, err)
		if len(s.Losses) != 0 || s.Lost != 0 || int(s.Kept) != len(present) {
			t.Fatalf("%d of %d, losses %+v, lost %d", s.Kept, len(present), s.Losses, s.Lost)
		}
	}
}

package vfs

import (
	"fmt"
	"io/fs"
	"math/bits"
	"strings"
	"testing"
)

// damage reads a file of nine sectors in two reads and returns the indexes of the wrong bytes.
func damage(t *testing.T, seed uint64, rule CorruptRule) (wrong []int, got string, fsys *CorruptFS) {
	t.Helper()
	const size = 9 * SectorBytes
	m := Mem()
	whole := pattern('w', size)
	put(t, m, "f", whole)
	fsys = Corrupt(m, seed, rule)
	f, err := fsys.Open("f")
	check(t, err)
	defer f.Close()
	buf := make([]byte, size)
	for _, part := range [][2]int{{0, 1000}, {1000, size}} {
		_, err := f.ReadAt(buf[part[0]:part[1]], int64(part[0]))
		check(t, err)
	}
	for i := range buf {
		if buf[i] != whole[i] {
			wrong = append(wrong, i)
		}
	}
	if get(t, m, "f") != whole {
		t.Error("the file itself was damaged")
	}
	return wrong, string(buf), fsys
}

func TestCorruptBitsAndBytes(t *testing.T) {
	places := map[int]bool{}
	for seed := range uint64(50) {
		for _, kind := range []Damage{DamageBit, DamageByte} {
			wrong, got, fsys := damage(t, seed, CorruptRule{Damage: kind, N: 2})
			if len(wrong) != 1 || wrong[0] < 1000 {
				t.Fatalf("%v: wrong bytes %v", kind, wrong)
			}
			places[wrong[0]] = true
			flipped := bits.OnesCount8(got[wrong[0]] ^ pattern('w', wrong[0]+1)[wrong[0]])
			if kind == DamageBit && flipped != 1 {
				t.Errorf("%d bits flipped", flipped)
			}
			if hits := fsys.Hits(); len(hits) != 1 || hits[0].At != int64(wrong[0]) || hits[0].Damage != kind {
				t.Errorf("hits %v", hits)
			}
			if again, _, _ := damage(t, seed, CorruptRule{Damage: kind, N: 2}); again[0] != wrong[0] {
				t.Error("the same seed damages another place")
			}
		}
	}
	if len(places) < 50 {
		t.Errorf("%d places", len(places))
	}
	f := func(rule CorruptRule, want string) {
		t.Helper()
		wrong, _, _ := damage(t, 1, rule)
		if got := fmt.Sprint(wrong); got != want {
			t.Errorf("%+v: wrong bytes %s, want %s", rule, got, want)
		}
	}
	f(CorruptRule{Damage: DamageByte, Fixed: true, At: 3}, "[3]")
	f(CorruptRule{Damage: DamageByte, Fixed: true, At: 1234}, "[1234]")
	f(CorruptRule{Damage: DamageByte, N: 3}, "[]")
	f(CorruptRule{Damage: DamageByte, Name: "g"}, "[]")
	f(CorruptRule{Damage: DamageByte, Class: ClassLog}, "[]")
	if wrong, _, _ := damage(t, 1, CorruptRule{Damage: DamageByte, Sticky: true}); len(wrong) != 2 {
		t.Errorf("sticky: wrong bytes %v", wrong)
	}
}

func TestCorruptSectors(t *testing.T) {
	// Two reads meet in the sector of byte 1000; both see the same junk.
	wrong, got, _ := damage(t, 1, CorruptRule{Damage: DamageSector, Fixed: true, At: 1023})
	if len(wrong) < 500 || wrong[0] < 512 || wrong[len(wrong)-1] >= 1024 {
		t.Errorf("%d wrong bytes from %d on", len(wrong), wrong[0])
	}
	_, again, _ := damage(t, 2, CorruptRule{Damage: DamageSector, Fixed: true, At: 512})
	if got != again {
		t.Error("a damaged sector changes")
	}
	if wrong, _, _ := damage(t, 5, CorruptRule{Damage: DamageSector}); len(wrong) == 0 || len(wrong) > 512 {
		t.Errorf("%d wrong bytes", len(wrong))
	}
}

func TestCorruptSwap(t *testing.T) {
	whole := pattern('w', 9*SectorBytes)
	sector := func(s string, i int) string { return s[i*SectorBytes:][:SectorBytes] }
	_, got, _ := damage(t, 1, CorruptRule{Damage: DamageSwap, Fixed: true, At: 600, Block: SectorBytes, With: 7})
	for i := range 9 {
		want := i
		switch i {
		case 1:
			want = 7
		case 7:
			want = 1
		}
		if sector(got, i) != sector(whole, want) {
			t.Errorf("sector %d does not hold what was in %d", i, want)
		}
	}
	// Blocks of a page: the second has a ninth sector alone, and zeros behind it.
	_, got, _ = damage(t, 1, CorruptRule{Damage: DamageSwap, Fixed: true, At: 0, With: 1})
	if got[:512] != whole[PageBytes:] || got[512:PageBytes] != strings.Repeat("\x00", PageBytes-512) ||
		got[PageBytes:] != whole[:512] {
		t.Error("pages are not exchanged")
	}
	for seed := range uint64(20) {
		if _, _, fsys := damage(t, seed, CorruptRule{Damage: DamageSwap, Block: SectorBytes}); len(fsys.Hits()) != 1 {
			t.Errorf("seed %d: hits %v", seed, fsys.Hits())
		}
	}
}

func TestCorruptOlder(t *testing.T) {
	older := Mem()
	put(t, older, "f", pattern('o', 1500))
	_, got, _ := damage(t, 1, CorruptRule{Damage: DamageOlder, Older: older, Sticky: true})
	if got != pattern('o', 1500)+strings.Repeat("\x00", 9*SectorBytes-1500) {
		t.Error("it does not hold what it held once")
	}
	if _, got, _ = damage(t, 1, CorruptRule{Damage: DamageOlder, Older: Mem(), N: 2}); got[:1000] != pattern('w', 1000) ||
		got[1000:] != strings.Repeat("\x00", 9*SectorBytes-1000) {
		t.Error("a file that was not there once does not read as zeros")
	}
}

func TestCorruptWrites(t *testing.T) {
	f := func(rule CorruptRule, seed uint64) string {
		t.Helper()
		m := Mem()
		fsys := Corrupt(m, seed, rule)
		file, err := fsys.Create("f")
		check(t, err)
		for _, part := range []string{"abcd", "EF", "gh"} {
			n, err := file.Write([]byte(part))
			check(t, err)
			if n != len(part) {
				t.Errorf("wrote %d bytes", n)
			}
		}
		image := m.Clone()
		check(t, file.Sync())
		check(t, m.SyncDir("."))
		check(t, file.Close())
		if hits := fsys.Hits(); rule.N == 2 && (len(hits) != 1 || hits[0].At != 4) {
			t.Errorf("hits %v", hits)
		}
		if got := get(t, m.Durable(), "f"); got != get(t, image, "f") {
			t.Errorf("after the sync it holds %q", got)
		}
		return get(t, m, "f")
	}
	if got := f(CorruptRule{Damage: DamageDrop, N: 2}, 1); got != "abcd\x00\x00gh" {
		t.Errorf("dropped: %q", got)
	}
	if got := f(CorruptRule{Damage: DamageMisplace, N: 1}, 1); got != "\x00\x00\x00\x00EFgh" {
		t.Errorf("misplaced before anything was written: %q", got)
	}
	if got := f(CorruptRule{Damage: DamageDrop, Sticky: true}, 1); got != strings.Repeat("\x00", 8) {
		t.Errorf("all dropped: %q", got)
	}
	seen := map[string]bool{}
	for seed := range uint64(50) {
		seen[f(CorruptRule{Damage: DamageMisplace, N: 2}, seed)] = true
	}
	want := []string{"EFcd\x00\x00gh", "aEFd\x00\x00gh", "abEF\x00\x00gh", "abcEF\x00gh"}
	for _, w := range want {
		if !seen[w] {
			t.Errorf("no write was misplaced as %q", w)
		}
	}
	if len(seen) != len(want) {
		t.Errorf("saw %v", seen)
	}
}

// TestEdit damages a file at rest; an image from before keeps its pages.
func TestEdit(t *testing.T) {
	m := Mem()
	whole := pattern('w', 2*PageBytes)
	put(t, m, "f", whole)
	before := m.Clone()
	r, err := m.Open("f")
	check(t, err)
	defer r.Close()
	check(t, m.Edit("f", func(p []byte) []byte { p[5000]++; return p[:6000] }))
	check(t, m.SyncDir("."))
	want := []byte(whole[:6000])
	want[5000]++
	if got := get(t, m.Durable(), "f"); got != string(want) {
		t.Error("the damage is not there")
	}
	if size, err := r.Size(); size != 6000 || err != nil || m.Used() != 6000 {
		t.Errorf("size %d, %v, used %d", size, err, m.Used())
	}
	if get(t, before, "f") != whole {
		t.Error("an image was changed")
	}
	w := begin(t, m, "g", pattern('g', 5000), "")
	image := m.Clone()
	w.(*memFile).overwrite([]byte("OVER"), 4094)
	if got := get(t, m, "g"); got[4094:4098] != "OVER" || got[:4094]+got[4098:] != pattern('g', 5000)[:4094]+pattern('g', 5000)[4098:] {
		t.Error("overwritten elsewhere")
	}
	if get(t, image, "g") != pattern('g', 5000) {
		t.Error("an image was changed")
	}
	wantErr(t, m.Edit("none", nil), fs.ErrNotExist, "none")
}

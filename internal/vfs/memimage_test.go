package vfs

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// dump lists all names below a directory, and of each file its content.
func dump(t *testing.T, fsys FS) string {
	t.Helper()
	var out strings.Builder
	var walk func(dir string)
	walk = func(dir string) {
		names, err := fsys.List(dir)
		check(t, err)
		for _, name := range names {
			name = path.Join(dir, name)
			info, err := fsys.Stat(name)
			check(t, err)
			if info.Dir {
				fmt.Fprintf(&out, "%s/ ", name)
				walk(name)
				continue
			}
			fmt.Fprintf(&out, "%s=%q ", name, get(t, fsys, name))
		}
	}
	walk(".")
	return strings.TrimSpace(out.String())
}

// begin makes a file, writes and syncs the first part, writes the second, and leaves it open.
func begin(t *testing.T, fsys FS, name, synced, pending string) File {
	t.Helper()
	f, err := fsys.Create(name)
	check(t, err)
	_, err = f.Write([]byte(synced))
	check(t, err)
	check(t, f.Sync())
	_, err = f.Write([]byte(pending))
	check(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// pattern is a text of so many bytes in which no two sectors are alike and none is zero.
func pattern(tag byte, n int) string {
	b := make([]byte, 0, n+8)
	for i := 0; len(b) < n; i++ {
		b = append(b, tag)
		for digit := 1_000_000; digit > 0; digit /= 10 {
			b = append(b, '0'+byte(i/digit%10))
		}
	}
	return string(b[:n])
}

// TestImageReorder lists all subsets of a create, a rename over another file, and a removal.
func TestImageReorder(t *testing.T) {
	m := Mem()
	put(t, m, "old", "1")
	put(t, m, "gone", "2")
	check(t, m.SyncDir("."))
	put(t, m, "tmp", "3")
	check(t, m.Rename("tmp", "old"))
	check(t, m.Remove("gone"))
	if n := m.Images(ImageReorder); n != 8 {
		t.Fatalf("%d images, want 8", n)
	}
	var got []string
	for nth := range 8 {
		got = append(got, dump(t, m.Image(ImageOptions{Mode: ImageReorder, Nth: nth + 1})))
	}
	want := []string{
		`gone="2" old="1"`,
		`gone="2" old="1" tmp="3"`,
		`gone="2" old="3"`, // the rename without the creation
		`gone="2" old="3"`,
		`old="1"`, // the removal without the rename
		`old="1" tmp="3"`,
		`old="3"`,
		`old="3"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	seen := map[string]bool{}
	for seed := range uint64(100) {
		seen[dump(t, m.Image(ImageOptions{Mode: ImageReorder, Seed: seed}))] = true
	}
	if len(seen) != 6 {
		t.Errorf("100 seeds gave %d of the 6 trees", len(seen))
	}
}

// TestImageReorderOfOneName takes a name away, gives it to another file, and takes it away again: no removal hits the
// other file.
func TestImageReorderOfOneName(t *testing.T) {
	m := Mem()
	put(t, m, "f", "1")
	check(t, m.SyncDir("."))
	check(t, m.Remove("f"))
	put(t, m, "f", "2")
	check(t, m.Remove("f"))
	for nth, want := range []string{`f="1"`, ``, `f="2"`, `f="2"`, `f="1"`, ``, ``, ``} {
		if got := dump(t, m.Image(ImageOptions{Mode: ImageReorder, Nth: nth + 1})); got != want {
			t.Errorf("subset %03b: %s, want %s", nth, got, want)
		}
	}
}

// TestImageReorderOfMany numbers the last eight changes and draws those before.
func TestImageReorderOfMany(t *testing.T) {
	m := Mem()
	for i := range 12 {
		put(t, m, fmt.Sprintf("%02d", i), "")
	}
	if n := m.Images(ImageReorder); n != 256 {
		t.Fatalf("%d images, want 256", n)
	}
	early, late := map[string]bool{}, map[string]bool{}
	for nth := range 256 {
		image := m.Image(ImageOptions{Mode: ImageReorder, Nth: nth + 1, Seed: uint64(nth)})
		names, err := image.List(".")
		check(t, err)
		i, _ := slices.BinarySearch(names, "04")
		early[fmt.Sprint(names[:i])], late[fmt.Sprint(names[i:])] = true, true
	}
	if len(early) != 16 || len(late) != 256 {
		t.Errorf("%d sets of the first four and %d of the last eight, want 16 and 256", len(early), len(late))
	}
}

// TestImageRenamesAreAtomic renames within a directory and between two, of which none, one or both are synced.
func TestImageRenamesAreAtomic(t *testing.T) {
	for synced := range 4 {
		m := Mem()
		check(t, m.MkdirAll("a"))
		check(t, m.MkdirAll("b"))
		put(t, m, "a/x", "x")
		put(t, m, "a/y", "y")
		put(t, m, "b/y", "old")
		for _, dir := range []string{".", "a", "b"} {
			check(t, m.SyncDir(dir))
		}
		check(t, m.Rename("a/x", "a/z"))
		check(t, m.Rename("a/y", "b/y"))
		for i, dir := range []string{"a", "b"} {
			if synced>>i&1 == 1 {
				check(t, m.SyncDir(dir))
			}
		}
		if n, want := m.Images(ImageReorder), []int{4, 1, 4, 1}[synced]; n != want {
			t.Errorf("synced %02b: %d subsets, want %d", synced, n, want)
		}
		seen := map[string]bool{}
		for _, mode := range ImageModes() {
			for seed := range uint64(50) {
				image := m.Image(ImageOptions{Mode: mode, Seed: seed})
				got := dump(t, image)
				seen[got] = true
				if strings.Contains(got, "a/x") == strings.Contains(got, "a/z") {
					t.Fatalf("%v %d: %s", mode, seed, got)
				}
				if !strings.Contains(got, "a/y") && get(t, image, "b/y") != "y" {
					t.Fatalf("%v %d: the file is gone from both: %s", mode, seed, got)
				}
			}
		}
		// neither: 2 renames, 4 trees; a: both are done whole; b: the first is free, the second left or has two names.
		if want := []int{4, 1, 4, 1}[synced]; len(seen) != want {
			t.Errorf("synced %02b: %d trees, want %d: %q", synced, len(seen), want, slices.Sorted(maps.Keys(seen)))
		}
	}
}

// TestImageRandom follows ten pending pages behind a page of which some is synced.
func TestImageRandom(t *testing.T) {
	const pages = 11
	m := Mem()
	whole := pattern('w', pages*PageBytes-100)
	begin(t, m, "f", whole[:1000], whole[1000:])
	check(t, m.SyncDir("."))
	f := func(p float64, low, high int) {
		t.Helper()
		kept, lengths := [pages]int{}, map[int]bool{}
		for seed := range uint64(200) {
			got := get(t, m.Image(ImageOptions{Mode: ImageRandom, P: p, Seed: seed}), "f")
			lengths[len(got)] = true
			for i := range pages {
				from := min(i*PageBytes, len(got))
				to := min(from+PageBytes, len(got))
				switch lost := strings.Repeat("\x00", to-from); {
				case from == to:
				case got[from:to] == whole[from:min(to, len(whole))]:
					kept[i]++
				case i == 0 && got[:to] == whole[:min(1000, to)]+strings.Repeat("\x00", max(to-1000, 0)):
				case i > 0 && got[from:to] == lost:
				default:
					t.Fatalf("seed %d: page %d is neither kept nor lost", seed, i)
				}
			}
		}
		for i, n := range kept {
			if i > 0 && (n < low || n > high) {
				t.Errorf("p %g: page %d kept %d times of 200", p, i, n)
			}
		}
		if len(lengths) < 3 {
			t.Errorf("p %g: lengths %v", p, lengths)
		}
	}
	f(0.1, 5, 45)
	f(0, 65, 135)
	f(0.9, 150, 199)
}

// TestImageTorn finds a page of which some sectors alone are there, and no sector in parts.
func TestImageTorn(t *testing.T) {
	m := Mem()
	whole := pattern('w', 3*PageBytes-300)
	const synced = PageBytes + 700
	begin(t, m, "f", whole[:synced], whole[synced:])
	check(t, m.SyncDir("."))
	torn := 0
	for seed := range uint64(200) {
		got := get(t, m.Image(ImageOptions{Mode: ImageTorn, Seed: seed}), "f")
		if got[:synced] != whole[:synced] {
			t.Fatalf("seed %d: what was synced is damaged", seed)
		}
		kept, lost := 0, 0
		for at := synced; at < min(len(got), 2*PageBytes); {
			to := min(at/SectorBytes*SectorBytes+SectorBytes, len(got))
			switch got[at:to] {
			case whole[at:to]:
				kept++
			case strings.Repeat("\x00", to-at):
				lost++
			default:
				t.Fatalf("seed %d: sector at %d is torn: %q", seed, at, got[at:to])
			}
			at = to
		}
		if kept > 0 && lost > 0 {
			torn++
		}
	}
	if torn < 50 {
		t.Errorf("%d torn pages in 200 images", torn)
	}
}

// TestImageJunk finds zeros, bytes of a removed file, and bytes from nowhere in lost pages.
func TestImageJunk(t *testing.T) {
	m := Mem()
	old := pattern('o', 2*PageBytes+50)
	put(t, m, "old", old)
	check(t, m.Remove("old"))
	whole := pattern('w', 4*PageBytes)
	begin(t, m, "f", whole[:100], whole[100:])
	check(t, m.SyncDir("."))
	m = m.Clone() // what was removed is remembered
	kinds := map[string]int{}
	for seed := range uint64(200) {
		got := get(t, m.Image(ImageOptions{Mode: ImageJunk, Seed: seed}), "f")
		if len(got) == len(whole) {
			kinds["full length"]++
		}
		if got[:100] != whole[:100] {
			t.Fatalf("seed %d: what was synced is damaged", seed)
		}
		for i := 1; i < len(got)/PageBytes; i++ {
			p := got[i*PageBytes:][:PageBytes]
			switch {
			case p == whole[i*PageBytes:][:PageBytes]:
				kinds["kept"]++
			case p == strings.Repeat("\x00", PageBytes):
				kinds["zeros"]++
			case i == 1 && p == old[PageBytes:2*PageBytes]:
				kinds["old, same place"]++
			case strings.Contains(old, p[:50]):
				kinds["old"]++
				if i == 1 {
					kinds["old, elsewhere"]++
				}
			default:
				kinds["random"]++
			}
		}
	}
	for _, kind := range []string{"kept", "zeros", "old", "old, same place", "random"} {
		if kinds[kind] < 8 {
			t.Errorf("%d pages of kind %s: %v", kinds[kind], kind, kinds)
		}
	}
	// Of three pages of the old file one is at the same place: two thirds of the time it is that one.
	if kinds["full length"] < 140 || kinds["old, same place"] < kinds["old, elsewhere"] {
		t.Errorf("%v", kinds)
	}
}

// TestImagePrefix cuts two files at every byte, one at a time.
func TestImagePrefix(t *testing.T) {
	m := Mem()
	begin(t, m, "a", "A", "bcd")
	begin(t, m, "b", "", "xy")
	if n := m.Images(ImagePrefix); n != 6 {
		t.Fatalf("%d images, want 6", n)
	}
	f := func(nth int, want string) {
		t.Helper()
		if got := dump(t, m.Image(ImageOptions{Mode: ImagePrefix, Nth: nth})); got != want {
			t.Errorf("image %d: %s, want %s", nth, got, want)
		}
	}
	f(1, `a="A" b="xy"`)
	f(2, `a="Ab" b="xy"`)
	f(3, `a="Abc" b="xy"`)
	f(4, `a="Abcd" b=""`)
	f(5, `a="Abcd" b="x"`)
	f(6, `a="Abcd" b="xy"`)
	seen := map[string]bool{}
	for seed := range uint64(300) {
		seen[dump(t, m.Image(ImageOptions{Mode: ImagePrefix, Seed: seed}))] = true
	}
	if len(seen) != 12 {
		t.Errorf("300 seeds gave %d of 12 trees", len(seen))
	}
}

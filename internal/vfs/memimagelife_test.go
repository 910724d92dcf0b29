package vfs

import (
	"fmt"
	"testing"
)

// TestImageOfDroppedBytes says that the bytes a failed sync dropped come back in no image but the process's own.
func TestImageOfDroppedBytes(t *testing.T) {
	m := Mem()
	f := begin(t, m, "f", "ab", "cd")
	check(t, m.SyncDir("."))
	f.(*memFile).dropUnsynced()
	_, err := f.Write([]byte("ef"))
	check(t, err)
	if got := get(t, m.Durable(), "f"); got != "ab" {
		t.Errorf("before the next sync: %q", got)
	}
	if got := get(t, m.Image(ImageOptions{Mode: ImageRandom, P: 1}), "f"); got != "ab\x00\x00ef" {
		t.Errorf("before the next sync, with all: %q", got)
	}
	if got := get(t, m.Image(ImageOptions{Mode: ImagePrefix, Nth: 4}), "f"); got != "ab\x00\x00e" {
		t.Errorf("before the next sync, with all but a byte: %q", got)
	}
	check(t, f.Sync())
	for _, mode := range ImageModes() {
		want := "ab\x00\x00ef"
		if mode == ImageAll {
			want = "abcdef"
		}
		image := m.Image(ImageOptions{Mode: mode, P: 1})
		if got := get(t, image, "f"); got != want {
			t.Errorf("%v: %q, want %q", mode, got, want)
		}
		if got := get(t, image.Durable(), "f"); got != "ab\x00\x00ef" {
			t.Errorf("%v, then a power cut: %q", mode, got)
		}
	}
	if got := get(t, m, "f"); got != "abcdef" {
		t.Errorf("the process sees %q", got)
	}
}

// TestImageSeeds says that an image depends on the state and the options alone.
func TestImageSeeds(t *testing.T) {
	history := func() *MemFS {
		m := Mem()
		check(t, m.MkdirAll("d"))
		for i := range 6 {
			begin(t, m, fmt.Sprintf("d/%d", i), "s", pattern(byte('a'+i), 3*PageBytes))
		}
		put(t, m, "d/x", pattern('x', PageBytes))
		check(t, m.Remove("d/x"))
		check(t, m.Rename("d/1", "d/9"))
		check(t, m.SyncDir("."))
		return m
	}
	a, b := history(), history()
	for _, mode := range ImageModes() {
		seen := map[string]bool{}
		for seed := range uint64(5) {
			opts := ImageOptions{Mode: mode, Seed: seed}
			got := dump(t, a.Image(opts))
			if got != dump(t, b.Image(opts)) || got != dump(t, a.Image(opts)) {
				t.Errorf("%v: two images differ", opts)
			}
			seen[got] = true
		}
		if many := mode != ImageStrict && mode != ImageAll; (len(seen) > 1) != many {
			t.Errorf("%v: %d images of 5 seeds", mode, len(seen))
		}
	}
}

// TestImageThreeDeep takes images of images, each after more was written, and lets none change another.
func TestImageThreeDeep(t *testing.T) {
	m := Mem()
	var above []*MemFS
	var before []string
	for depth := range 4 {
		name := fmt.Sprint(depth)
		begin(t, m, name, "synced", pattern('p', 2*PageBytes))
		check(t, m.SyncDir("."))
		image := m.Image(ImageOptions{Mode: ImageTorn, Seed: uint64(depth)})
		_, err := image.Stat(name)
		check(t, err)
		above, before = append(above, m), append(before, dump(t, m))
		for i, fsys := range above {
			if dump(t, fsys) != before[i] {
				t.Errorf("an image changed what it was taken of, %d deep", i)
			}
		}
		if got := dump(t, image); dump(t, image.Durable()) != got {
			t.Error("something in an image is pending")
		}
		m = image
	}
	wantList(t, m, ".", "0 1 2 3")
}

// TestImageOfAPendingClone goes on after a crash of the process, and then cuts the power.
func TestImageOfAPendingClone(t *testing.T) {
	m := Mem()
	f := begin(t, m, "a", "synced", " not")
	c := m.Clone()
	_, err := f.Write([]byte(" later"))
	check(t, err)
	check(t, c.Rename("a", "b"))
	if got := dump(t, c); got != `b="synced not"` {
		t.Errorf("the process sees %s", got)
	}
	if n := c.Images(ImageReorder); n != 4 {
		t.Errorf("%d subsets, want 4", n)
	}
	wantList(t, c.Durable(), ".", "")
	check(t, c.SyncDir("."))
	if got := dump(t, c.Durable()); got != `b="synced"` {
		t.Errorf("a power cut leaves %s", got)
	}
	r, err := c.Open("b")
	check(t, err)
	check(t, r.Sync())
	check(t, r.Close())
	if got := dump(t, c.Durable()); got != `b="synced not"` {
		t.Errorf("synced by another handle: %s", got)
	}
	if got := get(t, m, "a"); got != "synced not later" {
		t.Errorf("the first holds %q", got)
	}
}

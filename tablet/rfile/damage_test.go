package rfile

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// openBytes opens a file in memory whose bytes may be anything.
func openBytes(t testing.TB, b []byte) (*Reader, error) {
	t.Helper()
	return Open(memFileOf(t, b), ReaderOptions{MaxBlockBytes: testBlockLimit})
}

// memFileOf is a file in memory, open for reading.
func memFileOf(t testing.TB, b []byte) vfs.File {
	t.Helper()
	fs := vfs.Mem()
	f, err := fs.Create("damaged.rf")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if f, err = fs.Open("damaged.rf"); err != nil {
		t.Fatal(err)
	}
	return f
}

// readEverything opens, verifies and seeks; what it returns is the first error. It must come to an end on any input.
func readEverything(t testing.TB, b []byte) error {
	t.Helper()
	r, err := openBytes(t, b)
	if err != nil {
		return err
	}
	defer r.Close()
	ctx := context.Background()
	if _, err := verifyAll(ctx, r); err != nil {
		return err
	}
	for _, g := range r.Groups() {
		c := r.Cursor(g, CursorOptions{BatchEntries: 3})
		for _, rng := range []tablet.Range{tablet.ExactRow([]byte("row_00100")), tablet.RowRange(tablet.RowBounds{Start: []byte("b")})} {
			if err := c.Seek(ctx, rng, tablet.AllFamiliesBut([]byte("x"))); err != nil {
				return err
			}
			for {
				batch, err := c.Next(ctx)
				if err != nil {
					return err
				}
				if batch == nil {
					break
				}
			}
		}
	}
	return nil
}

// checkDamage reads damaged bytes and wants a typed error, or none.
func checkDamage(t *testing.T, what string, b []byte) (found bool) {
	t.Helper()
	err := readEverything(t, b)
	if err == nil {
		return false
	}
	var corrupt *tablet.CorruptError
	if !errors.As(err, &corrupt) && !errors.Is(err, tablet.ErrUnsupported) {
		t.Errorf("%s: %v", what, err)
	}
	if corrupt != nil && (corrupt.Offset < 0 || corrupt.Offset > int64(len(b)) || corrupt.File == "") {
		t.Errorf("%s: %+v", what, corrupt)
	}
	return true
}

// smallGolden are the golden files small enough to damage everywhere.
func smallGolden(t *testing.T, most int64) map[string][]byte {
	files := map[string][]byte{}
	for _, path := range goldenPaths(t) {
		g := loadGolden(t, path)
		if g.Size > most {
			continue
		}
		b, err := os.ReadFile(filepath.Join(filepath.Dir(path), g.File))
		if err != nil {
			t.Fatal(err)
		}
		files[g.File] = b
	}
	return files
}

// TestFlippedBits flips every bit of small files without sums, one at a time, and random bits of larger ones. It wants
// an error or a reading, and no panic and no hang; gz must find every flip inside a data block.
func TestFlippedBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	flips := 100
	if testing.Short() {
		flips = 30
	}
	for name, b := range smallGolden(t, 1<<20) {
		damaged := bytes.Clone(b)
		flip := func(bit int) {
			damaged[bit/8] ^= 1 << (bit % 8)
			checkDamage(t, name, damaged)
			damaged[bit/8] ^= 1 << (bit % 8)
		}
		if len(b) < 700 && !testing.Short() {
			for bit := range 8 * len(b) {
				flip(bit)
			}
			continue
		}
		for range min(flips, 40<<20/len(b)) {
			flip(rng.IntN(8 * len(b)))
		}
	}
}

// TestDamagedBytes exchanges stretches and writes runs of one byte over them.
func TestDamagedBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 10))
	for name, b := range smallGolden(t, 80000) {
		rounds := 60
		if testing.Short() {
			rounds = 15
		}
		for range rounds {
			damaged := bytes.Clone(b)
			at := rng.IntN(len(b))
			n := min(1+rng.IntN(16), len(b)-at)
			fill := []byte{0, 0xff, 0x80, 0x7f, 0x8c}[rng.IntN(5)]
			for i := range n {
				damaged[at+i] = fill
			}
			checkDamage(t, name, damaged)
		}
	}
}

// TestMisordered writes keys out of order behind the writer's back and wants them found, with the place.
func TestMisordered(t *testing.T) {
	entry := func(row string) tablet.Entry {
		return tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: []byte(row), Family: []byte("f")}), Value: []byte("v")}
	}
	f := func(rows ...string) {
		t.Helper()
		var all []tablet.Entry
		for _, row := range rows {
			all = append(all, entry(row))
		}
		var out bytes.Buffer
		w, err := NewWriter(&out, WriterOptions{Codec: "none", NoSums: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.StartDefaultGroup(); err != nil {
			t.Fatal(err)
		}
		g := w.groups[0]
		g.startGroup(&all[0].Key)
		for i := range all {
			var k heldKey
			k.view(&all[i].Key)
			if err := g.put(&k, all[i].Value, 0, 0, nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		err = readEverything(t, out.Bytes())
		var corrupt *tablet.CorruptError
		if !errors.As(err, &corrupt) || corrupt.Offset != 16 {
			t.Errorf("%q: %v", rows, err)
		}
	}
	f("b", "a")
	f("a", "c", "b", "d")
	f("abc", "ab")
	f("abcdef", "abcdeg", "abcdea")
}

// FuzzReader reads arbitrary bytes as a file.
func FuzzReader(f *testing.F) {
	paths, err := filepath.Glob("testdata/golden/*.rf")
	if err != nil {
		f.Fatal(err)
	}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		if len(b) < 5000 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := readEverything(t, b); err != nil && !errors.Is(err, tablet.ErrCorrupt) && !errors.Is(err, tablet.ErrUnsupported) {
			t.Error(err)
		}
	})
}

// FuzzBlock decodes arbitrary bytes as a data block; what decodes must encode to something that decodes to the same.
func FuzzBlock(f *testing.F) {
	f.Add([]byte{0x00, 1, 'r', 1, 'f', 1, 'q', 0, 5, 0, 0, 0, 1, 'v', 0x1f, 0, 0, 0, 0}, 2)
	f.Add([]byte("\x00\x02ab\x01f\x01q\x00\x05\x00\x00\x00\x00\x9e\x01\x02\x01z\x00\x00\x00\x00"), 2)
	f.Fuzz(func(t *testing.T, block []byte, entries int) {
		if entries < 0 || entries > 1000 {
			return
		}
		all, err := decodeBlock(block, entries)
		if err != nil || len(all) == 0 {
			return
		}
		again := appendFirst(nil, all[0].Key, all[0].Value)
		for i := 1; i < len(all); i++ {
			again = appendRelative(again, &all[i-1].Key, &all[i].Key, 0, 0, all[i].Value)
		}
		back, err := decodeBlock(again, len(all))
		if err != nil {
			t.Fatal(err)
		}
		sameEntries(t, "encoded again", back, all)
	})
}

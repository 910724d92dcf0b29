package bcfile

import (
	"context"
	"errors"
	"testing"

	"millrace/tablet"
)

// TestCoverage damages blocks that nobody read, one after another: each is found, with its place, and no other is looked
// at.
func TestCoverage(t *testing.T) {
	var blocks [][]byte
	for i := range 130 {
		blocks = append(blocks, text(uint64(i), 50+7*i))
	}
	f := build(t, WriterOptions{Codec: None}, blocks...)
	check := func(read func(i int) bool) error {
		r := mustOpen(t, f.data, ReaderOptions{})
		c := r.Coverage()
		for i, reg := range f.regions {
			if read(i) {
				c.Note(reg)
			}
		}
		return c.CheckRest(context.Background(), nil)
	}
	for i, reg := range f.regions {
		f.data[reg.Offset+reg.Stored/2] ^= 4
		if err := check(func(other int) bool { return other == i }); err != nil {
			t.Fatalf("block %d was read: %v", i, err)
		}
		var corrupt *tablet.CorruptError
		if err := check(func(other int) bool { return other != i && other%3 > 0 }); !errors.As(err, &corrupt) || corrupt.Offset != reg.Offset {
			t.Fatalf("damage in block %d, which was not read: %v", i, err)
		}
		f.data[reg.Offset+reg.Stored/2] ^= 4
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := mustOpen(t, f.data, ReaderOptions{}).Coverage().CheckRest(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestVerifyFrame finds what lies outside blocks, and the named ones; unnamed blocks are not its affair.
func TestVerifyFrame(t *testing.T) {
	f := build(t, WriterOptions{}, text(1, 900), text(2, 900))
	for at := range f.data {
		f.data[at] ^= 1
		_, err := VerifyFrame(context.Background(), mem(f.data), ReaderOptions{})
		inBlock := false
		for _, reg := range f.regions {
			inBlock = inBlock || int64(at) >= reg.Offset && int64(at) < reg.End()
		}
		if inBlock != (err == nil) || err != nil && !errors.Is(err, tablet.ErrCorrupt) {
			t.Errorf("byte %d, in an unnamed block %v: %v", at, inBlock, err)
		}
		f.data[at] ^= 1
	}
}

// TestExpect reads blocks in order; what is expected comes by one call of the file, and nothing behind it.
func TestExpect(t *testing.T) {
	var blocks [][]byte
	for i := range 40 {
		blocks = append(blocks, text(uint64(i), 3000))
	}
	f := build(t, WriterOptions{Codec: None}, blocks...)
	b := mustOpen(t, f.data, ReaderOptions{ReadAheadBytes: 1 << 20}).NewBlockReader()
	for from := 0; from < 40; from += 10 {
		b.Expect(f.regions[from+9].End())
		for _, reg := range f.regions[from : from+10] {
			if _, err := b.Read(reg); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s := b.Stats(); s.Requests != 4 || s.FileBytes != 40*3000 {
		t.Errorf("%+v", s)
	}
}

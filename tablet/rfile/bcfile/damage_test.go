package bcfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"millrace/tablet"
)

// section is a part of a file that damage is told apart by.
type section struct {
	name     string
	from, to int64
}

// sections lists the parts of an undamaged file with sums, in order and without gaps.
func sections(t *testing.T, f built) []section {
	t.Helper()
	r := mustOpen(t, f.data, ReaderOptions{})
	list := []section{{"magic", 0, firstBlock}}
	for i := range r.Sums().Len() {
		s := r.Sums().At(i)
		list = append(list, section{"block", s.Offset, s.Offset + s.Stored})
	}
	footerAt := r.Size() - int64(len(appendFooter(nil, r.Version(), 0, 0)))
	list = append(list,
		section{"sums", r.Sums().end(), r.MetaIndexOffset()},
		section{"meta index", r.MetaIndexOffset(), footerAt},
		section{"footer", footerAt, r.Size()})
	return list
}

// bitStep is 1 but under the race detector, which looks for something else.
var bitStep = map[bool]int{false: 1, true: 13}[raceEnabled]

// TestEveryBit flips each bit of small files: Verify has to find it and say in which part; Open and Read have to give
// damage or the right bytes, and never call damage unsupported.
func TestEveryBit(t *testing.T) {
	for _, codec := range Codecs() {
		for _, v := range versions {
			t.Run(fmt.Sprintf("%s/%d", codec, v.Major), func(t *testing.T) {
				f := build(t, WriterOptions{Codec: codec, Version: v, FileID: testID(9)}, text(1, 150), noise(2, 20), text(3, 90))
				for _, s := range sections(t, f) {
					for bit := s.from * 8; bit < s.to*8; bit += int64(bitStep) {
						f.data[bit/8] ^= 1 << (bit % 8)
						_, err := Verify(context.Background(), mem(f.data), nil)
						corruptAt(t, err, s.from, s.to)
						checkReads(t, f, s)
						f.data[bit/8] ^= 1 << (bit % 8)
					}
				}
				if _, err := Verify(context.Background(), mem(f.data), nil); err != nil {
					t.Fatal("put right again:", err)
				}
			})
		}
	}
}

// checkReads opens a file with damage in one section and reads what it can.
func checkReads(t *testing.T, f built, damaged section) {
	t.Helper()
	r, err := Open(mem(f.data), ReaderOptions{})
	if err != nil {
		corruptAt(t, err, damaged.from, damaged.to)
		return
	}
	if damaged.name != "block" {
		t.Fatalf("Open did not notice damage to the %s", damaged.name)
	}
	b := r.NewBlockReader()
	found := false
	for i, reg := range f.regions {
		got, err := b.Read(reg)
		if err == nil {
			sameBytes(t, "block", got, f.blocks[i])
			continue
		}
		corruptAt(t, err, damaged.from, damaged.to)
		found = true
	}
	for name, want := range f.metas {
		m, _ := r.Meta(name)
		got, err := r.ReadMeta(m)
		if err == nil {
			sameBytes(t, name, got, want)
			continue
		}
		corruptAt(t, err, damaged.from, damaged.to)
		found = true
	}
	if !found {
		t.Fatalf("no read noticed the damage at %d", damaged.from)
	}
}

// TestEveryCut truncates files at each byte.
func TestEveryCut(t *testing.T) {
	for _, noSums := range []bool{false, true} {
		for _, v := range versions {
			f := build(t, WriterOptions{Codec: Snappy, Version: v, NoSums: noSums}, text(1, 300), text(2, 100))
			for cut := range f.data {
				data := f.data[:cut:cut]
				if _, err := Open(mem(data), ReaderOptions{}); !errors.Is(err, tablet.ErrCorrupt) {
					t.Fatalf("cut at %d: Open gives %v", cut, err)
				}
				if _, err := Verify(context.Background(), mem(data), nil); !errors.Is(err, tablet.ErrCorrupt) {
					t.Fatalf("cut at %d: Verify gives %v", cut, err)
				}
			}
			if _, err := Verify(context.Background(), mem(append(f.data, 0)), nil); !errors.Is(err, tablet.ErrCorrupt) {
				t.Fatalf("a byte too many: Verify gives %v", err)
			}
		}
	}
}

// TestExchangedBlocks puts blocks of the same size in each other's place.
func TestExchangedBlocks(t *testing.T) {
	f := build(t, WriterOptions{Codec: None}, text(1, 100), text(2, 100))
	a, b := f.regions[0], f.regions[1]
	first := append([]byte(nil), f.data[a.Offset:a.End()]...)
	copy(f.data[a.Offset:], f.data[b.Offset:b.End()])
	copy(f.data[b.Offset:], first)
	_, err := Verify(context.Background(), mem(f.data), nil)
	corruptAt(t, err, a.Offset, a.End())
	_, err = mustOpen(t, f.data, ReaderOptions{}).NewBlockReader().Read(b)
	corruptAt(t, err, b.Offset, b.End())
}

// TestRegionOutsideSums reads what the sums do not list as a block.
func TestRegionOutsideSums(t *testing.T) {
	f := build(t, WriterOptions{Codec: None}, text(1, 100), text(2, 100))
	r := mustOpen(t, f.data, ReaderOptions{})
	b := r.NewBlockReader()
	bad := func(reg Region) {
		t.Helper()
		_, err := b.Read(reg)
		corruptAt(t, err, reg.Offset, reg.Offset+1)
	}
	bad(Region{17, 99, 99})
	bad(Region{16, 99, 99})
	bad(Region{16, 200, 200})
	bad(Region{15, 100, 100})
	bad(Region{16, 100, 99})
	bad(Region{16, 1 << 40, 1 << 40})
	bad(Region{1 << 62, 1 << 62, 10})
	bad(Region{1<<63 - 1, 5, 5})
	bad(Region{-1, 10, 10})
	bad(Region{16, -1, -1})
	bad(Region{r.MetaIndexOffset(), 1, 1})
	bad(Region{16, 100, 1 << 40})
}

// TestFlipsWithoutSums flips each bit of files that carry no sums: never a panic, never more than the stated bytes.
func TestFlipsWithoutSums(t *testing.T) {
	for _, codec := range Codecs() {
		for _, v := range versions {
			f := build(t, WriterOptions{Codec: codec, Version: v, NoSums: true}, text(1, 150))
			for bit := 0; bit < len(f.data)*8; bit += bitStep {
				f.data[bit/8] ^= 1 << (bit % 8)
				_, err := Verify(context.Background(), mem(f.data), nil)
				if err != nil && !errors.Is(err, tablet.ErrCorrupt) && !errors.Is(err, tablet.ErrUnsupported) {
					t.Fatal(err)
				}
				r, err := Open(mem(f.data), ReaderOptions{})
				if err == nil {
					got, err := r.NewBlockReader().Read(f.regions[0])
					if err == nil && len(got) != 150 {
						t.Fatalf("block of %d bytes, want 150", len(got))
					}
					if codec == Gz && bit >= 8*16 && bit < 8*int(f.regions[0].End()) && err == nil && string(got) != string(f.blocks[0]) {
						t.Fatal("Adler-32 did not notice")
					}
				}
				f.data[bit/8] ^= 1 << (bit % 8)
			}
		}
	}
}

// TestManyEndMagics ends a file in thousands of tables of sums that look right but for their checksum. Only a few may be
// read whole.
func TestManyEndMagics(t *testing.T) {
	const spacing, copies = 20, 3000
	const length = spacing * (copies*4 + 1) // from each head to the foot of its table
	head := append([]byte(sumsMagic), 0, 1, 0, 0)
	head = binary.BigEndian.AppendUint32(head, (length-sumsHeaderBytes-sumsFooterBytes)/sumsEntryBytes)
	head = append(head, 0, 0, 0, 0)
	foot := binary.BigEndian.AppendUint32(make([]byte, 4), length)
	foot = append(append(foot, 0, 0, 0, 0), sumsEndMagic...)
	if (length-sumsHeaderBytes-sumsFooterBytes)%sumsEntryBytes != 0 {
		t.Fatal("choose a length that a table can have")
	}
	data := make([]byte, 100)
	data = append(data, bytes.Repeat(head, copies)...)
	data = append(data, make([]byte, length-spacing*copies)...)
	data = append(data, bytes.Repeat(foot, copies)...)
	src := mem(data)
	_, err := Verify(context.Background(), src, nil)
	corruptAt(t, err, 0, int64(len(data)))
	if src.bytesRead < 2*length || src.bytesRead > 8*length {
		t.Errorf("%d bytes read, a table has %d", src.bytesRead, length)
	}
}

// TestEmbeddedFile stores a whole file with sums as a block of one that has none; the inner sums must not be taken for
// those of the outer file.
func TestEmbeddedFile(t *testing.T) {
	inner := build(t, WriterOptions{Codec: None}, text(1, 100))
	outer := build(t, WriterOptions{Codec: None, NoSums: true}, inner.data)
	report, err := Verify(context.Background(), mem(outer.data), nil)
	if err != nil || report.HasSums {
		t.Fatalf("%+v, %v", report, err)
	}
	withSums := build(t, WriterOptions{Codec: None, FileID: testID(5)}, inner.data)
	report, err = Verify(context.Background(), mem(withSums.data), nil)
	if err != nil || report.FileID != testID(5) {
		t.Fatalf("%+v, %v", report, err)
	}
}

func TestVerifyStops(t *testing.T) {
	f := build(t, WriterOptions{Codec: None}, noise(1, 1<<20))
	ctx, cancel := context.WithCancel(context.Background())
	var last int64
	_, err := Verify(ctx, mem(f.data), func(n int64) {
		last = n
		cancel()
	})
	if !errors.Is(err, context.Canceled) || last != verifyBufferBytes {
		t.Errorf("%v after %d bytes", err, last)
	}
	if _, err := Verify(context.Background(), mem(f.data), func(n int64) { last = n }); err != nil || last != int64(len(f.data)) {
		t.Errorf("%v after %d bytes", err, last)
	}
}

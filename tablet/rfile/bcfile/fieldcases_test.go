package bcfile

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
)

// oddBlocks are blocks of one size that compressors find hard: random, of one byte, of two bytes at random.
func oddBlocks(rng *rand.Rand, n int) [3][]byte {
	constant, two := bytes.Repeat([]byte{byte(rng.Uint32())}, n), make([]byte, n)
	for i := range two {
		two[i] = "\x00\xff"[rng.IntN(2)]
	}
	return [3][]byte{noise(rng.Uint64(), n), constant, two}
}

// TestBlocksThatDoNotShrink brings blocks of no gain and of the smallest sizes through every codec: lz4 and snappy say of
// some of them that they could not compress, which must not be taken for an empty block.
func TestBlocksThatDoNotShrink(t *testing.T) {
	rng := rand.New(rand.NewPCG(131, 132))
	var sizes []int
	for n := range 65 {
		sizes = append(sizes, n, n, n)
	}
	for _, most := range []int{300, 5000, 70_000, 300_000, 1 << 20} {
		for range 6 {
			sizes = append(sizes, rng.IntN(most+1))
		}
	}
	for _, name := range Codecs() {
		c, d := compressor(t, name, 0), decompressor(t, name)
		var stored, raw []byte
		grown := 0
		for _, n := range sizes {
			for kind, in := range oddBlocks(rng, n) {
				what := fmt.Sprintf("%s, %d bytes of kind %d", name, n, kind)
				var err error
				if stored, err = c.Compress(stored[:0], in); err != nil {
					t.Fatal(what, err)
				}
				if n > 0 && len(stored) == 0 {
					t.Fatalf("%s: stored as nothing", what)
				}
				if len(stored) >= n {
					grown++
				}
				if raw, err = d.Decompress(raw[:0], stored, n); err != nil {
					t.Fatal(what, err)
				}
				sameBytes(t, what, raw, in)
			}
		}
		if grown < 65 {
			t.Errorf("%s: only %d blocks did not shrink: not what is meant to be tried", name, grown)
		}
	}
}

// TestSmallBlocksInFiles writes every size from 1 to 64 bytes as a block of a file, and reads it by its region.
func TestSmallBlocksInFiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(132, 1))
	for _, name := range Codecs() {
		var blocks [][]byte
		for n := range 64 {
			for _, b := range oddBlocks(rng, n+1) {
				blocks = append(blocks, b)
			}
		}
		f := build(t, WriterOptions{Codec: name, FileID: testID(1)}, blocks...)
		b := mustOpen(t, f.data, ReaderOptions{}).NewBlockReader()
		for i, reg := range f.regions {
			got, err := b.Read(reg)
			if err != nil {
				t.Fatal(name, i, err)
			}
			sameBytes(t, fmt.Sprint(name, i), got, blocks[i])
		}
	}
}

const sparsePage = 1 << 20

// sparseFile keeps only pages that are not all zeros, so that a file of many GiB fits in memory.
type sparseFile struct {
	memFile
	pages map[int64][]byte
	size  int64
}

func (f *sparseFile) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		at := f.size % sparsePage
		part := p[:min(int64(len(p)), sparsePage-at)]
		if f.pages[f.size/sparsePage] == nil && !bytes.Equal(part, zeros[:len(part)]) {
			f.pages[f.size/sparsePage] = make([]byte, sparsePage)
		}
		if page := f.pages[f.size/sparsePage]; page != nil {
			copy(page[at:], part)
		}
		f.size += int64(len(part))
		p = p[len(part):]
	}
	return n, nil
}

func (f *sparseFile) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) && off < f.size {
		at := off % sparsePage
		part := p[n:min(int64(len(p)), int64(n)+sparsePage-at, int64(n)+f.size-off)]
		if page := f.pages[off/sparsePage]; page != nil {
			copy(part, page[at:])
		} else {
			clear(part)
		}
		n, off = n+len(part), off+int64(len(part))
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *sparseFile) Size() (int64, error) { return f.size, nil }

var zeros = make([]byte, sparsePage)

// TestOffsetsPastFourGiB has blocks on both sides of 2 GiB and of 4 GiB, where offsets of 32 bits end.
func TestOffsetsPastFourGiB(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("writes more than 4 GiB through a writer; the race detector is slow at that")
	}
	f := &sparseFile{memFile: memFile{name: "large.rf"}, pages: map[int64][]byte{}}
	w, err := NewWriter(f, WriterOptions{Codec: None, NoSums: true})
	if err != nil {
		t.Fatal(err)
	}
	type mark struct {
		at  Region
		raw []byte
	}
	var marks []mark
	filler := make([]byte, 32<<20)
	write := func(b []byte, keep bool) {
		t.Helper()
		before := w.Offset()
		r, err := w.WriteBlock(b)
		if err != nil {
			t.Fatal(err)
		}
		if r.Offset != before || w.Offset() != before+int64(len(b)) {
			t.Fatalf("block at %d said to be at %d, the next at %d", before, r.Offset, w.Offset())
		}
		if keep {
			marks = append(marks, mark{r, bytes.Clone(b)})
		}
	}
	for _, edge := range []int64{1 << 31, 1 << 32} {
		for w.Offset() < edge-100 {
			write(filler[:min(int64(len(filler)), edge-100-w.Offset())], false)
		}
		for i := range uint64(5) { // before, across and behind
			write(text(uint64(edge)+i, 70), true)
		}
	}
	if err := w.WriteMeta("RFile.index", text(3, 50)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	r, err := Open(f, ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b := r.NewBlockReader()
	for _, m := range marks {
		got, err := b.Read(m.at)
		if err != nil {
			t.Fatal(err)
		}
		sameBytes(t, fmt.Sprintf("block at %d", m.at.Offset), got, m.raw)
	}
	meta, ok := r.Meta("RFile.index")
	if !ok || meta.Region.Offset < 1<<32 {
		t.Fatalf("%+v, %v", meta, ok)
	}
	got, err := r.ReadMeta(meta)
	if err != nil {
		t.Fatal(err)
	}
	sameBytes(t, "named block", got, text(3, 50))
}

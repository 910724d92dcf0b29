package bcfile

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"testing"

	"millrace/tablet"

	"pgregory.net/rapid"
)

// TestRoundTrip writes and reads files of every codec, version and kind.
func TestRoundTrip(t *testing.T) {
	blocks := [][]byte{text(1, 5000), {}, noise(2, 3000), []byte("x"), text(3, 200_000), {}}
	for _, codec := range Codecs() {
		for _, v := range versions {
			for _, noSums := range []bool{false, true} {
				f := build(t, WriterOptions{Codec: codec, Version: v, NoSums: noSums, FileID: testID(1)}, blocks...)
				checkBuilt(t, f, codec, v, noSums)
			}
		}
	}
}

func checkBuilt(t *testing.T, f built, codec string, v Version, noSums bool) {
	t.Helper()
	if f.summary.Bytes != int64(len(f.data)) || f.summary.CRC != crc32.Checksum(f.data, castagnoli) {
		t.Fatalf("summary %+v of a file of %d bytes", f.summary, len(f.data))
	}
	r := mustOpen(t, f.data, ReaderOptions{})
	if r.Version() != v || r.Codec() != codec || r.Size() != f.summary.Bytes || len(r.DataRegions()) != 0 {
		t.Fatalf("version %v, codec %s, size %d", r.Version(), r.Codec(), r.Size())
	}
	if (r.Crypto() == nil) != (v == V1) || v == V3 && string(r.Crypto()) != plainCrypto {
		t.Fatalf("crypto parameters %q", r.Crypto())
	}
	if (r.Sums() == nil) != noSums || !noSums && r.Sums().FileID() != testID(1) || (f.summary.FileID == [16]byte{}) != noSums {
		t.Fatalf("sums %v, want none: %v", r.Sums(), noSums)
	}
	names := map[string]bool{}
	for _, m := range r.Metas() {
		names[m.Name] = true
	}
	if len(names) != len(r.Metas()) || !names[indexName] || names[SumsName] == noSums {
		t.Fatalf("named blocks %v", r.Metas())
	}
	for name, want := range f.metas {
		m, ok := r.Meta(name)
		if !ok {
			t.Fatalf("no block %q", name)
		}
		got, err := r.ReadMeta(m)
		if err != nil {
			t.Fatal(err)
		}
		sameBytes(t, name, got, want)
	}
	b := r.NewBlockReader()
	defer b.Close()
	for i, reg := range f.regions {
		got, err := b.Read(reg)
		if err != nil {
			t.Fatal(err)
		}
		sameBytes(t, "Read", got, f.blocks[i])
		if got, err = b.AppendTo([]byte("x"), reg); err != nil {
			t.Fatal(err)
		}
		sameBytes(t, "AppendTo", got, append([]byte("x"), f.blocks[i]...))
	}
	report, err := Verify(context.Background(), mem(f.data), nil)
	if err != nil {
		t.Fatal(err)
	}
	if report.CRC != f.summary.CRC || report.Bytes != f.summary.Bytes || report.HasSums == noSums || report.FileID != f.summary.FileID || report.Codec != codec || report.Version != v {
		t.Fatalf("report %+v, summary %+v", report, f.summary)
	}
}

// TestWriteStored copies a file block by block without decompressing it; the copies are the same.
func TestWriteStored(t *testing.T) {
	for _, codec := range Codecs() {
		opts := WriterOptions{Codec: codec, FileID: testID(3)}
		f := build(t, opts, text(1, 70_000), nil, noise(1, 500))
		r := mustOpen(t, f.data, ReaderOptions{})
		out := mem(nil)
		w, err := NewWriter(out, opts)
		if err != nil {
			t.Fatal(err)
		}
		b := r.NewBlockReader()
		for _, reg := range f.regions {
			stored, err := b.ReadStored(reg)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := w.WriteStored(stored, reg.Raw); err != nil || got != reg {
				t.Fatalf("%+v, %v; want %+v", got, err, reg)
			}
		}
		for _, name := range []string{"acu_bloom", "RFile.index"} {
			if err := w.WriteMeta(name, f.metas[name]); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		sameBytes(t, codec, out.data, f.data)
	}
}

func TestWriterRefuses(t *testing.T) {
	f := func(what string, want error, do func(w *Writer) error) {
		t.Helper()
		w, err := NewWriter(mem(nil), WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := do(w); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
		if _, err := w.Finish(); !errors.Is(err, want) {
			t.Errorf("%s, then Finish: %v, want %v", what, err, want)
		}
	}
	f("a block after a named one", tablet.ErrUsage, func(w *Writer) error {
		if err := w.WriteMeta("a", nil); err != nil {
			return err
		}
		_, err := w.WriteBlock(nil)
		return err
	})
	f("a name twice", tablet.ErrUsage, func(w *Writer) error {
		return errors.Join(w.WriteMeta("a", nil), w.WriteMeta("a", nil))
	})
	f("a reserved name", tablet.ErrUsage, func(w *Writer) error { return w.WriteMeta(SumsName, nil) })
	f("a reserved name", tablet.ErrUsage, func(w *Writer) error { return w.WriteMeta(indexName, nil) })
	f("a negative raw size", tablet.ErrUsage, func(w *Writer) error { _, err := w.WriteStored(nil, -1); return err })
	f("a raw size over the limit", tablet.ErrUsage, func(w *Writer) error { _, err := w.WriteStored(nil, maxRawBytes+1); return err })
	f("a block after the end", tablet.ErrClosed, func(w *Writer) error {
		if _, err := w.Finish(); err != nil {
			return err
		}
		_, err := w.WriteBlock(nil)
		return err
	})
	_, err := NewWriter(mem(nil), WriterOptions{Version: Version{2, 0}})
	unsupported(t, err)
	_, err = NewWriter(mem(nil), WriterOptions{Codec: Bzip2})
	unsupported(t, err)
}

type failingWriter struct{ left int }

var errDisk = errors.New("disk is full")

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errDisk
	}
	return len(p), nil
}

func TestWriterReportsFailedWrites(t *testing.T) {
	whole := len(build(t, WriterOptions{Codec: None}, noise(1, 400<<10), noise(2, 400<<10)).data)
	for _, left := range []int{0, 100, 300 << 10, 700 << 10, whole - 1} {
		w, err := NewWriter(&failingWriter{left}, WriterOptions{Codec: None})
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint64(2) {
			w.WriteBlock(noise(i+1, 400<<10))
		}
		w.WriteMeta("RFile.index", text(99, 120))
		w.WriteMeta("acu_bloom", nil)
		if _, err := w.Finish(); !errors.Is(err, errDisk) {
			t.Errorf("room for %d of %d bytes: %v", left, whole, err)
		}
	}
}

// TestReadAhead reads small blocks in order, in disorder, and in two interleaved orders, and counts requests.
func TestReadAhead(t *testing.T) {
	var blocks [][]byte
	for i := range uint64(20_000) {
		blocks = append(blocks, text(i, 64))
	}
	f := build(t, WriterOptions{Codec: None}, blocks...)
	src := mem(f.data)
	open := func(opts ReaderOptions) *BlockReader {
		r, err := Open(src, opts)
		if err != nil {
			t.Fatal(err)
		}
		return r.NewBlockReader()
	}
	read := func(b *BlockReader, i int) {
		t.Helper()
		got, err := b.Read(f.regions[i])
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, blocks[i]) {
			t.Fatalf("block %d is wrong", i)
		}
	}
	b := open(ReaderOptions{})
	src.requests = 0
	for i := range blocks {
		read(b, i)
	}
	// 1.28 MB: one request alone, then 64, 128 and 5 × 256 KiB.
	if s := b.Stats(); src.requests > 9 || s.Requests != int64(src.requests) || s.Blocks != 20_000 || s.StoredBytes != 64*20_000 || s.RawBytes != s.StoredBytes || s.FileBytes > s.StoredBytes+256<<10 {
		t.Errorf("in order: %d requests, %+v", src.requests, s)
	}

	b = open(ReaderOptions{ReadAheadBytes: -1})
	for i := range 100 {
		read(b, i)
	}
	if n := b.Stats().Requests; n != 100 {
		t.Errorf("in order without read-ahead: %d requests", n)
	}

	b = open(ReaderOptions{})
	for i := range 100 {
		read(b, (i*7919)%20_000)
	}
	if s := b.Stats(); s.Requests != 100 || s.FileBytes != 6400 {
		t.Errorf("in disorder: %+v", s)
	}

	rapid.Check(t, func(rt *rapid.T) {
		b := open(ReaderOptions{ReadAheadBytes: rapid.SampledFrom([]int{-1, 1, 100, 1000, 0}).Draw(rt, "ahead")})
		at := 0
		for range rapid.IntRange(1, 60).Draw(rt, "reads") {
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0:
				at = rapid.IntRange(0, len(blocks)-1).Draw(rt, "at")
			case 1:
				at = max(0, at-rapid.IntRange(1, 20).Draw(rt, "back"))
			default:
				at = min(at+1, len(blocks)-1)
			}
			read(b, at)
		}
	})
}

// TestReadErrors fails requests from some offset on: what lies before must be read, the rest reported, and reading goes on
// when the fault is gone.
func TestReadErrors(t *testing.T) {
	var blocks [][]byte
	for i := range uint64(3000) {
		blocks = append(blocks, text(i, 64))
	}
	f := build(t, WriterOptions{Codec: Snappy}, blocks...)
	src := mem(f.data)
	r, err := Open(src, ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b := r.NewBlockReader()
	const bad = 1700
	src.fail, src.failAt = errDisk, f.regions[bad].Offset
	for i, reg := range f.regions {
		got, err := b.Read(reg)
		if i < bad && (err != nil || !bytes.Equal(got, blocks[i])) {
			t.Fatalf("block %d before the fault: %v", i, err)
		}
		if i >= bad && (!errors.Is(err, errDisk) || errors.Is(err, tablet.ErrCorrupt)) {
			t.Fatalf("block %d behind the fault: %v", i, err)
		}
	}
	src.fail = nil
	for i, reg := range f.regions {
		if got, err := b.Read(reg); err != nil || !bytes.Equal(got, blocks[i]) {
			t.Fatalf("block %d after the fault: %v", i, err)
		}
	}
	// A file that has become shorter is damaged.
	src.data = src.data[:f.regions[bad].Offset+3]
	b = r.NewBlockReader()
	_, err = b.Read(f.regions[bad])
	corruptAt(t, err, f.regions[bad].Offset+3, f.regions[bad].Offset+4)
}

// TestReadAllocs holds the steady state to no allocation.
func TestReadAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, codec := range Codecs() {
		f := build(t, WriterOptions{Codec: codec}, text(1, 50_000), text(2, 50_000), text(3, 50_000))
		b := mustOpen(t, f.data, ReaderOptions{}).NewBlockReader()
		n := testing.AllocsPerRun(10, func() {
			for _, reg := range f.regions {
				if _, err := b.Read(reg); err != nil {
					t.Fatal(err)
				}
			}
		})
		if n > 0 {
			t.Errorf("%s: %v allocations", codec, n)
		}
	}
}

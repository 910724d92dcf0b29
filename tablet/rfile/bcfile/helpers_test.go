package bcfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"millrace/tablet"
)

// memFile is a file's bytes; it counts requests.
type memFile struct {
	name      string
	data      []byte
	requests  int
	bytesRead int64
	fail      error // returned by ReadAt from offset failAt on
	failAt    int64
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.requests++
	f.bytesRead += int64(len(p))
	if f.fail != nil && off+int64(len(p)) > f.failAt {
		n := copy(p, f.data[min(off, int64(len(f.data))):max(off, f.failAt)])
		return n, f.fail
	}
	if off >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) Write(p []byte) (int, error) { f.data = append(f.data, p...); return len(p), nil }
func (f *memFile) Close() error                { return nil }
func (f *memFile) Sync() error                 { return nil }
func (f *memFile) Size() (int64, error)        { return int64(len(f.data)), nil }
func (f *memFile) Name() string                { return f.name }

func mem(data []byte) *memFile { return &memFile{name: "t.rf", data: data} }

var versions = []Version{V1, V3}

func testID(b byte) (id [16]byte) {
	for i := range id {
		id[i] = b + byte(i)
	}
	return id
}

// text makes n bytes that compress like keys and values.
func text(seed uint64, n int) []byte {
	rng := rand.New(rand.NewPCG(seed, 1))
	var b []byte
	for row := 0; len(b) < n; row++ {
		b = fmt.Appendf(b, "row_%08d family%d qualifier_%02d %x;", row, rng.IntN(3), rng.IntN(50), rng.Uint64())
	}
	return b[:n]
}

func noise(seed uint64, n int) []byte {
	rng := rand.New(rand.NewPCG(seed, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// built is a written file and what went into it.
type built struct {
	data    []byte
	blocks  [][]byte
	regions []Region
	metas   map[string][]byte
	summary Summary
}

// build writes a file of the given blocks and two named ones.
func build(t testing.TB, opts WriterOptions, blocks ...[]byte) built {
	t.Helper()
	out := built{blocks: blocks, metas: map[string][]byte{"RFile.index": text(99, 120), "acu_bloom": {}}}
	f := mem(nil)
	w, err := NewWriter(f, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks {
		r, err := w.WriteBlock(b)
		if err != nil {
			t.Fatal(err)
		}
		out.regions = append(out.regions, r)
	}
	for _, name := range []string{"acu_bloom", "RFile.index"} {
		if err := w.WriteMeta(name, out.metas[name]); err != nil {
			t.Fatal(err)
		}
	}
	if out.summary, err = w.Finish(); err != nil {
		t.Fatal(err)
	}
	out.data = f.data
	return out
}

func mustOpen(t testing.TB, data []byte, opts ReaderOptions) *Reader {
	t.Helper()
	r, err := Open(mem(data), opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// corruptAt checks that err is damage of t.rf at an offset in [from, to).
func corruptAt(t testing.TB, err error, from, to int64) {
	t.Helper()
	var c *tablet.CorruptError
	if !errors.As(err, &c) || errors.Is(err, tablet.ErrUnsupported) {
		t.Fatalf("error %v, want damage", err)
	}
	if c.File != "t.rf" || c.Offset < from || c.Offset > to-1 {
		t.Fatalf("error %v, want an offset in [%d, %d)", err, from, to)
	}
}

func unsupported(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, tablet.ErrUnsupported) || errors.Is(err, tablet.ErrCorrupt) {
		t.Fatalf("error %v, want ErrUnsupported", err)
	}
}

func sameBytes(t testing.TB, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Fatalf("%s: %d bytes differ from the %d expected", what, len(got), len(want))
	}
}

// fixtures returns the directory of files that other programs wrote, or skips.
func fixtures(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("MILLRACE_TESTDATA")
	if dir == "" {
		at, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for at != filepath.Dir(at) {
			if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
				break
			}
			at = filepath.Dir(at)
		}
		dir = filepath.Join(at, "..", "shared", "testdata")
	}
	dir = filepath.Join(dir, "rfile")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no fixtures at ", dir)
	}
	return dir
}

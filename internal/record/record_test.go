package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet"
)

var testHeader = Header{Kind: Log, Version: 3, Number: 77}

// frame is where a record of a built file is.
type frame struct {
	start, end int64
	synced     int64 // as the frame says
	payload    []byte
}

// built is a file and what is in it.
type built struct {
	bytes  []byte
	frames []frame // the seal too, without a payload
}

// build writes groups of payloads and syncs after each.
func build(t testing.TB, h Header, seal bool, groups ...[]string) built {
	t.Helper()
	fs := vfs.Mem()
	f, err := fs.Create("f")
	must(t, err)
	w := NewWriter(f, h)
	var b built
	for _, g := range groups {
		for _, p := range g {
			synced := w.Synced()
			at, err := w.Append([]byte(p))
			must(t, err)
			b.frames = append(b.frames, frame{at, w.Size(), synced, []byte(p)})
		}
		must(t, w.Sync())
	}
	if seal {
		start := w.Size()
		must(t, w.Seal())
		b.frames = append(b.frames, frame{start: start, end: w.Size(), synced: start})
	}
	must(t, w.Sync()) // of a file without groups
	must(t, f.Close())
	b.bytes = content(t, fs, "f")
	if int64(len(b.bytes)) != w.Size() || w.Synced() != w.Size() || w.Buffered() != 0 {
		t.Fatalf("file has %d bytes, the writer says %d, %d synced, %d buffered", len(b.bytes), w.Size(), w.Synced(), w.Buffered())
	}
	return b
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func content(t testing.TB, fs vfs.FS, name string) []byte {
	t.Helper()
	f, err := fs.Open(name)
	must(t, err)
	defer f.Close()
	size, err := f.Size()
	must(t, err)
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); n < len(b) {
		t.Fatal(err)
	}
	return b
}

// memFile puts bytes into a file and opens it.
func memFile(t testing.TB, b []byte) vfs.File {
	t.Helper()
	fs := vfs.Mem()
	f, err := fs.Create("f")
	must(t, err)
	_, err = f.Write(b)
	must(t, err)
	must(t, f.Close())
	f, err = fs.Open("f")
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// result is what a reader makes of a file.
type result struct {
	payloads [][]byte
	offsets  []int64
	end      End
	err      error // nil at the end of the file
}

func read(t testing.TB, b []byte, h Header, known Outside) (res result) {
	t.Helper()
	r, err := NewReader(memFile(t, b), h, known)
	must(t, err)
	for {
		p, off, err := r.Next()
		if err != nil {
			if _, _, again := r.Next(); again != err {
				t.Fatalf("%v, and then %v", err, again)
			}
			res.end = r.End()
			if err != io.EOF {
				res.err = err
			}
			return res
		}
		res.payloads = append(res.payloads, bytes.Clone(p))
		res.offsets = append(res.offsets, off)
	}
}

// holds checks that the result is the first n payloads of a file, and returns n.
func (res result) holds(t testing.TB, b built) int {
	t.Helper()
	for i, p := range res.payloads {
		if !bytes.Equal(p, b.frames[i].payload) || res.offsets[i] != b.frames[i].start {
			t.Fatalf("record %d is %q at %d, want %q at %d", i, p, res.offsets[i], b.frames[i].payload, b.frames[i].start)
		}
	}
	return len(res.payloads)
}

// corruptAt checks that an error names a place in file f.
func corruptAt(t testing.TB, err error, offset int64) {
	t.Helper()
	var c *tablet.CorruptError
	if !errors.As(err, &c) || c.File != "f" || c.Offset != offset {
		t.Fatalf("error is %v, want damage of f at %d", err, offset)
	}
}

var groups = [][]string{{"a"}, {"bb", "a longer record than the others have"}, {"d", "e", "f"}, {"last but one"}, {"the", "last"}}

func TestRoundTrip(t *testing.T) {
	f := func(seal bool, groups ...[]string) {
		t.Helper()
		b := build(t, testHeader, seal, groups...)
		res := read(t, b.bytes, testHeader, Outside{Synced: int64(len(b.bytes))})
		want := len(b.frames)
		if seal {
			want--
		}
		if n := res.holds(t, b); res.err != nil || n != want {
			t.Errorf("%d of %d records, %v", n, want, res.err)
		}
		if res.end != (End{Offset: int64(len(b.bytes)), Synced: int64(len(b.bytes)), Sealed: seal}) {
			t.Errorf("end is %+v", res.end)
		}
	}
	long := string(bytes.Repeat([]byte("0123456789abcdef"), windowBytes/8))
	for _, seal := range []bool{true, false} {
		f(seal)
		f(seal, groups...)
		f(seal, []string{"x", long, "y", long[1:], "z"}, []string{"s"})
		f(seal, []string{long[:windowBytes-frameBytes]}, []string{long[:windowBytes-frameBytes+1], long[:windowBytes]})
	}
}

// TestRoundTripRandom draws lengths around the window's.
func TestRoundTripRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var groups [][]string
		for range 1 + rng.IntN(6) {
			var g []string
			for range 1 + rng.IntN(5) {
				p := make([]byte, 1+rng.IntN([]int{10, 1000, 100000, 2 * windowBytes}[rng.IntN(4)]))
				for i := range p {
					p[i] = byte(rng.Uint32())
				}
				g = append(g, string(p))
			}
			groups = append(groups, g)
		}
		b := build(t, testHeader, false, groups...)
		if res := read(t, b.bytes, testHeader, Outside{}); res.holds(t, b) != len(b.frames) || res.err != nil {
			t.Fatalf("%d of %d records, %v", len(res.payloads), len(b.frames), res.err)
		}
	}
}

func TestWriterRefuses(t *testing.T) {
	fs := vfs.Faulty(vfs.Mem())
	f, err := fs.Create("f")
	must(t, err)
	w := NewWriter(f, testHeader)
	if _, err := w.Append(nil); !errors.Is(err, tablet.ErrUsage) {
		t.Errorf("empty record: %v", err)
	}
	_, err = w.Append([]byte("x"))
	must(t, err)
	must(t, w.Sync())
	must(t, w.Seal())
	must(t, w.Seal())
	if _, err := w.Append([]byte("x")); !errors.Is(err, tablet.ErrClosed) {
		t.Errorf("append to a sealed file: %v", err)
	}
}

// TestWriterErrorsStay: after a failed write or sync the file is not touched any more, and what was synced does not grow.
func TestWriterErrorsStay(t *testing.T) {
	for _, op := range []vfs.Op{vfs.OpWrite, vfs.OpSync} {
		fs := vfs.Faulty(vfs.Mem())
		f, err := fs.Create("f")
		must(t, err)
		w := NewWriter(f, testHeader)
		_, err = w.Append([]byte("first"))
		must(t, err)
		must(t, w.Sync())
		synced := w.Synced()
		_, err = w.Append([]byte("second"))
		must(t, err)
		fs.Add(vfs.Rule{Op: op, Short: 5})
		failed := w.Sync()
		if failed == nil {
			t.Fatal("no error")
		}
		before := fs.Calls(vfs.OpAny)
		_, appended := w.Append([]byte("third"))
		for i, err := range []error{appended, w.Write(), w.Sync(), w.Seal()} {
			if err != failed {
				t.Errorf("%s, call %d afterwards: %v", op, i, err)
			}
		}
		if n := fs.Calls(vfs.OpAny) - before; n != 0 || w.Synced() != synced {
			t.Errorf("%s: %d calls on a file given up, synced %d, want %d", op, n, w.Synced(), synced)
		}
	}
}

// TestOneCall: a group is one write and one sync.
func TestOneCall(t *testing.T) {
	fs := vfs.Faulty(vfs.Mem())
	f, err := fs.Create("f")
	must(t, err)
	w := NewWriter(f, testHeader)
	for range 100 {
		_, err := w.Append([]byte("record"))
		must(t, err)
	}
	must(t, w.Sync())
	must(t, w.Sync())
	if w, s := fs.Calls(vfs.OpWrite), fs.Calls(vfs.OpSync); w != 1 || s != 1 {
		t.Errorf("%d writes and %d syncs", w, s)
	}
}

// TestOtherFiles: a file of another version is not supported; one of another number holds nothing for this one.
func TestOtherFiles(t *testing.T) {
	b := build(t, testHeader, false, groups...)
	f := func(h Header, want error) {
		t.Helper()
		if res := read(t, b.bytes, h, Outside{}); !errors.Is(res.err, want) || len(res.payloads) > 0 {
			t.Errorf("%+v: %d records, %v", h, len(res.payloads), res.err)
		}
	}
	f(Header{Kind: Log, Version: 4, Number: 77}, tablet.ErrUnsupported)
	f(Header{Kind: Manifest, Version: 3, Number: 77}, tablet.ErrUnsupported)
	f(Header{Kind: "else", Version: 3, Number: 77}, tablet.ErrUnsupported)
	f(Header{Kind: Log, Version: 3, Number: 78}, nil)
	res := read(t, b.bytes, Header{Kind: Log, Version: 3, Number: 78}, Outside{})
	if res.end != (End{Torn: true}) {
		t.Errorf("end is %+v", res.end)
	}
	// Others know that there was something.
	res = read(t, b.bytes, Header{Kind: Log, Version: 3, Number: 78}, Outside{Synced: 100})
	corruptAt(t, res.err, 0)
}

// TestReadErrors: an error of the disk is neither an end nor damage.
func TestReadErrors(t *testing.T) {
	long := string(bytes.Repeat([]byte("x"), 2*windowBytes))
	b := build(t, testHeader, false, []string{"a", long}, []string{"b"})
	damaged := bytes.Clone(b.bytes)
	damaged[b.frames[0].start] ^= 1
	for _, file := range [][]byte{b.bytes, damaged} {
		for n := 1; ; n++ {
			mem := vfs.Mem()
			w, err := mem.Create("f")
			must(t, err)
			_, err = w.Write(file)
			must(t, err)
			w.Close()
			rule := vfs.Rule{Op: vfs.OpRead, N: n}
			if n%2 == 0 {
				rule.Err = io.EOF
			}
			fs := vfs.Faulty(mem, rule)
			f, err := fs.Open("f")
			must(t, err)
			r, err := NewReader(f, testHeader, Outside{})
			must(t, err)
			for err == nil {
				_, _, err = r.Next()
			}
			f.Close()
			if len(fs.Hits()) == 0 {
				if n < 4 {
					t.Errorf("only %d reads", n)
				}
				break
			}
			if err == io.EOF || errors.Is(err, tablet.ErrCorrupt) {
				t.Fatalf("read %d fails: %v", n, err)
			}
		}
	}
}

func Example() {
	fs := vfs.Mem()
	f, _ := fs.Create("log")
	h := Header{Kind: Log, Version: 1, Number: 9}
	w := NewWriter(f, h)
	w.Append([]byte("one"))
	w.Append([]byte("two"))
	w.Sync()
	f.Close()

	f, _ = fs.Open("log")
	r, _ := NewReader(f, h, Outside{})
	for {
		payload, offset, err := r.Next()
		if err != nil {
			fmt.Println(err, r.End().Torn)
			break
		}
		fmt.Printf("%s at %d\n", payload, offset)
	}
	// Output:
	// one at 24
	// two at 43
	// EOF false
}

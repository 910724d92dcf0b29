package parallel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/rfile"
)

// both reads the same by a cursor that reads ahead and by one that does not.
func both(t *testing.T, what string, plain, ahead *rfile.Cursor, r tablet.Range, most int) error {
	t.Helper()
	want, wantErr := read(plain, r, most)
	got, err := read(ahead, r, most)
	if got != want {
		t.Fatalf("%s: other entries ahead", what)
	}
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("%s: %v ahead, want %v", what, err, wantErr)
	}
	return err
}

// TestAhead reads whole groups, and seeks here and there, stopping anywhere.
func TestAhead(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const entries = 1200
	for _, codec := range []string{"none", "snappy", "gz"} {
		r, err := open(t, write(t, options(codec), entries))
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range r.Groups() {
			plain := r.Cursor(g, rfile.CursorOptions{BatchEntries: 20})
			ahead := r.Cursor(g, rfile.CursorOptions{BatchEntries: 20, Ahead: Ahead})
			for range 25 {
				rr, most := tablet.Range{}, 1<<30
				if rng.IntN(4) > 0 {
					rr = tablet.RowRange(tablet.RowBounds{Start: fmt.Appendf(nil, "row%06d", rng.IntN(entries+50))})
					most = 1 + rng.IntN(400)
				}
				both(t, codec, plain, ahead, rr, most)
			}
			plain.Close()
			ahead.Close()
			ahead.Close()
		}
		r.Close()
	}
}

// TestAheadErrors damages files, with sums and without. The entries before the damage come, and then the error, both as
// without reading ahead; a cursor that failed may seek again.
func TestAheadErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	failed := 0
	for _, noSums := range []bool{false, true} {
		o := options("snappy")
		o.NoSums = noSums
		sound := write(t, o, 300)
		for range 120 {
			file := bytes.Clone(sound)
			file[rng.IntN(len(file))] ^= 1 << rng.IntN(8)
			r, err := open(t, file)
			if err != nil {
				continue
			}
			for _, g := range r.Groups() {
				plain, ahead := r.Cursor(g, rfile.CursorOptions{}), r.Cursor(g, rfile.CursorOptions{Ahead: Ahead})
				for i := range 3 {
					rr := tablet.Range{}
					if i == 1 {
						rr = tablet.RowRange(tablet.RowBounds{Start: fmt.Appendf(nil, "row%06d", rng.IntN(300))})
					}
					if both(t, "damaged", plain, ahead, rr, 1<<30) != nil {
						failed++
					}
				}
				plain.Close()
				ahead.Close()
			}
			r.Close()
		}
	}
	if failed < 50 {
		t.Fatalf("only %d reads failed", failed)
	}
}

// TestAheadReadFails has the file itself fail, at every call in turn.
func TestAheadReadFails(t *testing.T) {
	content := write(t, options("gz"), 400)
	for at := 1; ; at++ {
		mem := vfs.Mem()
		f, err := mem.Create("a.rf")
		if err != nil {
			t.Fatal(err)
		}
		f.Write(content)
		f.Close()
		if f, err = mem.Open("a.rf"); err != nil {
			t.Fatal(err)
		}
		broken := &failingFile{File: f}
		r, err := rfile.Open(broken, rfile.ReaderOptions{})
		if err != nil {
			continue
		}
		broken.left.Store(int64(at))
		c := r.Cursor(r.Groups()[0], rfile.CursorOptions{Ahead: Ahead})
		_, err = read(c, tablet.Range{}, 1<<30)
		c.Close()
		r.Close()
		if err == nil && broken.left.Load() <= 0 {
			continue // the walk ahead met it in the index, and the cursor's own reading did not
		}
		if err == nil {
			if at < 3 {
				t.Fatalf("read with %d calls", at)
			}
			return
		}
		if !errors.Is(err, errDisk) {
			t.Fatalf("call %d: %v", at, err)
		}
	}
}

var errDisk = errors.New("the disk is on fire")

// failingFile fails once, at the left-th read from now.
type failingFile struct {
	vfs.File
	left atomic.Int64
}

func (f *failingFile) ReadAt(p []byte, off int64) (int, error) {
	if f.left.Add(-1) == 0 {
		return 0, errDisk
	}
	return f.File.ReadAt(p, off)
}

// TestAheadCancelled leaves a cursor in the middle, cancelled or closed; nothing goes on running, which TestMain checks.
func TestAheadCancelled(t *testing.T) {
	r, err := open(t, write(t, options("gz"), 3000))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := range 200 {
		ctx, cancel := context.WithCancel(context.Background())
		c := r.Cursor(r.Groups()[i%2], rfile.CursorOptions{BatchEntries: 10, Ahead: Ahead})
		if err := c.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
			t.Fatal(err)
		}
		for range i {
			if _, err := c.Next(ctx); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		if b, err := c.Next(ctx); b != nil || i < 100 && !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d batches: %v", i, err)
		}
		c.Close()
	}
}

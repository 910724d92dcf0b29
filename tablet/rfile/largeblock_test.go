//go:build unix

package rfile

import (
	"bytes"
	"context"
	"math"
	"testing"

	"golang.org/x/sys/unix"

	"millrace/tablet"
	"millrace/tablet/rfile/bcfile"
)

// TestBlocksCloseBelowTwoGiB brings blocks that were to be nearly as large as the format allows up to its limit: an entry
// that would pass it begins another block, entry by entry and in runs, and one that just does not goes in. The bytes of the
// open block are mapped, not allocated.
func TestBlocksCloseBelowTwoGiB(t *testing.T) {
	if testing.Short() {
		t.Skip("writes blocks of 2 GiB")
	}
	huge, err := unix.Mmap(-1, 0, math.MaxInt32, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err != nil {
		t.Skip("no room to map 2 GiB:", err)
	}
	defer unix.Munmap(huge)
	entry := func(row string, value int) tablet.Entry {
		return tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: []byte(row)}), Value: bytes.Repeat([]byte("v"), value)}
	}
	// f has a block that ends so many bytes before the limit, and adds three entries of 1,001 bytes, one by one or as a run.
	// After them the open block has the last few of the three, or is the first one still.
	f := func(before int, run bool, last int) {
		t.Helper()
		out := &counter{}
		w, err := NewWriter(out, WriterOptions{Codec: bcfile.None, BlockBytes: math.MaxInt32 - 1, NoSums: true})
		if err == nil {
			err = w.StartDefaultGroup()
		}
		if err != nil {
			t.Fatal(err)
		}
		first := entry("a", 3)
		if err := w.Append(&first.Key, first.Value); err != nil {
			t.Fatal(err)
		}
		g := w.groups[len(w.groups)-1]
		g.block = huge[:maxBlockBytes-before]
		next := []tablet.Entry{entry("b", 1000), entry("c", 1000), entry("d", 1000)}
		if run {
			err = appendBatchOf(t, w, next)
		}
		for i := range next {
			if !run && err == nil {
				err = w.Append(&next[i].Key, next[i].Value)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		want := last
		if last == 0 {
			want = 1 + len(next)
		}
		if cut := out.n > 1<<30; cut != (last > 0) || g.entries != want || len(g.block) >= math.MaxInt32 {
			t.Errorf("%d bytes before the limit, run %v: block closed: %v; the open one has %d entries, want %d", before, run, cut, g.entries, want)
		}
	}
	for _, run := range []bool{false, true} {
		f(0, run, 3)
		f(1000, run, 3)
		f(1500, run, 2)
		f(2500, run, 1)
		f(3100, run, 0)
	}
}

// counter counts what is written.
type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) { c.n += int64(len(b)); return len(b), nil }

// appendBatchOf appends entries as a batch that was read from a file.
func appendBatchOf(t *testing.T, w *Writer, all []tablet.Entry) error {
	t.Helper()
	file, _ := writeGroups(t, WriterOptions{Codec: bcfile.None}, all, [][]string{nil})
	r := readBytes(t, file)
	c := r.Cursor(r.Groups()[0], CursorOptions{})
	defer c.Close()
	if err := c.Seek(context.Background(), tablet.Range{}, tablet.Families{}); err != nil {
		return err
	}
	b, err := c.Next(context.Background())
	if err != nil || len(b.Refs) != len(all) {
		t.Fatal(b, err)
	}
	return w.AppendRun(b, b.Codes[0], 0, len(b.Refs))
}

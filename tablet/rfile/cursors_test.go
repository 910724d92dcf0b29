package rfile

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"
	"weak"

	"millrace/tablet"
)

// cursorFiles are files that leave different things behind in a cursor: codecs, depths of the index, sizes of blocks.
func cursorFiles(t testing.TB, rng *rand.Rand, open func(testing.TB, []byte) *Reader) (readers []*Reader, all [][]tablet.Entry) {
	for _, o := range []WriterOptions{
		{Codec: "none", BlockBytes: 64, IndexBlockBytes: 64},
		{Codec: "gz", BlockBytes: 500, IndexBlockBytes: 1000},
		{Codec: "snappy"},
		{Codec: "lz4", BlockBytes: 1, IndexBlockBytes: 1},
	} {
		entries := randomEntries(rng, 1+rng.IntN(300), "ab\x00\xff", []string{"f", "ff", ""})
		file, _ := writeGroups(t, o, entries, [][]string{nil})
		readers, all = append(readers, open(t, file)), append(all, entries)
	}
	return readers, all
}

// TestCursorsReuse holds cursors that come out of a free list, with another file's memory, against a linear scan.
func TestCursorsReuse(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 3))
	var pool Cursors
	families := []tablet.Families{{}, tablet.OnlyFamilies([]byte("ff")), tablet.AllFamiliesBut([]byte("f"), []byte("x"))}
	for range 60 {
		readers, all := cursorFiles(t, rng, readBytes)
		cursors := make([]*Cursor, len(readers)) // several in use at a time
		for range 60 {
			i := rng.IntN(len(readers))
			if cursors[i] != nil && rng.IntN(4) == 0 {
				if err := errors.Join(cursors[i].Close(), cursors[i].Close()); err != nil {
					t.Fatal(err)
				}
				cursors[i] = nil
			}
			if cursors[i] == nil {
				cursors[i] = pool.Get(readers[i], readers[i].Groups()[0], CursorOptions{BatchEntries: 1 + rng.IntN(40)})
			}
			s := reseeker{t: t, name: readers[i].Name(), all: all[i], c: cursors[i]}
			r, _ := randomRange(rng, all[i], -1)
			s.check(r, families[rng.IntN(len(families))], rng.IntN(5)-1)
		}
		for _, c := range cursors {
			if c != nil {
				c.Close()
			}
		}
		if n := pool.Idle(); n < 1 || n > len(readers) {
			t.Fatalf("%d cursors at rest after at most %d in use", n, len(readers))
		}
	}
}

// TestCursorsLetGo: a cursor at rest holds no reader, and answers nothing.
func TestCursorsLetGo(t *testing.T) {
	var pool Cursors
	var gone []func() bool
	var last *Cursor
	func() {
		readers, _ := cursorFiles(t, rand.New(rand.NewPCG(1, 1)), func(t testing.TB, b []byte) *Reader { // no cleanup holds it
			r, err := openBytes(t, b)
			if err != nil {
				t.Fatal(err)
			}
			return r
		})
		var open []*Cursor
		for _, r := range readers {
			c := pool.Get(r, r.Groups()[0], CursorOptions{})
			if err := c.Seek(t.Context(), tablet.Range{}, tablet.Families{}); err != nil {
				t.Fatal(err)
			}
			if b, err := c.Next(t.Context()); b == nil || err != nil {
				t.Fatal(b, err)
			}
			p := weak.Make(r)
			gone = append(gone, func() bool { return p.Value() == nil })
			open = append(open, c)
		}
		for _, c := range open {
			c.Close()
			last = c
		}
		for _, r := range readers {
			r.Close()
		}
	}()
	runtime.GC()
	runtime.GC()
	for i, g := range gone {
		if !g() {
			t.Errorf("reader %d is still held", i)
		}
	}
	if err := last.Seek(context.Background(), tablet.Range{}, tablet.Families{}); !errors.Is(err, tablet.ErrClosed) {
		t.Errorf("seek at rest: %v", err)
	}
	if b, err := last.Next(context.Background()); b != nil || !errors.Is(err, tablet.ErrClosed) {
		t.Errorf("next at rest: %v, %v", b, err)
	}
	runtime.KeepAlive(&pool)
}

// TestCursorsTrim keeps as many as were in use at a time since the trim before, and no buffer that is far too large.
func TestCursorsTrim(t *testing.T) {
	readers, _ := cursorFiles(t, rand.New(rand.NewPCG(1, 1)), readBytes)
	var pool Cursors
	use := func(n int) {
		var open []*Cursor
		for range n {
			open = append(open, pool.Get(readers[0], readers[0].Groups()[0], CursorOptions{}))
		}
		for _, c := range open {
			c.Close()
		}
	}
	f := func(inUse, left int) {
		t.Helper()
		use(inUse)
		if pool.Trim(); pool.Idle() != left {
			t.Errorf("%d at rest, want %d", pool.Idle(), left)
		}
	}
	f(5, 5) // all were needed
	f(2, 2)
	f(0, 0)
	f(3, 3)
	large := tablet.Batch{Arena: make([]byte, longestKept+1), Refs: make([]tablet.EntryRef, 7)}
	if kept := keptBatch(&large); cap(kept.Arena) != 0 || cap(kept.Refs) != 7 || len(kept.Refs) != 0 {
		t.Errorf("%d bytes kept", cap(kept.Arena))
	}
}

// BenchmarkCursors is what a short read costs in one file: a cursor, a seek, a batch; new and out of a free list.
func BenchmarkCursors(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	entries := randomEntries(rng, 5000, "abcdefgh", []string{"f"})
	file, _ := writeGroups(b, WriterOptions{Codec: "snappy", BlockBytes: 4096}, entries, [][]string{nil})
	r := readBytes(b, file)
	for name, pool := range map[string]*Cursors{"fresh": nil, "pooled": {}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				c := pool.Get(r, r.Groups()[0], CursorOptions{BatchEntries: 32})
				err := c.Seek(b.Context(), tablet.Range{}.WithStart(entries[i*31%len(entries)].Key), tablet.Families{})
				if batch, e := c.Next(b.Context()); e != nil || err != nil || batch == nil {
					b.Fatal(batch, e, err)
				}
				c.Close()
			}
		})
	}
}

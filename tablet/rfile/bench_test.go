package rfile

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"millrace/tablet"
)

// benchEntries is the size of the benchmarks' file.
const benchEntries = 1 << 20

// continuousIngest are the entries of the benchmarks, someIngest those of tests, which need few.
var (
	continuousIngest = sync.OnceValue(func() []tablet.Entry { return ingest(benchEntries) })
	someIngest       = sync.OnceValue(func() []tablet.Entry { return ingest(20000) })
)

// ingest makes sorted entries shaped like those of Accumulo's continuous ingest: random rows of 16 hex digits, families
// and qualifiers of 4, values of 79 bytes with half of it constant.
func ingest(n int) []tablet.Entry {
	rng := rand.New(rand.NewPCG(1, 2))
	all := make([]tablet.Entry, n)
	for i := range all {
		value := fmt.Appendf(nil, "0b0a3c52-6d1f-4a0e-9b51-2f6c3d7e8a90:%016x:%016x:%08x", i, rng.Uint64()>>1, rng.Uint32())
		all[i] = tablet.Entry{Value: value, Key: tablet.NewKey(tablet.Fields{
			Row: fmt.Appendf(nil, "%016x", rng.Uint64()>>1), Family: fmt.Appendf(nil, "%04x", rng.IntN(32767)),
			Qualifier: fmt.Appendf(nil, "%04x", rng.IntN(32767)), Timestamp: 1_700_000_000_000 + int64(i)/100,
		})}
	}
	sortEntries(all)
	return all
}

var benchFiles sync.Map // codec → file of continuousIngest

func benchFile(b *testing.B, codec string) *Reader {
	b.Helper()
	file, ok := benchFiles.Load(codec)
	if !ok {
		bytes, _ := writeGroups(b, WriterOptions{Codec: codec}, continuousIngest(), [][]string{nil})
		file, _ = benchFiles.LoadOrStore(codec, bytes)
	}
	return readBytes(b, file.([]byte))
}

var benchCodecs = []string{"none", "lz4", "snappy", "gz"}

func perEntry(b *testing.B, entries int) {
	b.ReportMetric(float64(entries)*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
}

// BenchmarkWrite writes a file entry by entry.
func BenchmarkWrite(b *testing.B) {
	all := continuousIngest()
	for _, codec := range benchCodecs {
		b.Run(codec, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w, err := NewWriter(discard{}, WriterOptions{Codec: codec})
				if err != nil {
					b.Fatal(err)
				}
				for i := range all {
					if err := w.Append(&all[i].Key, all[i].Value); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := w.Finish(); err != nil {
					b.Fatal(err)
				}
			}
			perEntry(b, len(all))
		})
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkRead reads a file from front to end.
func BenchmarkRead(b *testing.B) {
	for _, codec := range benchCodecs {
		b.Run(codec, func(b *testing.B) {
			r := benchFile(b, codec)
			c := r.Cursor(r.Groups()[0], CursorOptions{})
			b.ReportAllocs()
			for b.Loop() {
				if n := readAll(b, c); n != benchEntries {
					b.Fatal(n)
				}
			}
			perEntry(b, benchEntries)
		})
	}
}

func readAll(b *testing.B, c *Cursor) int {
	ctx, n := context.Background(), 0
	if err := c.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		b.Fatal(err)
	}
	for {
		batch, err := c.Next(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if batch == nil {
			return n
		}
		n += batch.Len()
	}
}

// BenchmarkCopy reads a file and writes its batches to another: a compaction without a merge.
func BenchmarkCopy(b *testing.B) {
	for _, codec := range benchCodecs {
		b.Run(codec, func(b *testing.B) {
			r := benchFile(b, codec)
			c := r.Cursor(r.Groups()[0], CursorOptions{})
			b.ReportAllocs()
			for b.Loop() {
				w, err := NewWriter(discard{}, WriterOptions{Codec: codec})
				if err != nil {
					b.Fatal(err)
				}
				if err := c.Seek(context.Background(), tablet.Range{}, tablet.Families{}); err != nil {
					b.Fatal(err)
				}
				for {
					batch, err := c.Next(context.Background())
					if err != nil {
						b.Fatal(err)
					}
					if batch == nil {
						break
					}
					if err := w.AppendRun(batch, batch.Codes[0], 0, batch.Len()); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := w.Finish(); err != nil {
					b.Fatal(err)
				}
			}
			perEntry(b, benchEntries)
		})
	}
}

// BenchmarkSeek looks up random existing cells on an open file. Without a cache one block is read and half of it passed
// over each time; with one the block is there, and its index is, or is not, grown.
func BenchmarkSeek(b *testing.B) {
	for _, codec := range benchCodecs {
		b.Run(codec, func(b *testing.B) { benchSeek(b, benchFile(b, codec), CursorOptions{BatchEntries: 1}, 0) })
	}
	b.Run("cached", func(b *testing.B) {
		o := CursorOptions{BatchEntries: 1, Cache: &mapCache{}}
		benchSeek(b, benchFile(b, "none"), o, 100*benchFile(b, "none").Groups()[0].Blocks)
	})
	b.Run("cached-noindex", func(b *testing.B) {
		o := CursorOptions{BatchEntries: 1, Cache: &mapCache{}, NoBlockIndex: true}
		benchSeek(b, benchFile(b, "none"), o, 2*benchFile(b, "none").Groups()[0].Blocks)
	})
	b.Run("near", func(b *testing.B) { // forward by a few entries each time
		benchSeekNear(b, benchFile(b, "lz4"))
	})
}

// benchSeek measures seeks to random cells, after some that are not measured.
func benchSeek(b *testing.B, r *Reader, o CursorOptions, warm int) {
	all := continuousIngest()
	c := r.Cursor(r.Groups()[0], o)
	rng := rand.New(rand.NewPCG(5, 5))
	for range warm {
		seekTo(b, c, &all[rng.IntN(len(all))])
	}
	b.ReportAllocs()
	for b.Loop() {
		seekTo(b, c, &all[rng.IntN(len(all))])
	}
}

func benchSeekNear(b *testing.B, r *Reader) {
	all := continuousIngest()
	c := r.Cursor(r.Groups()[0], CursorOptions{})
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if i += 10; i >= len(all) {
			i = 0
		}
		seekTo(b, c, &all[i])
	}
}

func seekTo(b *testing.B, c *Cursor, want *tablet.Entry) {
	ctx := context.Background()
	if err := c.Seek(ctx, tablet.Range{}.WithStart(want.Key), tablet.Families{}); err != nil {
		b.Fatal(err)
	}
	batch, err := c.Next(ctx)
	if err != nil || batch == nil || !bytes.Equal(batch.Value(0), want.Value) {
		b.Fatal("not found", err)
	}
}

// BenchmarkSkim passes over the entries of a block that is in memory.
func BenchmarkSkim(b *testing.B) {
	all := continuousIngest()[:1000]
	block := blockOf(all)
	bound := tablet.Bound{Key: tablet.RowKey([]byte("~")), Inclusive: true}
	t := targetOf(&bound)
	var s skim
	b.ReportAllocs()
	for b.Loop() {
		s.open(block, len(all))
		if before, err := s.first(&t); !before || err != nil {
			b.Fatal(err)
		}
		if found, err := s.to(&t); found || err != nil {
			b.Fatal(err)
		}
	}
	perEntry(b, len(all))
}

// blockOf encodes entries as a data block.
func blockOf(all []tablet.Entry) []byte {
	block := appendFirst(nil, all[0].Key, all[0].Value)
	for i := 1; i < len(all); i++ {
		block = appendRelative(block, &all[i-1].Key, &all[i].Key, 0, 0, all[i].Value)
	}
	return block
}

// BenchmarkDecode decodes blocks that are in memory, without container or codec.
func BenchmarkDecode(b *testing.B) {
	all := continuousIngest()[:1000]
	block := blockOf(all)
	batch := &tablet.Batch{}
	d := decoder{batch: batch}
	b.ReportAllocs()
	for b.Loop() {
		d.startBlock(block, len(all))
		d.forget()
		for d.left > 0 {
			d.startBatch()
			if err := d.fill(250); err != nil {
				b.Fatal(err)
			}
		}
	}
	perEntry(b, len(all))
}

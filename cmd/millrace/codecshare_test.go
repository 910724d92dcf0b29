package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"millrace/internal/clock"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/rfile"
	"millrace/tablet/rfile/bcfile"
)

var (
	shareMB  = flag.Int("mb", 64, "MB of the file of BenchmarkCodecShare, before compression")
	shareDir = flag.String("dir", "/dev/shm", "directory for the outputs of BenchmarkCodecShare; the default is memory, so that no disk is measured")
	shareIn  = flag.String("in", "", "directory for its inputs, which are read out of the system's cache; the default is that of temporary files")
)

// BenchmarkCodecShare holds commands on a file of continuous ingest against what its codec alone costs on the same
// blocks. In each round the codec runs first, in one goroutine: it decompresses all data blocks, one after another, out
// of memory, and for convert and compact compresses each again. Then the command runs on the file. ratio is the
// command's time by the codec's, the median of all rounds; ratio-min and ratio-max are its spread, cpu-ratio is the same
// of processor time. The codec none costs nothing, so that there is nothing to hold a command against; what is compared is
// one copy of the blocks, or two.
//
// An input lies in the system's cache of a file system on a disk, as a file does that was just written. One in memory
// (-in /dev/shm) is read page by page, which on Linux takes up to three times the processor time; that is most where the
// codec takes least.
//
//	go test -run xxx -bench CodecShare -benchtime 7x ./cmd/millrace -args -mb 1024
func BenchmarkCodecShare(b *testing.B) {
	for _, codec := range []string{"gz", "snappy", "lz4", "none"} {
		b.Run(codec, func(b *testing.B) {
			s := newCodecShare(b, codec)
			b.Run("verify", func(b *testing.B) { s.measure(b, false, "verify", "--deep", s.in) })
			b.Run("convert", func(b *testing.B) { s.measure(b, true, "convert", "--force", s.out, s.in) })
			b.Run("compact", func(b *testing.B) { s.measure(b, true, "compact", "--force", s.out, s.in) })
		})
	}
}

// codecShare is a file of one codec, its data blocks in memory, and the codec.
type codecShare struct {
	in, out string
	bytes   int64 // of the data blocks, raw
	entries int64
	regions []bcfile.Region
	stored  []byte // the file
	codec   string
	comp    bcfile.Compressor
	dec     bcfile.Decompressor
	raw     []byte
	again   []byte
}

func newCodecShare(b *testing.B, codec string) *codecShare {
	b.Helper()
	s := &codecShare{codec: codec}
	s.in, s.out = filepath.Join(shareTemp(b, *shareIn), "in.rf"), filepath.Join(shareTemp(b, *shareDir), "out.rf")
	s.write(b)
	s.load(b)
	var err error
	if s.comp, err = bcfile.NewCompressor(codec, 0); err != nil {
		b.Fatal(err)
	}
	if s.dec, err = bcfile.NewDecompressor(codec); err != nil {
		b.Fatal(err)
	}
	return s
}

// shareTemp makes a directory of the benchmark's own in another, or where temporary files are if there is no such.
func shareTemp(b *testing.B, in string) string {
	b.Helper()
	if _, err := os.Stat(in); err != nil {
		return b.TempDir()
	}
	dir, err := os.MkdirTemp(in, "codecshare")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// write makes the file, and has it on the disk before anything is measured: rows of 16 hex digits, ascending by random steps, random families and qualifiers of 4, values of
// 79 bytes, half of them constant.
func (s *codecShare) write(b *testing.B) {
	b.Helper()
	f, err := os.Create(s.in)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	w, err := rfile.NewWriter(f, rfile.WriterOptions{Codec: s.codec})
	if err != nil {
		b.Fatal(err)
	}
	const entryBytes = 114 // encoded, on average
	n := *shareMB << 20 / entryBytes
	step := uint64(1<<63) / uint64(n)
	rng := rand.New(rand.NewPCG(1, 2))
	var row, column, value []byte
	for i := range n {
		row = fmt.Appendf(row[:0], "%016x", uint64(i)*step+rng.Uint64N(step))
		column = fmt.Appendf(column[:0], "%04x%04x", rng.IntN(32767), rng.IntN(32767))
		value = fmt.Appendf(value[:0], "0b0a3c52-6d1f-4a0e-9b51-2f6c3d7e8a90:%016x:%016x:%08x", i, rng.Uint64()>>1, rng.Uint32())
		k := tablet.NewKey(tablet.Fields{Row: row, Family: column[:4], Qualifier: column[4:], Timestamp: 1_700_000_000_000 + rng.Int64N(1<<20)})
		if err := w.Append(&k, value); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := w.Finish(); err != nil {
		b.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	s.entries = int64(n)
}

// load reads the file into memory and finds its data blocks.
func (s *codecShare) load(b *testing.B) {
	b.Helper()
	var err error
	if s.stored, err = os.ReadFile(s.in); err != nil {
		b.Fatal(err)
	}
	f, err := vfs.OpenPath(s.in)
	if err != nil {
		b.Fatal(err)
	}
	r, err := rfile.Open(f, rfile.ReaderOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	err = r.Walk(context.Background(), r.Groups()[0], rfile.Visitor{Leaf: func(l rfile.LeafInfo) error {
		s.regions = append(s.regions, l.Region)
		s.bytes += l.Region.Raw
		return nil
	}})
	if err != nil {
		b.Fatal(err)
	}
}

// alone runs the codec on all blocks.
func (s *codecShare) alone(b *testing.B, compress bool) {
	for _, r := range s.regions {
		var err error
		if s.raw, err = s.dec.Decompress(s.raw[:0], s.stored[r.Offset:r.End()], int(r.Raw)); err != nil {
			b.Fatal(err)
		}
		if !compress {
			continue
		}
		if s.again, err = s.comp.Compress(s.again[:0], s.raw); err != nil {
			b.Fatal(err)
		}
	}
}

func (s *codecShare) command(b *testing.B, args []string) {
	var stderr strings.Builder
	if code := run(context.Background(), append([]string{"rfile"}, args...), strings.NewReader(""), io.Discard, &stderr); code != 0 {
		b.Fatalf("exit %d: %s", code, stderr.String())
	}
}

// measure alternates the codec and a command.
func (s *codecShare) measure(b *testing.B, compress bool, args ...string) {
	var wall, cpu, alone, whole []float64
	s.alone(b, compress)
	s.command(b, args)
	for b.Loop() {
		codec, codecCPU := timed(func() { s.alone(b, compress) })
		all, allCPU := timed(func() { s.command(b, args) })
		wall, cpu = append(wall, all/codec), append(cpu, allCPU/codecCPU)
		alone, whole = append(alone, codec), append(whole, all)
	}
	mb := float64(s.bytes) / (1 << 20)
	b.ReportMetric(median(wall), "ratio")
	b.ReportMetric(slices.Min(wall), "ratio-min")
	b.ReportMetric(slices.Max(wall), "ratio-max")
	b.ReportMetric(median(cpu), "cpu-ratio")
	b.ReportMetric(mb/median(alone), "codec-MB/s")
	b.ReportMetric(mb/median(whole), "MB/s")
	b.ReportMetric(1e9*median(whole)/float64(s.entries), "ns/entry")
	b.ReportMetric(0, "ns/op") // of both together, which says nothing
}

func timed(f func()) (wall, cpu float64) {
	runtime.GC() // what the other left behind
	c := clock.Real{}
	at, used := c.Now(), clock.ProcessCPU()
	f()
	return clock.Since(c, at).Seconds(), (clock.ProcessCPU() - used).Seconds()
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[len(v)/2] + v[(len(v)-1)/2]) / 2
}

package job

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"millrace/internal/clock"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/rfile"
	"millrace/tablet/rfile/bcfile"
)

var benchCodecs = []string{"none", "lz4", "snappy", "gz"}

// BenchmarkCompaction is one full compaction of real files of continuous ingest, which overlap everywhere, on one
// processor:
//
//	go test ./compactor/job -run xxx -bench Compaction -benchtime 1x -cpu 1 -args -entries 10000000
//
// With each codec, beside what it takes: the processor time of the codec alone on the same blocks, read and written; the
// rate that codec none's time and this would give; and the ratio, which must be 0.9 at least. Files of other codecs and block
// sizes and merges of other modes must give the same bytes. Then the cost of an entry at a tenth of the entries, which must
// be no less than 10/11 of it, and with more sources.
func BenchmarkCompaction(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	dir := benchDir(b)
	plain := time.Duration(0) // with codec none, a thousand entries
	for _, codec := range benchCodecs {
		b.Run(codec, func(b *testing.B) {
			c := &benchCompaction{fs: dir, codec: codec, inputs: writeInputs(b, dir, codec, *benchEntries, benchFiles)}
			spent := c.measure(b)
			if codec == "none" {
				plain = spent
			} else if plain > 0 {
				c.compareWithCodec(b, plain, spent)
			}
		})
	}
	b.Run("same", func(b *testing.B) { compactAllWays(b, dir) })
	b.Run("tenth", func(b *testing.B) { compactTenth(b, plain) })
	for _, sources := range []int{16, 64, 255, 300} {
		b.Run(fmt.Sprintf("sources=%d", sources), func(b *testing.B) { compactMany(b, *benchEntries/10, sources) })
	}
}

// ingestFiles makes the entries of one file after another, so that those of one alone are in memory.
func ingestFiles(entries, files int) func(func(int, []tablet.Entry) bool) {
	return func(yield func(int, []tablet.Entry) bool) {
		for i := range files {
			r := rand.New(rand.NewPCG(uint64(entries), uint64(i)))
			if !yield(i, ingest(r, (entries+i)/files, 1)[0]) {
				return
			}
		}
	}
}

// benchCompaction compacts some files to one again and again.
type benchCompaction struct {
	fs      vfs.FS
	codec   string
	mode    iter.Mode
	inputs  []Input
	entries int64
	meta    tablet.FileMeta
	heap    uint64        // most bytes in use
	wall    time.Duration // of the last run
	recode  bool
	passed  int64
}

// measure reports what a compaction takes, and returns the processor's time for an entry, the least of all turns.
func (c *benchCompaction) measure(b *testing.B) (least time.Duration) {
	var best, wall time.Duration
	var mallocs uint64
	for b.Loop() {
		spent, allocs := c.run(b)
		if best == 0 || spent < best {
			best = spent
		}
		if wall == 0 || c.wall < wall {
			wall = c.wall
		}
		mallocs = allocs
	}
	least = best / time.Duration(max(c.entries/1000, 1)) // of a thousand entries, for the digits
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(c.entries)/wall.Seconds(), "entries/s")
	b.ReportMetric(micros(least), "cpu-µs/entry")
	b.ReportMetric(float64(mallocs)/float64(c.entries), "allocs/entry")
	b.ReportMetric(float64(c.heap)/(1<<20), "heap-MiB")
	return least
}

// micros is the time of one entry in µs, given that of a thousand.
func micros(ofThousand time.Duration) float64 { return ofThousand.Seconds() * 1e6 / 1000 }

// run compacts once.
func (c *benchCompaction) run(b *testing.B) (spent time.Duration, allocs uint64) {
	if err := c.fs.Remove("out"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.Fatal(err)
	}
	j, err := New(Spec{Inputs: c.inputs, Mode: c.mode, Full: true, MaxVersions: 1, Recode: c.recode,
		Writer: rfile.WriterOptions{Codec: c.codec, FileID: [16]byte{1}},
		Create: func() (vfs.File, error) { return c.fs.Create("out") },
		Remove: func() error { return c.fs.Remove("out") },
	}, nil)
	if err != nil {
		b.Fatal(err)
	}
	debug.FreeOSMemory()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, start := time.Now(), clock.ProcessCPU()
	for done := false; !done; {
		if done, err = j.Step(ctx, 4096); err != nil {
			b.Fatal(err)
		}
		c.heap = max(c.heap, heapBytes())
	}
	spent, c.wall = clock.ProcessCPU()-start, time.Since(began)
	runtime.ReadMemStats(&after)
	c.meta, _ = j.Result()
	c.entries, c.passed = c.meta.Entries, j.Passed()
	return spent, after.Mallocs - before.Mallocs
}

var heapSample = []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}

func heapBytes() uint64 {
	metrics.Read(heapSample)
	return heapSample[0].Value.Uint64()
}

// compareWithCodec holds a compaction against one without a codec and the codec alone. Times are those of a thousand entries.
func (c *benchCompaction) compareWithCodec(b *testing.B, plain, spent time.Duration) {
	alone := time.Duration(0)
	for _, in := range c.inputs {
		alone += codecTime(b, c.codec, in.(fileInput).r, false)
	}
	out := openBenchFile(b, c.fs, "out")
	alone += codecTime(b, c.codec, out, true)
	alone /= time.Duration(max(c.entries/1000, 1))
	ratio := float64(plain+alone) / float64(spent)
	b.ReportMetric(micros(alone), "codec-µs/entry")
	b.ReportMetric(1e6/micros(plain+alone), "predicted/cpu-s")
	b.ReportMetric(1e6/micros(spent), "entries/cpu-s")
	b.ReportMetric(ratio, "of-predicted")
	if ratio < 0.9 {
		b.Errorf("%s: %.2f of the rate predicted", c.codec, ratio)
	}
}

// codecTime is the processor time of decompressing a file's blocks, or else of compressing them again.
func codecTime(b *testing.B, codec string, r *rfile.Reader, compress bool) (spent time.Duration) {
	press, err := bcfile.NewCompressor(codec, 0)
	if err != nil {
		b.Fatal(err)
	}
	open, err := bcfile.NewDecompressor(codec)
	if err != nil {
		b.Fatal(err)
	}
	blocks := r.Container().NewBlockReader()
	var raw, stored []byte
	visit := func(l rfile.LeafInfo) error {
		in, err := blocks.ReadStored(l.Region)
		if err != nil {
			return err
		}
		start := clock.ProcessCPU()
		raw, err = open.Decompress(raw[:0], in, int(l.Region.Raw))
		if compress && err == nil {
			start = clock.ProcessCPU()
			stored, err = press.Compress(stored[:0], raw)
		}
		spent += clock.ProcessCPU() - start
		return err
	}
	for _, g := range r.Groups() {
		if err := r.Walk(ctx, g, rfile.Visitor{Leaf: visit}); err != nil {
			b.Fatal(err)
		}
	}
	return spent
}

// compactAllWays wants the same file of each mode, and of inputs of another codec and block size.
func compactAllWays(b *testing.B, dir vfs.FS) {
	var want tablet.FileMeta
	for b.Loop() {
		for _, codec := range []string{"none", "snappy", "other"} {
			for _, mode := range iter.Modes() {
				if codec != "none" && mode != iter.Tree {
					continue
				}
				c := &benchCompaction{fs: dir, codec: "none", mode: mode, inputs: writeInputs(b, dir, codec, *benchEntries, benchFiles)}
				c.run(b)
				if want.Entries == 0 {
					want = c.meta
				}
				if c.meta.CRC != want.CRC || c.meta.Bytes != want.Bytes || c.meta.Entries != want.Entries {
					b.Errorf("from codec %s by mode %v: %+v; by the first: %+v", codec, mode, c.meta, want)
				}
			}
		}
	}
}

// compactTenth compacts a tenth of the entries.
func compactTenth(b *testing.B, whole time.Duration) {
	dir := benchDir(b)
	c := &benchCompaction{fs: dir, codec: "none", inputs: writeInputs(b, dir, "none", *benchEntries/10, benchFiles)}
	tenth := c.measure(b)
	if whole == 0 {
		return
	}
	growth := float64(whole) / float64(tenth)
	b.ReportMetric(growth, "times-for-10x")
	if growth > 1.1 {
		b.Errorf("an entry of ten times as many costs %.2f times as much", growth)
	}
}

// compactMany compacts files of a few entries, all at once.
func compactMany(b *testing.B, n, sources int) {
	dir := benchDir(b)
	c := &benchCompaction{fs: dir, codec: "none", inputs: writeInputs(b, dir, "none", n, sources)}
	c.measure(b)
	if c.entries != int64(n) {
		b.Errorf("%d entries of %d", c.entries, n)
	}
}

// writeInputs opens files of entries in all, written with a codec, and writes them if they are not there. The codec "other"
// stands for another one and another block size.
func writeInputs(b *testing.B, dir vfs.FS, codec string, entries, files int) (inputs []Input) {
	name := func(i int) string { return fmt.Sprintf("%s%d.rf", codec, i) }
	o := rfile.WriterOptions{Codec: codec}
	if codec == "other" {
		o = rfile.WriterOptions{Codec: "snappy", BlockBytes: 40_000}
	}
	if _, err := dir.Stat(name(0)); err != nil {
		for i, entries := range ingestFiles(entries, files) {
			writeBenchFile(b, dir, name(i), entries, o)
		}
	}
	for i := range files {
		inputs = append(inputs, File(openBenchFile(b, dir, name(i))))
	}
	return inputs
}

func benchDir(b *testing.B) vfs.FS {
	dir, err := vfs.Dir(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	return dir
}

func writeBenchFile(b *testing.B, dir vfs.FS, name string, entries []tablet.Entry, o rfile.WriterOptions) {
	f, err := dir.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	w, err := rfile.NewWriter(f, o)
	if err != nil {
		b.Fatal(err)
	}
	for i := range entries {
		if err := w.Append(&entries[i].Key, entries[i].Value); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := w.Finish(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

func openBenchFile(b *testing.B, dir vfs.FS, name string) *rfile.Reader {
	f, err := dir.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	r, err := rfile.Open(f, rfile.ReaderOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { r.Close() })
	return r
}

package job

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"millrace/internal/clock"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/rfile"
)

var benchEntries = flag.Int("entries", 100_000, "entries of BenchmarkCompact, in all ten files")

const benchFiles = 10

// BenchmarkCompact is one full compaction of ten files of continuous ingest to one, on one processor. Try
//
//	go test ./compactor/job -run xxx -bench Compact -benchtime 1x -args -entries 1000000
func BenchmarkCompact(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	files := ingest(rand.New(rand.NewPCG(1, 2)), *benchEntries, benchFiles)
	for _, codec := range []string{"none", "lz4", "snappy", "gz"} {
		mem := vfs.Mem()
		inputs := writeBench(b, mem, codec, files)
		for _, mode := range []iter.Mode{iter.Old, iter.New, iter.Tree} {
			b.Run(fmt.Sprintf("%s/%v", codec, mode), func(b *testing.B) {
				benchmarkCompact(b, mem, inputs, Spec{Mode: mode, Full: true, MaxVersions: 1, Writer: rfile.WriterOptions{Codec: codec}})
			})
		}
	}
}

func benchmarkCompact(b *testing.B, mem vfs.FS, inputs []Input, spec Spec) {
	spec.Inputs = inputs
	spec.Create = func() (vfs.File, error) { return mem.Create("out") }
	spec.Remove = func() error { return mem.Remove("out") }
	pool := iter.NewPool()
	var stats iter.Stats
	b.ReportAllocs()
	cpu := clock.ProcessCPU()
	for b.Loop() {
		j, err := New(spec, pool)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := run(j, 4096); err != nil {
			b.Fatal(err)
		}
		meta, _ := j.Result()
		if meta.Entries != int64(*benchEntries) {
			b.Fatalf("%d entries", meta.Entries)
		}
		stats = j.Stats()
		if err := mem.Remove("out"); err != nil {
			b.Fatal(err)
		}
	}
	cpu = clock.ProcessCPU() - cpu
	entries := float64(*benchEntries)
	b.ReportMetric(entries*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
	b.ReportMetric(entries*float64(b.N)/cpu.Seconds(), "entries/cpu-s")
	b.ReportMetric(float64(stats.Comparisons)/entries, "compares/entry")
}

func writeBench(b *testing.B, mem vfs.FS, codec string, files [][]tablet.Entry) []Input {
	var inputs []Input
	for i, entries := range files {
		name := fmt.Sprintf("in%d", i)
		f, err := mem.Create(name)
		if err != nil {
			b.Fatal(err)
		}
		w, err := rfile.NewWriter(f, rfile.WriterOptions{Codec: codec})
		if err != nil {
			b.Fatal(err)
		}
		for n := range entries {
			if err := w.Append(&entries[n].Key, entries[n].Value); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := w.Finish(); err != nil {
			b.Fatal(err)
		}
		f.Close()
		f, err = mem.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		r, err := rfile.Open(f, rfile.ReaderOptions{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { r.Close() })
		inputs = append(inputs, File(r))
	}
	return inputs
}

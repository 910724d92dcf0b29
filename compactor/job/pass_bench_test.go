package job

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/rfile"
)

// BenchmarkPass compacts files of which a share of the blocks overlaps nothing, with these blocks taken over as they are
// stored, and with every block compressed anew:
//
//	go test ./compactor/job -run xxx -bench Pass -benchtime 3x -cpu 1 -args -entries 1000000
//
// The times are the processor's; the least of all turns counts. With codec none nothing is taken over.
func BenchmarkPass(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	entries := ingest(rand.New(rand.NewPCG(1, 2)), *benchEntries, 1)[0]
	for _, codec := range []string{"none", "snappy", "gz"} {
		for _, free := range []int{0, 50, 90, 100} {
			b.Run(fmt.Sprintf("%s/free=%d%%", codec, free), func(b *testing.B) {
				dir := benchDir(b)
				var inputs []Input
				for i, entries := range dealtInPart(entries, 4, free) {
					name := fmt.Sprintf("%d.rf", i)
					writeBenchFile(b, dir, name, entries, rfile.WriterOptions{Codec: codec})
					inputs = append(inputs, File(openBenchFile(b, dir, name)))
				}
				benchmarkPass(b, dir, codec, inputs)
			})
		}
	}
}

func benchmarkPass(b *testing.B, dir vfs.FS, codec string, inputs []Input) {
	var least [2]time.Duration // taken over, compressed anew
	var passed int64
	var meta tablet.FileMeta
	for b.Loop() {
		for i, recode := range []bool{false, true} {
			c := &benchCompaction{fs: dir, codec: codec, inputs: inputs, recode: recode}
			if spent, _ := c.run(b); least[i] == 0 || spent < least[i] {
				least[i] = spent
			}
			if !recode {
				passed, meta = c.passed, c.meta
			}
		}
	}
	r := openBenchFile(b, dir, "out")
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(least[0].Seconds()*1e6/float64(meta.Entries), "cpu-µs/entry")
	b.ReportMetric(least[1].Seconds()*1e6/float64(meta.Entries), "recode-µs/entry")
	b.ReportMetric(float64(least[1])/float64(least[0]), "times")
	b.ReportMetric(100*float64(passed)/float64(r.Groups()[0].Blocks), "%passed")
	b.ReportMetric(float64(meta.Bytes)/least[0].Seconds()/1e6, "MB/cpu-s")
}

// dealtInPart deals sorted entries to files: free percent of each stretch of many blocks to one file, the rest of it one by
// one to all.
func dealtInPart(entries []tablet.Entry, files, free int) [][]tablet.Entry {
	const stretch = 100_000
	out := make([][]tablet.Entry, files)
	at := 0
	for part := range slices.Chunk(entries, stretch) {
		for i := range part {
			to := at % files
			if i >= len(part)*free/100 {
				to = i % files
			}
			out[to] = append(out[to], part[i])
		}
		at++
	}
	return out
}

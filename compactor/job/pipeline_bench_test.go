package job

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"millrace/internal/clock"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/rfile"
)

// pipelines are ways from decoded blocks through a merge to encoded blocks, slowest first. They write the same bytes.
var pipelines = []struct {
	name string
	mode iter.Mode
	// cursors keep the buffers that blocks are read and decoded into, from run to run; nil makes new ones each time.
	cursors *rfile.Cursors
	copy    func(m *iter.Merge, w *rfile.Writer) error
}{
	// Objects made for each entry, the heap before ACCUMULO-2827, keys compared to be encoded.
	{"A", iter.Old, nil, func(m *iter.Merge, w *rfile.Writer) error { return copyByEntry(m, w, true) }},
	// The same buffers again and again, from run to run too; the heap after it.
	{"B", iter.New, &rfile.Cursors{}, func(m *iter.Merge, w *rfile.Writer) error { return copyByEntry(m, w, false) }},
	// Columns and codes.
	{"C", iter.Tree, &rfile.Cursors{}, func(m *iter.Merge, w *rfile.Writer) error { return copyByRun(m, w, false) }},
	// And what is encoded already stays as it is.
	{"D", iter.Tree, &rfile.Cursors{}, func(m *iter.Merge, w *rfile.Writer) error { return copyByRun(m, w, true) }},
}

func copyByEntry(m *iter.Merge, w *rfile.Writer, fresh bool) error {
	e := iter.NewEntries(m)
	if err := e.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		return err
	}
	for {
		top, ok := e.Top()
		if !ok {
			return nil
		}
		if fresh {
			top = top.Clone()
		}
		if err := w.Append(&top.Key, top.Value); err != nil {
			return err
		}
		if err := e.Next(ctx); err != nil {
			return err
		}
	}
}

func copyByRun(m *iter.Merge, w *rfile.Writer, encoded bool) error {
	if err := m.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		return err
	}
	runs := make([]iter.Run, 128)
	for {
		n, err := m.Fill(ctx, runs)
		if n == 0 || err != nil {
			return err
		}
		for _, r := range runs[:n] {
			b := m.Batch(r.Src)
			if !encoded {
				b.Facts.Encoded = false
			}
			if err := w.AppendRun(b, r.Code, int(r.Lo), int(r.Hi)); err != nil {
				return err
			}
		}
	}
}

// BenchmarkPipeline merges 16 files without a codec, of which each supplies r entries before another takes over, and wants
// the last pipeline to be 2.5 times as fast as the first where r is 1, and 5 times from 16 on. All four decode whole batches,
// which is half of what the last does. They are measured in turns, on the processor's clock; the least of their times
// counts.
func BenchmarkPipeline(b *testing.B) {
	const files, turns = 16, 5
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, keys := range []string{"ci", "long"} {
		entries := pipelineEntries(rand.New(rand.NewPCG(1, 2)), keys, *benchEntries)
		for _, r := range []int{1, 2, 4, 16, 256} {
			b.Run(fmt.Sprintf("%s/r=%d", keys, r), func(b *testing.B) {
				inputs := writeBench(b, vfs.Mem(), "none", dealt(entries, files, r))
				spent := make([]time.Duration, len(pipelines))
				for b.Loop() {
					for range turns {
						for i := range pipelines {
							t := runPipeline(b, inputs, i, io.Discard)
							if spent[i] == 0 || t < spent[i] {
								spent[i] = t
							}
						}
					}
				}
				checkPipelines(b, inputs)
				b.ReportMetric(0, "ns/op")
				for i, p := range pipelines {
					b.ReportMetric(float64(spent[i].Nanoseconds())/float64(len(entries)), p.name+"-ns/entry")
				}
				times := float64(spent[0]) / float64(spent[len(spent)-1])
				b.ReportMetric(times, "times")
				if want := map[bool]float64{true: 5, false: 2.5}[r >= 16]; times < want && (r == 1 || r >= 16) {
					b.Errorf("%.2f times as fast, want %.1f: %v", times, want, spent)
				}
			})
		}
	}
}

// runPipeline runs one of them, and returns the processor time it took.
func runPipeline(b *testing.B, inputs []Input, i int, to io.Writer) time.Duration {
	runtime.GC() // what the one before left is not this one's to clear away
	start := clock.ProcessCPU()
	w, err := rfile.NewWriter(to, rfile.WriterOptions{Codec: "none", FileID: [16]byte{1}})
	if err != nil {
		b.Fatal(err)
	}
	var sources []iter.Source
	for _, in := range inputs {
		file := in.(fileInput)
		file.cursors = pipelines[i].cursors
		sources = append(sources, sourcesOf(file, tablet.Families{}, batchEntries(len(inputs)))...)
	}
	m := iter.NewMerge(pipelines[i].mode, sources)
	if err := pipelines[i].copy(m, w); err != nil {
		b.Fatal(err)
	}
	if err := m.Close(); err != nil {
		b.Fatal(err)
	}
	if _, err := w.Finish(); err != nil {
		b.Fatal(err)
	}
	return clock.ProcessCPU() - start
}

func checkPipelines(b *testing.B, inputs []Input) {
	var sums [][]byte
	for i := range pipelines {
		h := sha256.New()
		runPipeline(b, inputs, i, h)
		sums = append(sums, h.Sum(nil))
		if !slices.Equal(sums[0], sums[i]) {
			b.Errorf("%s and %s wrote different bytes", pipelines[0].name, pipelines[i].name)
		}
	}
}

// pipelineEntries makes sorted entries: of the continuous ingest, or of long rows that share most of their bytes.
func pipelineEntries(r *rand.Rand, keys string, n int) []tablet.Entry {
	if keys == "ci" {
		return ingest(r, n, 1)[0]
	}
	out := make([]tablet.Entry, n)
	for i := range out {
		row := fmt.Appendf(nil, "customer/%04d/%040d/", r.IntN(n/2048+1), 0)
		for length := 60 + r.IntN(41); len(row) < length; {
			row = append(row, "0123456789abcdef"[r.IntN(16)])
		}
		out[i].Key = tablet.NewKey(tablet.Fields{Row: row, Family: []byte("attributes"), Qualifier: fmt.Appendf(nil, "column-%d", r.IntN(4)), Timestamp: int64(i)})
		out[i].Value = fmt.Appendf(nil, "%016x", r.Uint64())
	}
	slices.SortFunc(out, func(a, b tablet.Entry) int { return tablet.Compare(&a.Key, &b.Key) })
	return out
}

// dealt deals sorted entries in stretches, to another file each time.
func dealt(entries []tablet.Entry, files, stretch int) [][]tablet.Entry {
	r := rand.New(rand.NewPCG(uint64(files), uint64(stretch)))
	out := make([][]tablet.Entry, files)
	to := 0
	for at := 0; at < len(entries); at += stretch {
		to = (to + 1 + r.IntN(files-1)) % files
		out[to] = append(out[to], entries[at:min(at+stretch, len(entries))]...)
	}
	return out
}

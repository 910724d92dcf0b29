package actors_test

import (
	"context"
	"runtime"
	"testing"

	"millrace/actors"
	"millrace/tablet/locate"
	"millrace/writer"
)

// TestWriterHeapIsFlat is a short run of BenchmarkWriterFlat.
func TestWriterHeapIsFlat(t *testing.T) {
	n := 3_000_000
	if testing.Short() || raceEnabled {
		n = 300_000
	}
	writeFlat(t, n)
}

// BenchmarkWriterFlat adds mutations without end to one writer, whose memory in use must not grow. An operation is one
// mutation: -benchtime 100000000x is a hundred million.
func BenchmarkWriterFlat(b *testing.B) {
	b.ReportAllocs()
	first, last := writeFlat(b, b.N)
	b.ReportMetric(float64(first)/(1<<20), "first-heap-MiB")
	b.ReportMetric(float64(last)/(1<<20), "last-heap-MiB")
}

// writeFlat adds n mutations and looks at the heap ten times; it is an error if it grows by more than 128 KiB, or a mailbox over
// its bound.
func writeFlat(tb testing.TB, n int) (first, last uint64) {
	const rows, memory, slack = 10_000, 1 << 20, 128 << 10
	mutations := ticketMutations(rows)
	rt := newRuntime(tb)
	w, err := actors.NewWriter(rt, writer.Discard{Tablets: locate.FromSplits(1, "t", splitAt(rows, 1000))}, writer.Options{MemoryBytes: memory})
	if err != nil {
		tb.Fatal(err)
	}
	inUse := func() uint64 {
		if err := w.Flush(context.Background()); err != nil {
			tb.Fatal(err)
		}
		runtime.GC()
		runtime.GC() // what pools let go of at the first
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const looks = 10
	for look := range looks {
		for i := range n / looks {
			if err := w.Add(context.Background(), mutations[i%rows]); err != nil {
				tb.Fatal(err)
			}
		}
		last = inUse()
		if look == 0 {
			first = last
		}
	}
	if last > first+slack { // less is what was there before
		tb.Errorf("%d bytes in use at first and %d at last", first, last)
	}
	if over := rt.Overfilled(); len(over) > 0 {
		tb.Errorf("mailboxes over their bounds: %v", over)
	}
	if err := w.Close(context.Background()); err != nil {
		tb.Fatal(err)
	}
	return first, last
}

package wal

import (
	"context"
	"fmt"
	"testing"
	"time"

	"millrace/internal/clock"
	"millrace/internal/vfs"
	"millrace/tablet"
)

func benchLog(b *testing.B, o Options) (*Log, vfs.FS) {
	b.Helper()
	fsys, err := vfs.Dir(b.TempDir())
	must(b, err)
	number := uint64(0)
	o.NextNumber = func() uint64 { number++; return number }
	log, err := New(fsys, o)
	must(b, err)
	return log, fsys
}

// batch is mutations as a generator of continuous ingest makes them: one update of a row, family, qualifier and 100 bytes
// of value or so.
func batch(n int) *Entry {
	e := &Entry{Tablet: 5, Session: 3, Timestamp: 1700000000000}
	for i := range n {
		m := tablet.NewMutation(fmt.Appendf(nil, "%016x", i*7919))
		m.Put([]byte("3f2a"), []byte("77b1"), nil, make([]byte, 100))
		e.Mutations = append(e.Mutations, m)
	}
	return e
}

// BenchmarkAppend takes entries of 256 mutations and commits every fourth; ns per mutation is the figure to look at.
func BenchmarkAppend(b *testing.B) {
	for _, level := range []tablet.Durability{tablet.DurabilityLog, tablet.DurabilitySync} {
		b.Run(level.String(), func(b *testing.B) {
			log, _ := benchLog(b, Options{MaxBytes: 256 << 20})
			e := batch(256)
			bytes := len(appendEntry(nil, e))
			b.SetBytes(int64(bytes))
			b.ReportAllocs()
			n := 0
			busy := clock.ProcessCPU()
			for b.Loop() {
				must(b, log.Append(e, level))
				if n++; n%4 == 0 {
					must(b, log.Commit(time.Time{}))
				}
				if n%4000 == 0 {
					log.Flushed(5, 3)
					_, err := log.Trim()
					must(b, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n)/256, "ns/mutation")
			b.ReportMetric(float64((clock.ProcessCPU()-busy).Nanoseconds())/float64(n)/256, "cpu-ns/mutation")
			must(b, log.Close(time.Time{}))
		})
	}
}

// BenchmarkEncode is what the log costs without a disk.
func BenchmarkEncode(b *testing.B) {
	e := batch(256)
	buf := appendEntry(nil, e)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		buf = appendEntry(buf[:0], e)
	}
}

// BenchmarkSync is a mutation of each of so many writers, which share a sync.
func BenchmarkSync(b *testing.B) {
	for _, writers := range []int{1, 16} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			log, _ := benchLog(b, Options{})
			e := batch(1)
			n := 0
			for b.Loop() {
				for range writers {
					must(b, log.Append(e, tablet.DurabilitySync))
				}
				must(b, log.Commit(time.Time{}))
				n += writers
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "mutations/s")
		})
	}
}

// BenchmarkReplay reads a log of a million mutations or so, all wanted.
func BenchmarkReplay(b *testing.B) {
	mem := vfs.Mem()
	number := uint64(0)
	log, err := New(mem, Options{NextNumber: func() uint64 { number++; return number }})
	must(b, err)
	e := batch(256)
	size := 0
	for range 400 {
		must(b, log.Append(e, tablet.DurabilitySync))
		must(b, log.Commit(time.Time{}))
		size += len(appendEntry(nil, e))
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		r, err := Replay(context.Background(), mem, []uint64{1}, func(uint64) (uint64, bool) { return 0, true }, func(*Entry) error { return nil })
		if err != nil || r.Mutations != 400*256 {
			b.Fatal(r.Mutations, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/400/256, "ns/mutation")
}

package actors_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"millrace/actors"
	"millrace/internal/clock"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/locate"
	"millrace/writer"
)

// ticketMutations are shaped like those of the experiment in ACCUMULO-1755: one update, about 32 bytes.
func ticketMutations(n int) []*tablet.Mutation {
	rng := rand.New(rand.NewPCG(1, 2))
	all := make([]*tablet.Mutation, n)
	for i, row := range rng.Perm(n) {
		m := tablet.NewMutation(fmt.Appendf(nil, "%010d", row))
		m.Put([]byte("fam"), []byte("q"), nil, fmt.Appendf(nil, "%010d", i))
		all[i] = m
	}
	return all
}

// splitAt cuts rows of ticketMutations evenly.
func splitAt(rows, tablets int) (splits [][]byte) {
	for i := 1; i < tablets; i++ {
		splits = append(splits, fmt.Appendf(nil, "%010d", rows/tablets*i))
	}
	return splits
}

// addAll adds from several goroutines and closes the writer.
func addAll(tb testing.TB, w *writer.BatchWriter, mutations []*tablet.Mutation, threads int) {
	var wg sync.WaitGroup
	part := (len(mutations) + threads - 1) / threads
	for p := range slices.Chunk(mutations, part) {
		wg.Go(func() {
			for _, m := range p {
				if err := w.Add(context.Background(), m); err != nil {
					tb.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := w.Close(context.Background()); err != nil {
		tb.Error(err)
	}
}

// BenchmarkWriter is the writer alone: what it writes to costs nothing. An operation is one mutation.
func BenchmarkWriter(b *testing.B) {
	const n = 400_000
	mutations := ticketMutations(n)
	rt := newRuntime(b)
	for _, tablets := range []int{8, 10_000} {
		d := writer.Discard{Tablets: locate.FromSplits(1, "t", splitAt(n, tablets))}
		for _, memory := range []int64{1 << 20, 10 << 20, 100 << 20} {
			for _, threads := range []int{1, 8} {
				for _, v := range writer.Variants {
					b.Run(fmt.Sprintf("tablets=%d/memory=%dM/threads=%d/%v", tablets, memory>>20, threads, v), func(b *testing.B) {
						b.ReportAllocs()
						var s writer.Stats
						cpu := clock.ProcessCPU()
						for done := 0; done < b.N; done += n {
							w, err := actors.NewWriter(rt, d, writer.Options{MemoryBytes: memory, Variant: v})
							if err != nil {
								b.Fatal(err)
							}
							addAll(b, w, mutations[:min(n, b.N-done)], threads)
							s = w.Stats()
						}
						b.ReportMetric(float64((clock.ProcessCPU()-cpu).Nanoseconds())/float64(b.N), "cpu-ns/op")
						b.ReportMetric(float64(s.Sets), "sets")
						b.ReportMetric(float64(s.Binning.Nanoseconds())/float64(s.Mutations), "bin-ns/op")
						b.ReportMetric(float64(s.LongestAdd.Microseconds()), "longest-µs")
						b.ReportMetric(float64(s.BinningWaits), "waits")
					})
				}
			}
		}
	}
}

// BenchmarkWriterStore is all the way into memtables of 8 tablets, logged at durability log. An operation is one mutation.
func BenchmarkWriterStore(b *testing.B) {
	const n = 400_000
	mutations := ticketMutations(n)
	for _, memory := range []int64{1 << 20, 10 << 20, 100 << 20} {
		for _, threads := range []int{1, 4} {
			for _, v := range []writer.Variant{writer.Actors, writer.Locked} {
				b.Run(fmt.Sprintf("memory=%dM/threads=%d/%v", memory>>20, threads, v), func(b *testing.B) {
					s, err := actors.Open(b.Context(), "", actors.WithFS(vfs.Mem()), actors.WithProperties(map[string]string{"tserver.memory.maps.max": "1G"}))
					if err != nil {
						b.Fatal(err)
					}
					defer s.Close(b.Context())
					b.ReportAllocs()
					b.ResetTimer()
					var cpu time.Duration
					var st writer.Stats
					for done := 0; done < b.N; done += n {
						b.StopTimer()
						table := fmt.Sprint("t", done)
						if err := s.CreateTable(b.Context(), table, splitAt(n, 8), map[string]string{"table.durability": "log"}); err != nil {
							b.Fatal(err)
						}
						cpu -= clock.ProcessCPU()
						b.StartTimer()
						w, err := s.NewWriter(table, writer.Options{MemoryBytes: memory, Variant: v})
						if err != nil {
							b.Fatal(err)
						}
						addAll(b, w, mutations[:min(n, b.N-done)], threads)
						cpu += clock.ProcessCPU()
						st = w.Stats()
					}
					b.ReportMetric(float64(st.MemoryWaits), "memory-waits")
					b.ReportMetric(float64(st.Sets), "sets")
					b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N), "cpu-ns/op")
				})
			}
		}
	}
}

func newRuntime(tb testing.TB) *actors.Runtime {
	rt, err := actors.NewRuntime(actors.RuntimeOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := rt.Close(ctx); err != nil {
			tb.Error(err)
		}
	})
	return rt
}

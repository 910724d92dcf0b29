package actors_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"millrace/actors"
	"millrace/internal/clock"
	"millrace/tablet"
	"millrace/writer"
)

// BenchmarkApplyLog is the whole way of a million mutations at level log into eight tablets on a real disk: through a batch
// writer of so much memory, and as batches of 1024 of which as many are on their way. Making the mutations is not part of it.
func BenchmarkApplyLog(b *testing.B) {
	for _, way := range []struct {
		name  string
		apply func(b *testing.B, s *actors.Store, ms []*tablet.Mutation, memory int)
	}{{"writer", applyByWriter}, {"batches", applyBatches}} {
		for _, memory := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("%s/%dM", way.name, memory), func(b *testing.B) {
				benchmarkApplyLog(b, func(s *actors.Store, ms []*tablet.Mutation) { way.apply(b, s, ms, memory<<20) })
			})
		}
	}
}

func benchmarkApplyLog(b *testing.B, apply func(s *actors.Store, ms []*tablet.Mutation)) {
	const n = 1_000_000
	ms := ticketMutations(n)
	var took, cpu time.Duration
	var allocs, bytes uint64
	for range b.N {
		s := benchEighths(b, n)
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began, busy := time.Now(), clock.ProcessCPU()
		apply(s, ms)
		took += time.Since(began)
		cpu += clock.ProcessCPU() - busy
		runtime.ReadMemStats(&after)
		allocs += after.Mallocs - before.Mallocs
		bytes += after.TotalAlloc - before.TotalAlloc
		if err := s.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	per := float64(n * b.N)
	b.ReportMetric(float64(took.Nanoseconds())/per, "ns/mutation")
	b.ReportMetric(float64(cpu.Nanoseconds())/per, "cpu-ns/mutation")
	b.ReportMetric(float64(allocs)/per, "allocs/mutation")
	b.ReportMetric(float64(bytes)/per, "B/mutation")
}

func applyByWriter(b *testing.B, s *actors.Store, ms []*tablet.Mutation, memory int) {
	w, err := s.NewWriter("ci", writer.Options{MemoryBytes: int64(memory)})
	if err != nil {
		b.Fatal(err)
	}
	addAll(b, w, ms, 1)
}

func benchEighths(b *testing.B, rows int) *actors.Store {
	s, err := actors.Open(context.Background(), b.TempDir(), actors.WithProperties(map[string]string{"tserver.memory.maps.max": "1G"}))
	if err != nil {
		b.Fatal(err)
	}
	if err := s.CreateTable(context.Background(), "ci", splitAt(rows, 8), map[string]string{"table.durability": "log"}); err != nil {
		b.Fatal(err)
	}
	return s
}

func applyBatches(b *testing.B, s *actors.Store, ms []*tablet.Mutation, memory int) {
	const batch = 1024
	window := max(2, memory/(ms[0].EstimatedMemory()*batch))
	var acks []*actors.Ack
	wait := func() {
		if err := acks[0].Wait(context.Background()); err != nil {
			b.Fatal(err)
		}
		acks = acks[1:]
	}
	for part := range slices.Chunk(ms, batch) {
		for len(acks) >= window {
			wait()
		}
		ack, err := s.ApplyAsync(context.Background(), "ci", part)
		if err != nil {
			b.Fatal(err)
		}
		acks = append(acks, ack)
	}
	for len(acks) > 0 {
		wait()
	}
}

package actors_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"millrace/actors"
	"millrace/internal/clock"
	"millrace/tablet"
)

// BenchmarkApplyLog is the whole way of a million mutations at level log into eight tablets on a real disk, by a writer who
// has at most so many bytes of them on their way. Making the mutations is not part of it.
func BenchmarkApplyLog(b *testing.B) {
	for _, buffer := range []struct {
		name  string
		bytes int
	}{{"1M", 1 << 20}, {"10M", 10 << 20}, {"100M", 100 << 20}} {
		b.Run(buffer.name, func(b *testing.B) {
			const n = 1_000_000
			var took, cpu time.Duration
			var allocs, bytes uint64
			for range b.N {
				s := benchEighths(b, n)
				ms := ticketMutations(n)
				window := max(1, buffer.bytes/2/(ms[0].EstimatedMemory()*1024))
				runtime.GC()
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				began, busy := time.Now(), clock.ProcessCPU()
				applyWindow(b, s, ms, 1024, window*2)
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
		})
	}
}

func benchEighths(b *testing.B, rows int) *actors.Store {
	s, err := actors.Open(context.Background(), b.TempDir(), actors.WithProperties(map[string]string{"tserver.memory.maps.max": "1G"}))
	if err != nil {
		b.Fatal(err)
	}
	if err := s.CreateTable(context.Background(), "ci", splitAt(rows, 8), map[string]string{"table.file.compress.type": "none"}); err != nil {
		b.Fatal(err)
	}
	return s
}

// applyWindow applies all in pieces, of which at most so many are on their way.
func applyWindow(b *testing.B, s *actors.Store, ms []*tablet.Mutation, piece, window int) {
	var acks []*actors.Ack
	wait := func() {
		if err := acks[0].Wait(context.Background()); err != nil {
			b.Fatal(err)
		}
		acks = acks[1:]
	}
	for at := 0; at < len(ms); at += piece {
		for len(acks) >= window {
			wait()
		}
		ack, err := s.ApplyAsync(context.Background(), "ci", ms[at:min(at+piece, len(ms))], actors.WithDurability(tablet.DurabilityLog))
		if err != nil {
			b.Fatal(err)
		}
		acks = append(acks, ack)
	}
	for len(acks) > 0 {
		wait()
	}
}

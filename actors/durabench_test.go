package actors_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"millrace/actors"
	"millrace/internal/clock"
	"millrace/tablet"
)

// BenchmarkSyncedWrites: single mutations at sync on one tablet, on a real disk, by one writer and by 16, who share the
// syncs; in turns, so that both see the same machine.
func BenchmarkSyncedWrites(b *testing.B) {
	s := benchStore(b)
	var took [2]time.Duration
	var rows atomic.Int64
	const each = 40
	for range b.N {
		for i, writers := range []int{1, 16} {
			began := time.Now()
			var wg sync.WaitGroup
			for range writers {
				wg.Go(func() {
					for range each {
						if err := s.Apply(context.Background(), "ci", []*tablet.Mutation{put(fmt.Sprintf("%09d", rows.Add(1)))}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			took[i] += time.Since(began)
		}
	}
	rate := func(writers int, took time.Duration) float64 { return float64(writers*each*b.N) / took.Seconds() }
	b.ReportMetric(rate(1, took[0]), "1-writes/s")
	b.ReportMetric(rate(16, took[1]), "16-writes/s")
	b.ReportMetric(rate(16, took[1])/rate(1, took[0]), "16/1")
}

func benchStore(b *testing.B) *actors.Store {
	s, err := actors.Open(context.Background(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	if err := s.CreateTable(context.Background(), "ci", nil, map[string]string{"table.file.compress.type": "none"}); err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkIngestDurability: the same ingest at none, log and flush, in turns within one run, so that they see the same
// machine.
func BenchmarkIngestDurability(b *testing.B) {
	levels := []tablet.Durability{tablet.DurabilityNone, tablet.DurabilityLog, tablet.DurabilityFlush}
	var took, cpu [3]time.Duration
	stores := [3]*actors.Store{benchStore(b), benchStore(b), benchStore(b)}
	m := newModel()
	const batch, batches = 500, 40
	for range b.N {
		for i, level := range levels {
			s := stores[i]
			var pieces [][]*tablet.Mutation
			for range batches {
				pieces = append(pieces, m.mutations(batch))
			}
			began, before := time.Now(), clock.ProcessCPU()
			var acks []*actors.Ack
			for _, p := range pieces {
				ack, err := s.ApplyAsync(context.Background(), "ci", p, actors.WithDurability(level))
				if err != nil {
					b.Fatal(err)
				}
				acks = append(acks, ack)
			}
			for _, ack := range acks {
				if err := ack.Wait(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
			took[i] += time.Since(began)
			cpu[i] += clock.ProcessCPU() - before
		}
	}
	for i, level := range levels {
		b.ReportMetric(float64(batch*batches*b.N)/took[i].Seconds(), level.String()+"/s")
		b.ReportMetric(float64(cpu[i].Nanoseconds())/float64(batch*batches*b.N), level.String()+"-cpu-ns/entry")
	}
	b.ReportMetric(took[0].Seconds()/took[1].Seconds(), "log/none")
}

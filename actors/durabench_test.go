package actors_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
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
	const each = 400 // a rate: beginning and end, when not all write, do not count for much
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
// machine. The last line is the rate of log over that of none, round by round: the median, with the quartiles.
func BenchmarkIngestDurability(b *testing.B) {
	levels := []tablet.Durability{tablet.DurabilityNone, tablet.DurabilityLog, tablet.DurabilityFlush}
	var took, cpu [3][]time.Duration
	stores := [3]*actors.Store{benchStore(b), benchStore(b), benchStore(b)}
	m := newModel()
	const batch, batches = 500, 40
	for round := range b.N {
		for k := range levels {
			i := (k + round) % len(levels) // none of them always follows the same other
			var pieces [][]*tablet.Mutation
			for range batches {
				pieces = append(pieces, m.mutations(batch))
			}
			runtime.GC() // of the pieces before
			began, before := time.Now(), clock.ProcessCPU()
			ingest(b, stores[i], pieces, levels[i])
			took[i] = append(took[i], time.Since(began))
			cpu[i] = append(cpu[i], clock.ProcessCPU()-before)
		}
	}
	for i, level := range levels {
		b.ReportMetric(float64(batch*batches*b.N)/sum(took[i]).Seconds(), level.String()+"/s")
		b.ReportMetric(float64(sum(cpu[i]).Nanoseconds())/float64(batch*batches*b.N), level.String()+"-cpu-ns/entry")
	}
	wall, busy := quartiles(took[0], took[1]), quartiles(cpu[0], cpu[1])
	b.ReportMetric(wall[1], "log/none")
	b.Logf("log/none: wall %.2f (%.2f to %.2f), CPU %.2f (%.2f to %.2f), %d rounds", wall[1], wall[0], wall[2], busy[1], busy[0], busy[2], b.N)
}

// ingest applies all pieces at once and waits for them.
func ingest(b *testing.B, s *actors.Store, pieces [][]*tablet.Mutation, level tablet.Durability) {
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
}

func sum(all []time.Duration) (n time.Duration) {
	for _, d := range all {
		n += d
	}
	return n
}

// quartiles are those of the first over the second, pair by pair.
func quartiles(first, second []time.Duration) (q [3]float64) {
	all := make([]float64, len(first))
	for i := range all {
		all[i] = float64(first[i]) / float64(second[i])
	}
	slices.Sort(all)
	for i := range q {
		q[i] = all[(i+1)*(len(all)-1)/4]
	}
	return q
}

package memtable

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"millrace/internal/clock"
	"millrace/tablet"
)

// countCPU reports the processor time of an operation, which other load on the machine disturbs less than wall time.
func countCPU(b *testing.B) {
	before := clock.ProcessCPU()
	b.Cleanup(func() { b.ReportMetric(float64(clock.ProcessCPU()-before)/float64(b.N), "cpu-ns/op") })
}

const benchEntries = 200_000

// benchMutations are shaped like continuous ingest: 16-digit rows, two columns of four bytes, values of 79 bytes.
func benchMutations(sorted bool) []*tablet.Mutation {
	rng := rand.New(rand.NewPCG(1, 1))
	rows := make([]uint64, benchEntries)
	for i := range rows {
		rows[i] = rng.Uint64() >> 1
	}
	if sorted {
		slices.Sort(rows)
	}
	value := make([]byte, 79)
	ms := make([]*tablet.Mutation, benchEntries)
	for i, row := range rows {
		ms[i] = tablet.NewMutation(fmt.Appendf(nil, "%016x", row))
		ms[i].Put(fmt.Appendf(nil, "%04x", row%32767), fmt.Appendf(nil, "%04x", row%32766), nil, value)
	}
	return ms
}

func benchmarkInsert(b *testing.B, ms []*tablet.Mutation, batch int, snapshots bool) {
	countCPU(b)
	b.ReportAllocs()
	for i := 0; i < b.N; {
		table := New()
		for at := 0; at < len(ms) && i < b.N; at += batch {
			part := ms[at:min(at+batch, len(ms), at+b.N-i)]
			table.ApplyAll(part, 1, 0)
			if snapshots {
				table.Snapshot()
			}
			i += len(part)
		}
	}
}

func BenchmarkInsert(b *testing.B) {
	for _, shape := range []string{"random", "sorted"} {
		ms := benchMutations(shape == "sorted")
		b.Run(shape, func(b *testing.B) { benchmarkInsert(b, ms, 500, false) })
		b.Run(shape+"/snapshots", func(b *testing.B) { benchmarkInsert(b, ms, 500, true) })
	}
	ms := benchMutations(false)
	b.Run("random/one", func(b *testing.B) { benchmarkInsert(b, ms, 1, false) })
	b.Run("random/one/snapshots", func(b *testing.B) { benchmarkInsert(b, ms, 1, true) })
}

func BenchmarkScan(b *testing.B) {
	table := New()
	table.ApplyAll(benchMutations(false), 1, 0)
	src := table.Snapshot().Source()
	f := func(name string, families tablet.Families) {
		b.Run(name, func(b *testing.B) {
			countCPU(b)
			b.ReportAllocs()
			ctx := context.Background()
			for i := 0; i < b.N; {
				if err := src.Seek(ctx, tablet.Range{}, families); err != nil {
					b.Fatal(err)
				}
				for {
					batch, _ := src.Next(ctx)
					if batch == nil {
						break
					}
				}
				i += benchEntries
			}
		})
	}
	f("all", tablet.Families{})
	f("filtered", tablet.OnlyFamilies([]byte("0aaa")))
}

// BenchmarkSeek looks one row up.
func BenchmarkSeek(b *testing.B) {
	table := New()
	ms := benchMutations(false)
	table.ApplyAll(ms, 1, 0)
	src := table.Snapshot().Source()
	ranges := make([]tablet.Range, len(ms))
	for i, m := range ms {
		ranges[i] = tablet.ExactRow(m.Row())
	}
	ctx := context.Background()
	countCPU(b)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if err := src.Seek(ctx, ranges[i%len(ms)], tablet.Families{}); err != nil {
			b.Fatal(err)
		}
		if batch, _ := src.Next(ctx); batch.Len() != 1 {
			b.Fatal("row not found")
		}
		i++
	}
}

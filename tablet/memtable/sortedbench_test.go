package memtable

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"millrace/internal/clock"
	"millrace/tablet"
)

// BenchmarkSortedBatch inserts batches of n mutations, each sorted by row as the binner does, into a table of so many
// entries. An operation is one mutation: a random row, one update, a value of 32 bytes. The rows are of 16 hexadecimal digits, or
// of ten decimal ones of which the first four are the same.
func BenchmarkSortedBatch(b *testing.B) {
	for _, entries := range []int{100_000, 1_000_000} {
		for _, n := range []int{1, 100, 1_000, 10_000} {
			for _, row := range []string{"hex", "decimal"} {
				b.Run(fmt.Sprintf("entries=%d/n=%d/%s", entries, n, row), func(b *testing.B) { benchmarkSortedBatch(b, entries, n, row) })
			}
		}
	}
}

func benchmarkSortedBatch(b *testing.B, entries, n int, row string) {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	sortedMutations := func(rng *rand.Rand, n int) []*tablet.Mutation {
		if row == "hex" {
			return sortedMutations(n, func() []byte { return fmt.Appendf(nil, "%016x", rng.Uint64()) })
		}
		return sortedMutations(n, func() []byte { return fmt.Appendf(nil, "0000%06d", rng.IntN(1_000_000)) })
	}
	full := entries / 5 // as many more make a new table due
	batches := make([][]*tablet.Mutation, 0, full/n)
	for range full / n {
		batches = append(batches, sortedMutations(rng, n))
	}
	base := sortedMutations(rng, entries)
	fill := func() *Table {
		table := New()
		for at := 0; at < entries; at += 10_000 { // every tenth: as if it had grown by sorted batches
			var part []*tablet.Mutation
			for i := at / 10_000; i < entries; i += entries / 10_000 {
				part = append(part, base[i])
			}
			table.ApplyAll(part, 1, 0)
		}
		return table
	}
	b.ReportAllocs()
	table, at := fill(), 0
	var cpu time.Duration
	runtime.GC()
	began := clock.ProcessCPU()
	b.ResetTimer()
	for i := 0; i < b.N; i += n {
		if at == len(batches) {
			b.StopTimer()
			cpu += clock.ProcessCPU() - began
			table, at = fill(), 0
			runtime.GC()
			began = clock.ProcessCPU()
			b.StartTimer()
		}
		table.ApplyAll(batches[at], 1, 0)
		at++
	}
	cpu += clock.ProcessCPU() - began
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N), "cpu-ns/op")
}

func sortedMutations(n int, row func() []byte) []*tablet.Mutation {
	value := make([]byte, 32)
	ms := make([]*tablet.Mutation, n)
	for i := range ms {
		ms[i] = tablet.NewMutation(row())
		ms[i].Put([]byte("f"), []byte("q"), nil, value)
	}
	slices.SortStableFunc(ms, func(a, b *tablet.Mutation) int { return bytes.Compare(a.Row(), b.Row()) })
	return ms
}

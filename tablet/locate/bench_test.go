package locate

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func benchMap(n int) *Map {
	var splits [][]byte
	for i := range n - 1 {
		splits = append(splits, fmt.Appendf(nil, "%07d", i))
	}
	return FromSplits(1, "t", splits)
}

func BenchmarkFind(b *testing.B) {
	for _, n := range []int{1, 8, 1000, 100_000} {
		m := benchMap(n)
		rng := rand.New(rand.NewPCG(1, 1))
		rows := make([][]byte, 4096)
		for i := range rows {
			rows[i] = fmt.Appendf(nil, "%07dx", rng.IntN(n))
		}
		b.Run(fmt.Sprintf("random/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				m.Find(rows[i%len(rows)])
			}
		})
		b.Run(fmt.Sprintf("near/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			row := rows[0]
			near, _ := m.Find(row)
			for b.Loop() {
				near, _ = m.FindNear(row, near)
			}
		})
	}
}

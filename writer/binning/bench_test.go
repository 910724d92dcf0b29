package binning

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"millrace/tablet"
	"millrace/tablet/locate"
)

// benchMutations are shaped like continuous ingest.
func benchMutations(n int) []*tablet.Mutation {
	rng := rand.New(rand.NewPCG(1, 1))
	ms := make([]*tablet.Mutation, n)
	for i := range ms {
		ms[i] = tablet.NewMutation(fmt.Appendf(nil, "%016x", rng.Uint64()>>1))
		ms[i].Put([]byte("0a1b"), []byte("7ffe"), nil, make([]byte, 79))
	}
	return ms
}

func benchMap(tablets int) *locate.Map {
	var splits [][]byte
	for i := 1; i < tablets; i++ {
		splits = append(splits, fmt.Appendf(nil, "%016x", uint64(i)*(1<<63/uint64(tablets))))
	}
	return locate.FromSplits(1, "t", splits)
}

// BenchmarkBin bins sets of a size; an operation is one mutation.
func BenchmarkBin(b *testing.B) {
	ms := benchMutations(200_000)
	var items []Item
	for _, m := range ms {
		items = append(items, NewItem(m))
	}
	for _, batch := range []int{500, 2000, 20_000, 200_000} {
		for _, tablets := range []int{1, 8, 1000, 10_000} {
			m := benchMap(tablets)
			b.Run(fmt.Sprintf("set=%d/tablets=%d", batch, tablets), func(b *testing.B) {
				var s Scratch
				var r Result
				work := make([]Item, batch) // it may be reordered
				Bin([][]Item{append(work[:0], items[:batch]...)}, m, &s, &r)
				b.ReportAllocs()
				at := 0
				for i := 0; i < b.N; i += batch {
					n := min(batch, b.N-i)
					if at+n > len(items) {
						at = 0
					}
					Bin([][]Item{append(work[:0], items[at:at+n]...)}, m, &s, &r)
					at += n
				}
			})
		}
	}
}

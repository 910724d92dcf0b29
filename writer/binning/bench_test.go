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

func BenchmarkBin(b *testing.B) {
	const batch = 10_000
	ms := benchMutations(batch)
	for _, tablets := range []int{1, 8, 1000} {
		var splits [][]byte
		for i := 1; i < tablets; i++ {
			splits = append(splits, fmt.Appendf(nil, "%016x", uint64(i)*(1<<63/uint64(tablets))))
		}
		m := locate.FromSplits(1, "t", splits)
		for name, o := range map[string]Options{"arrival": {}, "sorted": {SortRows: true}} {
			b.Run(fmt.Sprintf("%s/%d", name, tablets), func(b *testing.B) {
				var s Scratch
				b.ReportAllocs()
				for i := 0; i < b.N; i += batch { // an operation is one mutation
					Bin(ms[:min(batch, b.N-i)], m, &s, o)
				}
			})
		}
	}
}

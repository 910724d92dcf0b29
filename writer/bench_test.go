package writer

import (
	"context"
	"fmt"
	"testing"

	"millrace/tablet"
	"millrace/tablet/locate"
)

func benchWriter(tb testing.TB, o Options) (*BatchWriter, []*tablet.Mutation) {
	w, err := New(&goHost{}, Discard{Tablets: locate.FromSplits(1, "t", [][]byte{[]byte("2"), []byte("5")})}, o)
	if err != nil {
		tb.Fatal(err)
	}
	mutations := make([]*tablet.Mutation, 10_000)
	for i := range mutations {
		mutations[i] = put(fmt.Sprintf("%d%09d", i%10, i*7919), "value")
	}
	return w, mutations
}

// BenchmarkAdd is one goroutine that adds to where applying is free, binning included. An operation is one mutation.
func BenchmarkAdd(b *testing.B) {
	for _, v := range Variants {
		b.Run(v.String(), func(b *testing.B) {
			w, mutations := benchWriter(b, Options{Variant: v})
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if err := w.Add(context.Background(), mutations[i%len(mutations)]); err != nil {
					b.Fatal(err)
				}
				i++
			}
			if err := w.Close(context.Background()); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// In a steady state neither adding nor binning allocates for a mutation; a set costs a few arrays.
func TestAllocations(t *testing.T) {
	for _, v := range Variants {
		w, mutations := benchWriter(t, Options{Variant: v, MemoryBytes: 4 << 20})
		round := func() {
			for _, m := range mutations {
				if err := w.Add(context.Background(), m); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Flush(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		round()
		if n := testing.AllocsPerRun(5, round) / float64(len(mutations)); n > 0.02 {
			t.Errorf("%v: %v allocations a mutation", v, n)
		}
		if err := w.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

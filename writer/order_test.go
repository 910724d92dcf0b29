package writer

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// blocking is a destination that does the work itself.
type blocking struct{ *held }

func (blocking) SendBlocks() {}

// TestOrder has goroutines add to rows of their own, with any settings, with flushes in between and acknowledgements that
// come in any order: each row's values come in the order in which they were added, each once.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newHeld("1", "2")
		ack := make(chan *Set, 10_000)
		d.auto = func(s *Set) { ack <- s }
		o := Options{
			Variant: rapid.SampledFrom(Variants).Draw(t, "variant"), MemoryBytes: rapid.SampledFrom([]int64{1, 1000, 20_000, 1 << 20}).Draw(t, "memory"),
			Binners: rapid.IntRange(0, 5).Draw(t, "binners"), Threads: rapid.IntRange(1, 3).Draw(t, "threads"),
		}
		var dest Destination = d
		if rapid.Bool().Draw(t, "blocking") {
			dest = blocking{d}
		}
		w, err := New(&goHost{}, dest, o)
		if err != nil {
			t.Fatal(err)
		}
		var acks sync.WaitGroup
		for range 2 {
			acks.Go(func() {
				for s := range ack {
					done(s)
				}
			})
		}
		const adders, rows = 3, 4
		each := rapid.IntRange(1, 60).Draw(t, "each")
		flushEvery := rapid.IntRange(1, 40).Draw(t, "flush")
		var adds sync.WaitGroup
		for a := range adders {
			adds.Go(func() {
				for i := range each {
					if err := w.Add(context.Background(), put(fmt.Sprint(a, i%rows), fmt.Sprint(i))); err != nil {
						t.Error(err)
					}
					if i%flushEvery == flushEvery-1 {
						if err := w.Flush(context.Background()); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		adds.Wait()
		if err := w.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		close(ack)
		acks.Wait()
		for a := range adders {
			for r := range rows {
				var want []string
				for i := r; i < each; i += rows {
					want = append(want, fmt.Sprint(i))
				}
				if got := d.seen[fmt.Sprint(a, r)]; fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("row %d of adder %d: %v, want %v", r, a, got, want)
				}
			}
		}
		if used := w.memory.used.Load(); used != 0 || w.memory.largest.Load() > o.MemoryBytes+1000 {
			t.Fatalf("%d bytes are not given back, there were %d at most", used, w.memory.largest.Load())
		}
	})
}

// TestOrderOfSets has many fill one buffer of two mutations: whoever has filled it must not be overtaken on the way to the
// worker by whoever fills it next.
func TestOrderOfSets(t *testing.T) {
	const adders, each = 8, 20_000
	d := newHeld()
	d.auto = done
	size := int64(put("0", "00000").EstimatedMemory())
	w, err := New(&goHost{}, d, Options{Binners: 1, MemoryBytes: 4 * size})
	if err != nil {
		t.Fatal(err)
	}
	var adds sync.WaitGroup
	for a := range adders {
		adds.Go(func() {
			for i := range each {
				if err := w.Add(context.Background(), put(fmt.Sprint(a), rowName(i))); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	adds.Wait()
	if err := w.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	for a := range adders {
		for i, got := range d.seen[fmt.Sprint(a)] {
			if got != rowName(i) {
				t.Fatalf("adder %d: value %d is %s", a, i, got)
			}
		}
	}
}

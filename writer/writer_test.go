package writer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"millrace/tablet"
	"millrace/tablet/locate"
)

// A mutation waits until there are enough, or for the latency, and no longer.
func TestLatency(t *testing.T) {
	each(t, Options{Latency: 3 * time.Second}, func() *held { return newHeld("m") }, func(k *kit) {
		k.add("a", "1")
		k.add("z", "2")
		k.sleep(3*time.Second - 1)
		if n := k.d.count(); n != 0 {
			k.Fatalf("%d sets before the latency", n)
		}
		k.sleep(1)
		if len(k.d.seen) != 2 {
			k.Fatalf("sent %v", k.d.seen)
		}
		k.sleep(time.Hour)
		n := k.d.count()
		k.add("b", "3") // the timer is set again
		k.sleep(3 * time.Second)
		if k.d.count() != n+1 {
			k.Errorf("%d sets, want %d", k.d.count(), n+1)
		}
	})
}

func TestNoLatency(t *testing.T) {
	each(t, Options{Latency: NoLatency}, func() *held { return newHeld() }, func(k *kit) {
		k.add("a", "1")
		k.sleep(1000 * time.Hour)
		if n := k.d.count(); n != 0 {
			k.Errorf("%d sets", n)
		}
	})
}

// The bound is passed by one mutation at most; who waits goes on when memory is given back, and those first who came first.
func TestMemory(t *testing.T) {
	size := int64(put("a", "1").EstimatedMemory())
	o := Options{MemoryBytes: 4 * size, Binners: 2}
	each(t, o, func() *held { return newHeld() }, func(k *kit) {
		for i := range 5 {
			k.add("a", fmt.Sprint(i))
		}
		var calls []func() (error, bool)
		for i := range 3 {
			calls = append(calls, k.later(func() error { return k.w.Add(k.Context(), put("a", fmt.Sprint(5+i))) }))
			k.waits("add beyond the bound", calls[i])
		}
		k.sleep(time.Minute)
		k.d.auto = done
		for i := range k.d.count() {
			k.d.settle(i)
		}
		for _, c := range calls {
			k.returns("add", c)
		}
		s := k.w.Stats()
		if s.MemoryWaits != 3 || s.MemoryWait < 3*time.Minute || s.LongestAdd < time.Minute {
			k.Errorf("%d waits of %v, the longest %v", s.MemoryWaits, s.MemoryWait, s.LongestAdd)
		}
		if s.LargestMemory > 5*size {
			k.Errorf("%d bytes of memory, the bound is %d and one mutation more", s.LargestMemory, 4*size)
		}
	})
}

// Memory that is waited for in vain costs nothing; the next in line is let in.
func TestCancelledAdd(t *testing.T) {
	size := int64(put("a", "1").EstimatedMemory())
	each(t, Options{MemoryBytes: size}, func() *held { return newHeld() }, func(k *kit) {
		k.add("a", "1")
		k.add("a", "2")
		ctx, cancel := context.WithCancel(k.Context())
		first := k.later(func() error { return k.w.Add(ctx, put("a", "3")) })
		k.waits("first", first)
		second := k.later(func() error { return k.w.Add(k.Context(), put("a", "4")) })
		k.waits("second", second)
		cancel()
		if err, ok := first(); !ok || !errors.Is(err, context.Canceled) {
			k.Fatalf("cancelled: %v %v", err, ok)
		}
		k.d.auto = done
		for i := range k.d.count() {
			k.d.settle(i)
		}
		k.returns("second", second)
		if err := k.w.Close(k.Context()); err != nil {
			k.Fatal(err)
		}
		if got := strings.Join(k.d.seen["a"], ""); got != "124" {
			k.Errorf("sent %s", got)
		}
		if used := k.w.memory.used.Load(); used != 0 {
			k.Errorf("%d bytes of memory are not given back", used)
		}
	})
}

// A mutation larger than the memory goes alone; one larger than the limit is refused and the limit told, and the writer goes on.
func TestLargeMutations(t *testing.T) {
	each(t, Options{MemoryBytes: 64, MutationBytes: 200_000}, func() *held { return newHeld() }, func(k *kit) {
		k.d.auto = done
		for i := range 20 {
			k.add("small", fmt.Sprint(i))
			k.add("large", strings.Repeat("x", 100_000))
		}
		err := k.w.Add(k.Context(), put("huge", strings.Repeat("x", 200_000)))
		if !errors.Is(err, tablet.ErrUsage) || !strings.Contains(err.Error(), "200000") {
			k.Errorf("too large: %v", err)
		}
		if err := k.w.Add(k.Context(), tablet.NewMutation([]byte("empty"))); !errors.Is(err, tablet.ErrUsage) {
			k.Errorf("empty: %v", err)
		}
		k.add("small", "last")
		if err := k.w.Close(k.Context()); err != nil {
			k.Fatal(err)
		}
		if n := len(k.d.seen["small"]) + len(k.d.seen["large"]); n != 41 || len(k.d.seen["huge"]) > 0 {
			k.Errorf("%d mutations sent", n)
		}
	})
}

// Flush waits for what was added before it, keeps nobody from adding, and does not wait for that.
func TestFlush(t *testing.T) {
	each(t, Options{Latency: NoLatency}, func() *held { return newHeld() }, func(k *kit) {
		k.add("a", "1")
		flush := k.later(func() error { return k.w.Flush(k.Context()) })
		k.waits("flush", flush)
		k.returns("add during a flush", k.later(func() error { return k.w.Add(k.Context(), put("a", "2")) }))
		second := k.later(func() error { return k.w.Flush(k.Context()) })
		k.waits("second flush", second)
		if k.d.count() != 2 {
			k.Fatalf("%d sets", k.d.count())
		}
		k.d.settle(1)
		k.waits("flush, with a later set settled", flush)
		k.waits("second flush", second)
		k.d.settle(0)
		k.returns("flush", flush)
		k.returns("second flush", second)
		k.returns("flush of nothing", k.later(func() error { return k.w.Flush(k.Context()) }))

		k.add("a", "3")
		ctx, cancel := context.WithCancel(k.Context())
		flush = k.later(func() error { return k.w.Flush(ctx) })
		k.waits("flush", flush)
		cancel()
		if err, ok := flush(); !ok || !errors.Is(err, context.Canceled) {
			k.Errorf("cancelled flush: %v %v", err, ok)
		}
		if k.d.count() != 3 {
			k.Errorf("%d sets", k.d.count())
		}
		k.d.settle(2)
	})
}

// Close and Flush in every order, twice, at the same time.
func TestClose(t *testing.T) {
	each(t, Options{}, func() *held { return newHeld() }, func(k *kit) {
		k.add("a", "1")
		ctx, cancel := context.WithCancel(k.Context())
		first := k.later(func() error { return k.w.Close(ctx) })
		k.waits("close", first)
		second := k.later(func() error { return k.w.Close(k.Context()) })
		k.waits("second close", second)
		if err := k.w.Add(k.Context(), put("a", "2")); !errors.Is(err, tablet.ErrClosed) {
			k.Errorf("add: %v", err)
		}
		if err := k.w.Flush(k.Context()); !errors.Is(err, tablet.ErrClosed) {
			k.Errorf("flush: %v", err)
		}
		cancel()
		if err, ok := first(); !ok || !errors.Is(err, context.Canceled) {
			k.Errorf("cancelled close: %v %v", err, ok)
		}
		k.waits("second close", second)
		k.d.settle(0)
		k.returns("second close", second)
		k.returns("third close", k.later(func() error { return k.w.Close(k.Context()) }))
		if err := k.w.Flush(k.Context()); !errors.Is(err, tablet.ErrClosed) {
			k.Errorf("flush: %v", err)
		}
		if s := k.w.Stats(); s.Acknowledged != 1 || s.Mutations != 1 {
			k.Errorf("%+v", s)
		}
	})
}

// Who waits for memory when the writer is closed hears so.
func TestCloseTurnsAwayWhoWaits(t *testing.T) {
	each(t, Options{MemoryBytes: 1}, func() *held { return newHeld() }, func(k *kit) {
		k.add("a", "1")
		waiting := k.later(func() error { return k.w.Add(k.Context(), put("a", "2")) })
		k.waits("add", waiting)
		closing := k.later(func() error { return k.w.Close(k.Context()) })
		if err, ok := waiting(); !ok || !errors.Is(err, tablet.ErrClosed) {
			k.Errorf("add: %v %v", err, ok)
		}
		k.d.settle(0)
		k.returns("close", closing)
	})
}

// While a set is being binned, which takes until the test ends it, others add at once; but for the locked variant, and the
// handoff when a second set is full.
func TestAddsDoNotWaitForBinning(t *testing.T) {
	const half = 10
	size := int64(put("00", "0").EstimatedMemory())
	for _, v := range Variants {
		t.Run(v.String(), func(t *testing.T) {
			d := newHeld()
			d.auto = done
			entered, gate := make(chan bool, 100), make(chan bool)
			d.mapping = func() error { entered <- true; <-gate; return nil }
			h := &goHost{}
			w, err := New(h, d, Options{Variant: v, MemoryBytes: 2 * half * size, Binners: 2})
			if err != nil {
				t.Fatal(err)
			}
			add := func(n int) {
				for i := range n {
					if err := w.Add(context.Background(), put(fmt.Sprintf("%02d", i), "0")); err != nil {
						t.Error(err)
					}
				}
			}
			locked := func() bool {
				if w.shards[0].tryLock() {
					w.shards[0].unlock()
					return false
				}
				return true
			}
			var wg sync.WaitGroup
			wg.Go(func() { add(half) }) // fills half of the memory
			<-entered
			switch v {
			case Locked:
				if !locked() {
					t.Error("others may add while a caller bins")
				}
			case Actors:
				wg.Wait()
				add(half + 1) // all the memory there is
			case Handoff, NoSync:
				wg.Wait()
				add(half - 1)
				wg.Go(func() { add(1) }) // fills a second set
				<-entered
				if locked() != (v == Handoff) {
					t.Errorf("while a caller bins the buffer is locked: %v", locked())
				}
				if v == NoSync {
					add(1)
				}
			}
			close(gate)
			wg.Wait()
			if err := w.Close(context.Background()); err != nil {
				t.Error(err)
			}
			s := w.Stats()
			if (s.BinningWaits == 0) != (v == Actors) || (s.CallerBinned == 0) != (v == Actors) {
				t.Errorf("%d waited for binning, callers binned %d sets", s.BinningWaits, s.CallerBinned)
			}
			if s.Acknowledged != s.Mutations || s.Mutations < half {
				t.Errorf("%d acknowledged of %d", s.Acknowledged, s.Mutations)
			}
		})
	}
}

// The sets of the ticket: 515, 52 and 6 for 10^6 mutations of 32 bytes and 1, 10 and 100 MB.
func TestSetsOfTheTicket(t *testing.T) {
	n, scale := 1_000_000, int64(1)
	if testing.Short() {
		n, scale = n/10, 10
	}
	m := tablet.NewMutation([]byte("0123456789"))
	m.Put([]byte("fam"), []byte("q"), nil, []byte("012345678"))
	for m.NumBytes() < 32 {
		m = tablet.NewMutation(append(slices.Clone(m.Row()), '0'))
		m.Put([]byte("fam"), []byte("q"), nil, []byte("012345678"))
	}
	if m.NumBytes() != 32 || m.EstimatedMemory() != 270 {
		t.Fatalf("%d bytes, estimated %d", m.NumBytes(), m.EstimatedMemory())
	}
	for memory, want := range map[int64]int64{1 << 20: 515, 10 << 20: 52, 100 << 20: 6} {
		for _, v := range []Variant{Locked, Handoff, NoSync} {
			h := &goHost{}
			w, err := New(h, Discard{Tablets: locate.FromSplits(1, "t", nil)}, Options{Variant: v, MemoryBytes: memory / scale, Latency: NoLatency})
			if err != nil {
				t.Fatal(err)
			}
			threads := 1
			if v != Locked {
				threads = 4
			}
			var wg sync.WaitGroup
			for range threads {
				wg.Go(func() {
					for range n / threads {
						if err := w.Add(t.Context(), m); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			if err := w.Close(t.Context()); err != nil {
				t.Error(err)
			}
			s := w.Stats()
			if off := max(want/100, 1); s.Sets < want-off || s.Sets > want+off || s.Acknowledged != int64(n) || s.Bytes != int64(270*n) {
				t.Errorf("%v, %d MB: %d sets, want %d; %d mutations of %d bytes", v, memory>>20, s.Sets, want, s.Acknowledged, s.Bytes)
			}
			if s.LargestMemory > memory/scale+270 {
				t.Errorf("%v: %d bytes of memory", v, s.LargestMemory)
			}
		}
	}
}

// Four goroutines add, one closes at a random moment: what Add took is written, and nothing else.
func TestCloseWhileOthersAdd(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 100
	}
	for round := range rounds {
		v := Variants[round%len(Variants)]
		d := newHeld("2", "5", "8")
		d.auto = done
		h := &goHost{}
		w, err := New(h, d, Options{Variant: v, MemoryBytes: 4000})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		taken := map[string]bool{}
		for g := range 4 {
			wg.Go(func() {
				for i := range 200 {
					row := fmt.Sprintf("%d.%d", i%10, 1000*g+i)
					switch err := w.Add(context.Background(), put(row, "v")); {
					case err == nil:
						mu.Lock()
						taken[row] = true
						mu.Unlock()
					case errors.Is(err, tablet.ErrClosed):
						return
					default:
						t.Errorf("%v: %v", v, err)
					}
				}
			})
		}
		for range rand.IntN(400) {
			mu.Lock() // takes a moment
			mu.Unlock()
		}
		if err := w.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if len(taken) != len(d.seen) {
			t.Fatalf("%v, round %d: %d taken, %d written", v, round, len(taken), len(d.seen))
		}
	}
}

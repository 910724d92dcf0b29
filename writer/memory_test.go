package writer

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"unsafe"

	"millrace/tablet"
)

// lineOf has so many wait for a byte each, and returns the names of those who were let in, in order.
func lineOf(t *testing.T, m *memory, n int) (in func() string) {
	var mu sync.Mutex
	var names string
	for i := range n {
		go func() {
			if err := m.enter(t.Context(), &goHost{}, 1); err != nil {
				t.Error(err)
			}
			mu.Lock()
			names += fmt.Sprint(i)
			mu.Unlock()
		}()
		synctest.Wait()
	}
	return func() string {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return names
	}
}

// TestLine: who waits goes on in order once a quarter is free, one letting in the next, as long as that much is free.
func TestLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{max: 8}
		f := func(what string, in func() string, want string) {
			t.Helper()
			if got := in(); got != want {
				t.Errorf("%s: let in %q, want %q", what, got, want)
			}
		}
		if m.try(9) != 9 || m.try(1) != 0 {
			t.Fatal("the first is let in, whatever its size, and then nobody")
		}
		in := lineOf(t, m, 5)
		f("at first", in, "")
		m.release(2)
		f("7 of 8 are used", in, "")
		m.release(1)
		f("6 of 8 are used", in, "0") // 7 with the first, so the second waits
		m.release(3)
		f("4 of 8 are used", in, "0123") // 7 again
		m.release(7)
		f("nothing is used", in, "01234")
		if used := m.used.Load(); used != 1 {
			t.Errorf("%d bytes are used", used)
		}
	})
}

// TestAhead: while some wait others may take a quarter of the memory, so that it does not lie idle until the first runs, and no
// more, so that he does not wait for ever.
func TestAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{max: 100}
		m.try(101)
		in := lineOf(t, m, 40)
		if m.try(1) != 0 {
			t.Error("somebody gets in past those who wait when nothing is free")
		}
		m.release(27) // to 74, and the first two are let in
		if got := in(); got != "01" {
			t.Errorf("let in %q", got)
		}
		ahead := 0
		for m.try(1) == 1 {
			m.used.Add(-1) // without a look at those who wait
			ahead++
		}
		if ahead != 25 {
			t.Errorf("%d bytes went past those who wait, of 100", ahead)
		}
		m.release(76)
		in()
	})
}

// TestPieces: a piece is taken only within the bound, and counts.
func TestPieces(t *testing.T) {
	m := &memory{max: 100, piece: 30}
	f := func(bytes, want, used int64) {
		t.Helper()
		if got := m.try(bytes); got != want || m.used.Load() != used {
			t.Errorf("for %d bytes: %d, %d used; want %d, %d", bytes, got, m.used.Load(), want, used)
		}
	}
	f(1, 30, 30)
	f(31, 31, 61)
	f(30, 30, 91)
	f(9, 9, 100)
	f(1, 1, 101)
	f(1, 0, 101)
	m.release(31)
	f(2, 30, 100)
}

// TestIdleCredit: what buffers have taken for mutations to come is not held against those who wait for ever, and given back
// when all is sent.
func TestIdleCredit(t *testing.T) {
	for _, v := range Variants {
		d := newHeld()
		d.auto = done
		w, err := New(&goHost{}, d, Options{Variant: v, MemoryBytes: 1 << 20, Binners: 8, Latency: NoLatency})
		if err != nil {
			t.Fatal(err)
		}
		if all := w.memory.piece * int64(len(w.shards)); all == 0 || all > w.memory.max/8 {
			t.Errorf("%v: %d buffers hold pieces of %d bytes", v, len(w.shards), w.memory.piece)
		}
		m := put("a", "1")
		size := int64(m.EstimatedMemory())
		if err := w.Add(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if s := w.Stats(); s.Memory != size || s.LargestMemory != w.memory.piece || s.Mutations != 1 || s.Bytes != size {
			t.Errorf("%v: %+v", v, s)
		}
		if err := w.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if used := w.memory.used.Load(); used != 0 {
			t.Errorf("%v: %d bytes are used after Flush", v, used)
		}
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.Add(t.Context(), m); !errors.Is(err, tablet.ErrClosed) || w.memory.used.Load() != 0 {
			t.Errorf("%v: %v, %d bytes are used", v, err, w.memory.used.Load())
		}
	}
}

// TestEverybodyGetsIn has many add, with pieces and a line, and little memory that is given back byte by byte.
func TestEverybodyGetsIn(t *testing.T) {
	const adders, adds = 8, 2000
	m := &memory{max: 256, piece: 4}
	taken := make(chan int64, 1024)
	var all sync.WaitGroup
	for a := range adders {
		all.Go(func() {
			for i := range adds {
				bytes := int64(1 + (a+i)%7)
				n := m.try(bytes)
				if n == 0 {
					if err := m.enter(t.Context(), &goHost{}, bytes); err != nil {
						t.Error(err)
						return
					}
					n = bytes
				}
				taken <- n
			}
		})
	}
	var back sync.WaitGroup
	back.Go(func() {
		for n := range taken {
			for range n {
				m.release(1)
			}
		}
	})
	all.Wait()
	close(taken)
	back.Wait()
	if used, largest := m.used.Load(), m.largest.Load(); used != 0 || largest > 256+7 {
		t.Errorf("%d bytes are used, %d at most", used, largest)
	}
}

// TestShardLines: what every Add touches is one line of the processor's cache, and no buffer shares one with another.
func TestShardLines(t *testing.T) {
	if at, size := unsafe.Offsetof(shard{}.closed), unsafe.Sizeof(shard{}); at != 64 || size != 256 {
		t.Errorf("the first %d bytes of %d are what an Add touches, want 64 of 256", at, size)
	}
}

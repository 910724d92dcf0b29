package writer

import (
	"fmt"
	"sync"
	"testing"
)

// wakeHost notes who is woken.
type wakeHost struct {
	goHost
	mu    sync.Mutex
	woken map[int]bool
}

func (h *wakeHost) Wake(worker int) {
	h.mu.Lock()
	h.woken[worker] = true
	h.mu.Unlock()
	h.goHost.Wake(worker)
}

// TestBuffers: how many buffers there are, and that every binner gets sets.
func TestBuffers(t *testing.T) {
	f := func(binners int, memory int64, d Destination, buffers int) {
		t.Helper()
		h := &wakeHost{woken: make(map[int]bool)}
		w, err := New(h, d, Options{Binners: binners, MemoryBytes: memory, Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 6 * memory / 270 {
			if err := w.Add(t.Context(), put(fmt.Sprintf("%010d", i*7919%100_000), "")); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(w.shards) != buffers {
			t.Errorf("%d binners with %d bytes have %d buffers, want %d", binners, memory, len(w.shards), buffers)
		}
		for i := range binners {
			if !h.woken[i] {
				t.Errorf("%d binners with %d bytes: the %d. was never woken", binners, memory, i)
			}
		}
	}
	free, blocks := newHeld(), blocking{newHeld()}
	free.auto, blocks.auto = done, done
	f(1, 4<<20, free, 1)
	f(4, 4<<20, free, 1)
	f(5, 5<<20, free, 5)
	f(5, 5<<20-10, free, 1)
	f(4, 4<<20, blocks, 4)
}

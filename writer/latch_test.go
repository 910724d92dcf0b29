package writer

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestLatch: one at a time, and whoever waits gets in, however those who have it are held up.
func TestLatch(t *testing.T) {
	const threads, times = 16, 20_000
	var l latch
	l.init()
	n := 0
	var all sync.WaitGroup
	for i := range threads {
		all.Go(func() {
			for j := range times {
				l.lock()
				before := n
				for range 50 { // so that others come meanwhile
				}
				n = before + 1
				if (i+j)%1024 == 0 {
					runtime.Gosched()
				}
				l.unlock()
			}
		})
	}
	all.Wait()
	if n != threads*times || !l.tryLock() || l.waiting.Load() != 0 {
		t.Errorf("%d of %d, %d still wait", n, threads*times, l.waiting.Load())
	}
}

// TestLatchWakesOne: who unlocks wakes one of those who wait, and no other before that one has tried again.
func TestLatchWakesOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l latch
		l.init()
		l.lock()
		var had atomic.Int64
		for range 5 {
			go func() {
				l.lock()
				had.Add(1)
				time.Sleep(time.Second)
				l.unlock()
			}()
		}
		synctest.Wait()
		if l.tryLock() || l.waiting.Load() != 5 {
			t.Fatalf("%d of 5 wait", l.waiting.Load())
		}
		for i := range 5 {
			if had.Load() != int64(i) {
				t.Errorf("%d had it after %d seconds", had.Load(), i)
			}
			if i == 0 {
				l.unlock()
			} else {
				time.Sleep(time.Second)
			}
			synctest.Wait()
		}
		if had.Load() != 5 {
			t.Errorf("%d of 5 had it", had.Load())
		}
		time.Sleep(time.Second)
	})
}

package clock

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

var start = time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)

// recorder notes each callback with the time it saw.
type recorder struct {
	m   *Manual
	log []string
}

func (r *recorder) note(name string) func() {
	return func() { r.log = append(r.log, fmt.Sprintf("%s@%v", name, r.m.Now().Sub(start))) }
}

func (r *recorder) want(t *testing.T, want string) {
	t.Helper()
	if got := strings.Join(r.log, " "); got != want {
		t.Fatalf("ran %q, want %q", got, want)
	}
}

func TestManualOrder(t *testing.T) {
	m := NewManual(start)
	r := &recorder{m: m}
	m.AfterFunc(3*time.Second, r.note("c"))
	m.AfterFunc(time.Second, r.note("a1"))
	m.AfterFunc(time.Second, r.note("a2"))
	m.AfterFunc(-time.Second, r.note("now"))
	m.AfterFunc(2*time.Second, func() {
		r.note("b")()
		m.AfterFunc(0, r.note("b0"))
		m.AfterFunc(time.Second, r.note("b1"))
		m.AfterFunc(time.Minute, r.note("late"))
	})
	r.want(t, "")
	m.Advance(0)
	r.want(t, "now@0s")
	m.Advance(3 * time.Second)
	r.want(t, "now@0s a1@1s a2@1s b@2s b0@2s c@3s b1@3s")
	if got := m.Now().Sub(start); got != 3*time.Second {
		t.Errorf("clock stands at %v, want 3s", got)
	}
	if due, ok := m.Next(); !ok || due.Sub(start) != 62*time.Second || m.Pending() != 1 {
		t.Errorf("next %v %v, pending %d", due.Sub(start), ok, m.Pending())
	}
}

func TestManualAdvanceEndsBetweenTimers(t *testing.T) {
	m := NewManual(start)
	r := &recorder{m: m}
	m.AfterFunc(10*time.Second, r.note("a"))
	m.Advance(9 * time.Second)
	r.want(t, "")
	m.Advance(1*time.Second - 1)
	r.want(t, "")
	m.Advance(1)
	r.want(t, "a@10s")
}

func TestManualStep(t *testing.T) {
	m := NewManual(start)
	r := &recorder{m: m}
	m.AfterFunc(time.Hour, r.note("b"))
	m.AfterFunc(time.Hour, r.note("c"))
	m.AfterFunc(time.Minute, r.note("a"))
	for m.Step() {
		r.log = append(r.log, "|")
	}
	r.want(t, "a@1m0s | b@1h0m0s | c@1h0m0s |")
}

func TestManualStop(t *testing.T) {
	m := NewManual(start)
	r := &recorder{m: m}
	var second Timer
	first := m.AfterFunc(time.Second, func() {
		r.note("first")()
		if !second.Stop() {
			t.Error("a callback that has not begun could not be stopped")
		}
	})
	second = m.AfterFunc(time.Second, r.note("second"))
	third := m.AfterFunc(time.Second, r.note("third"))
	if !third.Stop() || third.Stop() {
		t.Error("Stop must be true once, then false")
	}
	m.Advance(time.Minute)
	r.want(t, "first@1s")
	if first.Stop() {
		t.Error("a callback that has run was stopped")
	}
}

// TestManualAgainstSort runs random sets of timers, some stopped, and compares with a plain sort.
func TestManualAgainstSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := NewManual(start)
		delays := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 20).Draw(t, "delays")
		stop := rapid.SliceOfN(rapid.Bool(), len(delays), len(delays)).Draw(t, "stop")
		var got, want []int
		timers := make([]Timer, len(delays))
		for i, d := range delays {
			timers[i] = m.AfterFunc(time.Duration(d), func() { got = append(got, i) })
		}
		for i := range timers {
			if stop[i] {
				timers[i].Stop()
			}
		}
		for d := 0; d <= 5; d++ {
			for i := range delays {
				if delays[i] == d && !stop[i] {
					want = append(want, i)
				}
			}
		}
		m.Advance(2)
		m.Advance(3)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("ran %v, want %v", got, want)
		}
	})
}

func TestManualRefusesToGoBack(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a negative Advance did not panic")
		}
	}()
	NewManual(start).Advance(-1)
}

// TestManualConcurrentUse is for the race detector.
func TestManualConcurrentUse(t *testing.T) {
	m := NewManual(start)
	var wg sync.WaitGroup
	var mu sync.Mutex
	ran := 0
	for range 4 {
		wg.Go(func() {
			for range 100 {
				m.AfterFunc(time.Millisecond, func() { mu.Lock(); ran++; mu.Unlock() })
				m.Advance(time.Millisecond)
				m.Now()
			}
		})
	}
	wg.Wait()
	m.Advance(time.Millisecond)
	if ran != 400 {
		t.Errorf("ran %d callbacks, want 400", ran)
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := Real{}.Now()
		if err := Sleep(t.Context(), Real{}, time.Hour); err != nil {
			t.Fatal(err)
		}
		if got := Since(Real{}, before); got != time.Hour {
			t.Errorf("slept %v, want 1h", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := Sleep(ctx, Real{}, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if got := Since(Real{}, before); got != time.Hour+time.Minute {
			t.Errorf("came back after %v, want 1h1m", got)
		}
		if err := Sleep(ctx, Real{}, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v from a context that had ended", err)
		}
	})
}

func TestSleepManual(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewManual(start)
		woken := false
		go func() {
			if err := Sleep(t.Context(), m, time.Hour); err != nil {
				t.Error(err)
			}
			woken = true
		}()
		synctest.Wait()
		m.Advance(time.Hour - 1)
		synctest.Wait()
		if woken {
			t.Fatal("woken early")
		}
		m.Advance(1)
		synctest.Wait()
		if !woken {
			t.Fatal("not woken")
		}
		ctx, cancel := context.WithCancel(t.Context())
		go Sleep(ctx, m, time.Hour)
		synctest.Wait()
		cancel()
		synctest.Wait()
		if m.Pending() != 0 {
			t.Error("a cancelled Sleep left its timer")
		}
	})
}

func TestEvery(t *testing.T) {
	m := NewManual(start)
	r := &recorder{m: m}
	stop := Every(m, time.Second, r.note("e"))
	m.Advance(3 * time.Second)
	r.want(t, "e@1s e@2s e@3s")
	stop()
	stop()
	m.Advance(time.Hour)
	r.want(t, "e@1s e@2s e@3s")

	calls := 0
	stop = nil
	stop = Every(m, time.Second, func() {
		if calls++; calls == 2 {
			stop()
		}
	})
	m.Advance(time.Hour)
	if calls != 2 || m.Pending() != 0 {
		t.Errorf("stopped from inside: %d calls, %d pending", calls, m.Pending())
	}
}

func TestCPU(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	process, thread, wall := ProcessCPU(), ThreadCPU(), time.Now()
	x := uint32(1)
	for ThreadCPU()-thread < 20*time.Millisecond {
		for range 1000 {
			x ^= x << 13
			x ^= x >> 17
			x ^= x << 5
		}
		if time.Since(wall) > time.Minute {
			t.Fatal("the thread's processor time stands still")
		}
	}
	if x == 0 {
		t.Error("xorshift reached 0")
	}
	usedThread, usedProcess := ThreadCPU()-thread, ProcessCPU()-process
	if usedProcess < 20*time.Millisecond || usedThread > time.Since(wall)+time.Millisecond {
		t.Errorf("process %v, thread %v, wall %v", usedProcess, usedThread, time.Since(wall))
	}
}

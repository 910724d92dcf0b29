package actors

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestDispatcherReusesGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDispatcher()
		for range 100 {
			d.Schedule(func() {})
			synctest.Wait()
		}
		if busy, parked := d.counts(); busy != 0 || parked != 1 {
			t.Errorf("after 100 turns one after the other: %d busy, %d parked; want 0 and 1", busy, parked)
		}
		if err := d.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A blocked actor must not keep others from running, however many are blocked.
func TestDispatcherBlockedStarvesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDispatcher()
		release := make(chan struct{})
		for range parkedMax + 10 {
			d.Schedule(func() { <-release })
		}
		ran := false
		d.Schedule(func() { ran = true })
		synctest.Wait()
		if !ran {
			t.Error("work behind blocked actors did not run")
		}
		close(release)
		synctest.Wait()
		if _, parked := d.counts(); parked != parkedMax {
			t.Errorf("%d goroutines stay parked, want %d", parked, parkedMax)
		}
		if err := d.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestDispatcherCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDispatcher()
		d.Schedule(func() { time.Sleep(time.Hour) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := d.Close(ctx); err == nil {
			t.Error("Close did not wait for a busy goroutine")
		}
		began := time.Now()
		if err := d.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 59*time.Minute {
			t.Errorf("Close returned after %v, want the 59m that the work still took", took)
		}
		var wg sync.WaitGroup
		wg.Add(1)
		d.Schedule(wg.Done) // work that comes late still runs
		wg.Wait()
	})
}

func TestDispatcherSurvivesGoexit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDispatcher()
		d.Schedule(runtime.Goexit)
		synctest.Wait()
		if busy, parked := d.counts(); busy != 0 || parked != 0 {
			t.Errorf("after Goexit: %d busy, %d parked", busy, parked)
		}
		if err := d.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

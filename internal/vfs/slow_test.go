package vfs

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestSlowTakesVirtualTime adds up what calls take, before or after their effect.
func TestSlowTakesVirtualTime(t *testing.T) {
	for _, after := range []bool{false, true} {
		m := Mem()
		var now time.Duration
		fsys := Slow(m, SlowOptions{
			Delay: func(c Call) time.Duration {
				if c.Op == OpCreate {
					return time.Second
				}
				return 0
			},
			Wait: func(c Call, d time.Duration) {
				now += d
				if _, err := m.Stat(c.Name); (err == nil) != after {
					t.Errorf("after %v: while %v waits: %v", after, c, err)
				}
			},
			After: after,
		})
		put(t, fsys, "a", "x")
		put(t, fsys, "b", "x")
		if now != 2*time.Second {
			t.Errorf("it took %v", now)
		}
	}
	a, b := RandomDelay(7, 10, 20), RandomDelay(7, 10, 20)
	seen := map[time.Duration]bool{}
	for range 200 {
		d := a(Call{})
		seen[d] = true
		if d != b(Call{}) || d < 10 || d > 20 {
			t.Fatalf("delay %d", d)
		}
	}
	if len(seen) != 11 {
		t.Errorf("%d of 11 delays", len(seen))
	}
}

// TestSlowHold lets the second of two syncs end first, and holds a removal that has been done.
func TestSlowHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := Mem()
		fsys := Slow(m, SlowOptions{})
		first := fsys.Hold(Rule{Op: OpSync})
		second := fsys.Hold(Rule{Op: OpSync, N: 2})
		removal := fsys.Hold(Rule{Op: OpRemove, Name: "a", After: true})
		ended := make(chan string, 3)
		for _, name := range []string{"a", "b"} {
			f, err := fsys.Create(name)
			check(t, err)
			go func() {
				if err := f.Sync(); err != nil {
					t.Error(err)
				}
				ended <- name
				f.Close()
			}()
			synctest.Wait()
		}
		<-first.Reached()
		<-second.Reached()
		if len(ended) != 0 {
			t.Error("a held call has ended")
		}
		second.Release()
		if got := <-ended; got != "b" {
			t.Errorf("%s ended first", got)
		}
		first.Release()
		first.Release()
		if got := <-ended; got != "a" {
			t.Errorf("%s ended second", got)
		}
		before := fsys.Hold(Rule{Op: OpRemove, Name: "a"})
		go func() {
			fsys.Remove("a")
			ended <- "removal"
		}()
		<-before.Reached()
		wantList(t, m, ".", "a b")
		before.Release()
		<-removal.Reached()
		wantList(t, m, ".", "b")
		if len(ended) != 0 {
			t.Error("a held call has ended")
		}
		removal.Release()
		<-ended
	})
}

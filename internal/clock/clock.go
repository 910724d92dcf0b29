package clock

import (
	"context"
	"sync"
	"time"
)

// Clock tells the time and calls back later. Implementations are safe for concurrent use.
type Clock interface {
	// Now is the present time.
	Now() time.Time
	// AfterFunc calls f once, d from now; a d of zero or less means as soon as possible, but never inside AfterFunc.
	// f must not block for long.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a callback that is due.
type Timer interface {
	// Stop takes the callback back. It returns false when the callback has already begun, or was stopped before.
	Stop() bool
}

// Real is the machine's clock.
type Real struct{}

var _ Clock = Real{}

// Now is the wall clock, with the monotonic reading that makes differences safe against its being set.
func (Real) Now() time.Time { return time.Now() }

// AfterFunc calls f on its own goroutine.
func (Real) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

// Since is the time that has passed on c since t.
func Since(c Clock, t time.Time) time.Duration { return c.Now().Sub(t) }

// Sleep returns nil after d on c, or the context's error if that ends first.
func Sleep(ctx context.Context, c Clock, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d <= 0 {
		return nil
	}
	due := make(chan struct{})
	t := c.AfterFunc(d, func() { close(due) })
	select {
	case <-due:
		return nil
	case <-ctx.Done():
		t.Stop()
		return ctx.Err()
	}
}

// Every calls f each d, first d from now, until stop is called. The next call is set up when one has returned, so that
// calls never overlap and a slow f makes them rarer. No call begins after stop has returned, unless stop is called
// while f runs: that call still ends. It panics when d is not positive.
func Every(c Clock, d time.Duration, f func()) (stop func()) {
	if d <= 0 {
		panic("clock.Every: interval must be positive")
	}
	e := &every{clock: c, d: d, f: f}
	e.mu.Lock()
	e.timer = c.AfterFunc(d, e.fire)
	e.mu.Unlock()
	return e.stop
}

type every struct {
	clock Clock
	d     time.Duration
	f     func()

	mu      sync.Mutex
	timer   Timer
	stopped bool
}

func (e *every) fire() {
	e.mu.Lock()
	stopped := e.stopped
	e.mu.Unlock()
	if stopped {
		return
	}
	e.f()
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.stopped {
		e.timer = e.clock.AfterFunc(e.d, e.fire)
	}
}

func (e *every) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stopped = true
	e.timer.Stop()
}

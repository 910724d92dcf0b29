package actors

import (
	"slices"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/internal/clock"
)

func TestTimersFireInOrder(t *testing.T) {
	c := clock.NewManual(time.Unix(0, 0))
	var got []any
	ts := newTimers(c, func(_ *actor.PID, msg any) { got = append(got, msg) })
	ts.after(3*time.Second, nil, "c")
	ts.after(time.Second, nil, "a")
	ts.after(time.Second, nil, "a2")
	b := ts.after(2*time.Second, nil, "b")
	first := ts.after(time.Millisecond, nil, "never")

	check := func(want ...any) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("fired %v, want %v", got, want)
		}
	}
	if !ts.cancel(first) || ts.cancel(first) {
		t.Error("cancel of a waiting timer is true once")
	}
	c.Advance(time.Second - 1)
	check()
	c.Advance(1)
	check("a", "a2")
	if !ts.cancel(b) {
		t.Error("cancel of a waiting timer failed")
	}
	c.Advance(time.Hour)
	check("a", "a2", "c")
	if c.Pending() != 0 {
		t.Errorf("%d callbacks of the clock are left", c.Pending())
	}
	ts.after(time.Second, nil, "late")
	ts.close()
	c.Advance(time.Hour)
	check("a", "a2", "c")
}

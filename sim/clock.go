package sim

import (
	"time"

	"millrace/internal/clock"
)

// Clock is virtual time. It stands still but when the loop moves it: a little with every step, and to the next callback
// when there is nothing else to do. It belongs to the loop's goroutine.
type Clock struct {
	due  *clock.Manual // the callbacks; it stands where the last one that ran was due
	past time.Duration // since then
	skew time.Duration // what jumps have added to what Now says
}

var _ clock.Clock = (*Clock)(nil)

func newClock() *Clock { return &Clock{due: clock.NewManual(start)} }

// start is when every simulated life begins.
var start = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// Now is the present virtual time.
func (c *Clock) Now() time.Time { return c.now().Add(c.skew) }

// now is the present time as callbacks count it.
func (c *Clock) now() time.Time { return c.due.Now().Add(c.past) }

// Elapsed is the time that has passed, jumps left out.
func (c *Clock) Elapsed() time.Duration { return c.now().Sub(start) }

// AfterFunc implements clock.Clock. Callbacks run between two steps, in the order of their due times and, when those are
// equal, of their creation.
func (c *Clock) AfterFunc(d time.Duration, f func()) clock.Timer {
	return c.due.AfterFunc(c.past+max(d, 0), f)
}

// Pass lets time go by without running what falls due in it: that runs before the next step. Slow files use it.
func (c *Clock) Pass(d time.Duration) { c.past += max(d, 0) }

// Jump has Now say something else from here on, as when somebody sets the machine's clock. Callbacks do not notice, but
// for those who look at Now.
func (c *Clock) Jump(d time.Duration) { c.skew += d }

// runDue runs one callback that is due, and says whether there was one.
func (c *Clock) runDue() bool {
	due, ok := c.due.Next()
	now := c.now()
	if !ok || due.After(now) {
		return false
	}
	c.past = now.Sub(due) // the step moves on to due
	return c.due.Step()
}

// skip moves to the next callback's time; false when there is none.
func (c *Clock) skip() bool {
	due, ok := c.due.Next()
	if ok {
		c.past = max(c.past, due.Sub(c.due.Now()))
	}
	return ok
}

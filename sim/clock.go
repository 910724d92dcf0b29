package sim

import (
	"container/heap"
	"time"

	"millrace/internal/clock"
)

// Clock is virtual time. It stands still but when the loop moves it: a little with every step, and to the next callback
// when there is nothing else to do. It belongs to the loop's goroutine.
type Clock struct {
	now     time.Duration // since start, as callbacks count it
	skew    time.Duration // what jumps have added to what Now says
	created uint64
	due     dueHeap
}

var _ clock.Clock = (*Clock)(nil)

// start is when every simulated life begins.
var start = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// Now is the present virtual time.
func (c *Clock) Now() time.Time { return start.Add(c.now + c.skew) }

// Elapsed is the time that has passed, jumps left out.
func (c *Clock) Elapsed() time.Duration { return c.now }

// AfterFunc implements clock.Clock. Callbacks run between two steps, in the order of their due times and, when those are
// equal, of their creation.
func (c *Clock) AfterFunc(d time.Duration, f func()) clock.Timer {
	t := &callback{clock: c, at: c.now + max(d, 0), order: c.created, f: f}
	c.created++
	heap.Push(&c.due, t)
	return t
}

// Pass lets time go by without running what falls due in it: that runs before the next step. Slow files use it.
func (c *Clock) Pass(d time.Duration) { c.now += max(d, 0) }

// Jump has Now say something else from here on, as when somebody sets the machine's clock. Callbacks do not notice, but
// for those who look at Now.
func (c *Clock) Jump(d time.Duration) { c.skew += d }

// runDue runs one callback that is due, and says whether there was one.
func (c *Clock) runDue() bool {
	if len(c.due) == 0 || c.due[0].at > c.now {
		return false
	}
	heap.Pop(&c.due).(*callback).f()
	return true
}

// skip moves to the next callback's time; false when there is none.
func (c *Clock) skip() bool {
	if len(c.due) == 0 {
		return false
	}
	c.now = max(c.now, c.due[0].at)
	return true
}

type callback struct {
	clock *Clock
	at    time.Duration
	order uint64
	pos   int // in the heap; -1 when no longer there
	f     func()
}

// Stop implements clock.Timer.
func (t *callback) Stop() bool {
	if t.pos < 0 {
		return false
	}
	heap.Remove(&t.clock.due, t.pos)
	return true
}

// dueHeap is ordered by due time, then creation.
type dueHeap []*callback

func (h dueHeap) Len() int { return len(h) }

func (h dueHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].order < h[j].order
}

func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].pos, h[j].pos = i, j
}

func (h *dueHeap) Push(x any) {
	t := x.(*callback)
	t.pos = len(*h)
	*h = append(*h, t)
}

func (h *dueHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	t.pos = -1
	return t
}

package clock

import (
	"container/heap"
	"sync"
	"time"
)

// Manual is a clock that moves only when it is told to. Callbacks run on the goroutine that moves it, in the order of
// their due times and, when those are equal, of their creation; each sees its own due time as Now. A callback may use
// the clock, set further callbacks (which run in the same move if they fall due in it) and stop others, but must not
// move the clock.
type Manual struct {
	moving sync.Mutex // held while callbacks run, so that two movers do not mix their callbacks

	mu      sync.Mutex
	now     time.Time
	created uint64
	due     timerHeap
}

var _ Clock = (*Manual)(nil)

// NewManual returns a clock that stands at start.
func NewManual(start time.Time) *Manual { return &Manual{now: start} }

// Now is where the clock stands.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// AfterFunc sets a callback that runs when the clock is moved to or past its due time.
func (m *Manual) AfterFunc(d time.Duration, f func()) Timer {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := &manualTimer{clock: m, due: m.now.Add(max(d, 0)), order: m.created, f: f}
	m.created++
	heap.Push(&m.due, t)
	return t
}

// Advance moves the clock by d and runs all that falls due on the way. It panics when d is negative.
func (m *Manual) Advance(d time.Duration) {
	if d < 0 {
		panic("clock.Manual: time cannot go back")
	}
	m.moving.Lock()
	defer m.moving.Unlock()
	end := m.Now().Add(d)
	for m.runBefore(end) {
	}
	m.mu.Lock()
	m.now = end
	m.mu.Unlock()
}

// Step moves the clock to the next due time and runs that one callback. It returns false, and moves nothing, when
// nothing is due.
func (m *Manual) Step() bool {
	m.moving.Lock()
	defer m.moving.Unlock()
	next, ok := m.Next()
	return ok && m.runBefore(next)
}

// Next is the earliest due time; ok is false when there is none.
func (m *Manual) Next() (due time.Time, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.due) == 0 {
		return time.Time{}, false
	}
	return m.due[0].due, true
}

// Pending is the number of callbacks that are still due.
func (m *Manual) Pending() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.due)
}

// runBefore runs the first callback that is due at end or before, and says whether there was one.
func (m *Manual) runBefore(end time.Time) bool {
	m.mu.Lock()
	if len(m.due) == 0 || m.due[0].due.After(end) {
		m.mu.Unlock()
		return false
	}
	t := heap.Pop(&m.due).(*manualTimer)
	m.now = t.due
	m.mu.Unlock()
	t.f() // without the lock: callbacks use the clock
	return true
}

type manualTimer struct {
	clock *Manual
	due   time.Time
	order uint64
	at    int // index in the heap; -1 when no longer there
	f     func()
}

func (t *manualTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	if t.at < 0 {
		return false
	}
	heap.Remove(&t.clock.due, t.at)
	return true
}

// timerHeap is ordered by due time, then creation.
type timerHeap []*manualTimer

func (h timerHeap) Len() int { return len(h) }

func (h timerHeap) Less(i, j int) bool {
	if !h[i].due.Equal(h[j].due) {
		return h[i].due.Before(h[j].due)
	}
	return h[i].order < h[j].order
}

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

func (h *timerHeap) Push(x any) {
	t := x.(*manualTimer)
	t.at = len(*h)
	*h = append(*h, t)
}

func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	t.at = -1
	return t
}

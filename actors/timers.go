package actors

import (
	"container/heap"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/internal/clock"
)

// TimerID names a timed message, for taking it back. The zero value names none.
type TimerID uint64

// timers sends messages later: one heap and one timer of the clock for all actors of a runtime, in the order of due
// times and, where those are equal, of creation.
type timers struct {
	clock clock.Clock
	send  func(to *actor.PID, msg any)

	mu     sync.Mutex
	due    timerHeap
	byID   map[TimerID]*timer
	last   TimerID
	armed  clock.Timer // nil when nothing is due
	round  uint64      // which arming is the valid one; a callback of an older one does nothing
	closed bool
}

type timer struct {
	id  TimerID
	at  time.Time
	to  *actor.PID
	msg any
	pos int // in the heap
}

func newTimers(c clock.Clock, send func(*actor.PID, any)) *timers {
	return &timers{clock: c, send: send, byID: make(map[TimerID]*timer)}
}

func (t *timers) after(d time.Duration, to *actor.PID, msg any) TimerID {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return 0
	}
	t.last++
	n := &timer{id: t.last, at: t.clock.Now().Add(d), to: to, msg: msg}
	t.byID[n.id] = n
	heap.Push(&t.due, n)
	if n.pos == 0 {
		t.arm()
	}
	return n.id
}

func (t *timers) cancel(id TimerID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, ok := t.byID[id]
	if !ok {
		return false
	}
	delete(t.byID, id)
	first := n.pos == 0
	heap.Remove(&t.due, n.pos)
	if first {
		t.arm()
	}
	return true
}

// arm sets the clock's timer for what is due first. It wants the lock.
func (t *timers) arm() {
	if t.armed != nil {
		t.armed.Stop()
		t.armed = nil
	}
	t.round++
	if len(t.due) == 0 {
		return
	}
	round := t.round
	t.armed = t.clock.AfterFunc(t.due[0].at.Sub(t.clock.Now()), func() { t.fire(round) })
}

func (t *timers) fire(round uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || round != t.round {
		return
	}
	// Sent under the lock, so that a timed message never overtakes one that was due earlier. Sending only queues.
	for now := t.clock.Now(); len(t.due) > 0 && !t.due[0].at.After(now); {
		n := heap.Pop(&t.due).(*timer)
		delete(t.byID, n.id)
		t.send(n.to, n.msg)
	}
	t.armed = nil
	t.arm()
}

func (t *timers) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.armed != nil {
		t.armed.Stop()
	}
	t.due, t.byID = nil, nil
}

type timerHeap []*timer

func (h timerHeap) Len() int { return len(h) }

func (h timerHeap) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].id < h[j].id
}

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].pos, h[j].pos = i, j
}

func (h *timerHeap) Push(x any) {
	n := x.(*timer)
	n.pos = len(*h)
	*h = append(*h, n)
}

func (h *timerHeap) Pop() any {
	old := *h
	n := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return n
}

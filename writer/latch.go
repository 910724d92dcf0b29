package writer

import "sync/atomic"

// latch is a mutex that is not fair. A sync.Mutex that somebody could not get for a millisecond, as happens when there are more
// threads than cores, hands itself from one to the next until nobody has waited as long: then each of them sleeps for each Add,
// the processor spends more time on that than on adding, and one Add in a thousand takes a hundred times as long as another.
// Here who runs goes on, and one of those who wait is woken to try again.
type latch struct {
	locked  atomic.Int32
	waiting atomic.Int32
	woken   atomic.Bool // somebody was woken and has not tried again yet
	wake    chan struct{}
}

func (l *latch) init() { l.wake = make(chan struct{}, 1) }

func (l *latch) tryLock() bool { return l.locked.Load() == 0 && l.locked.CompareAndSwap(0, 1) }

func (l *latch) lock() {
	if l.tryLock() {
		return
	}
	l.waiting.Add(1) // from now on whoever unlocks looks here
	for !l.tryLock() {
		<-l.wake
		got := l.tryLock()
		l.woken.Store(false) // who unlocked meanwhile woke nobody: so try again
		if got {
			break
		}
	}
	l.waiting.Add(-1)
}

func (l *latch) unlock() {
	l.locked.Store(0)
	if l.waiting.Load() > 0 && l.woken.CompareAndSwap(false, true) {
		l.wake <- struct{}{} // has room: there is one for each time that woken was set
	}
}

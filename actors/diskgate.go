package actors

import (
	"errors"
	"sync"
	"syscall"
	"time"

	"millrace/actors/protocol"
)

// diskGate spaces what is tried on a disk without space, over all actors of a store: while it lasts there are at most 12
// tries a minute, whoever makes them. It locks inside.
type diskGate struct {
	mu    sync.Mutex
	full  bool
	tries backOff
	open  bool // a try is under way, as far as is known
	told  bool // the files actor is to look, and has not begun
}

// isFull says whether an error is of a disk without space.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// failed notes that a try found no space. tell is true if there was some before, and the files actor is to be told so.
func (g *diskGate) failed(now time.Time) (tell bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = false
	if g.full {
		return false
	}
	g.full = true
	g.tries = backOff{}
	g.tries.failed(now)
	tell = !g.told
	g.told = true
	return tell
}

// heard notes that the files actor looks.
func (g *diskGate) heard() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.told = false
}

// try asks whether something may be written: 0 if it may, else how long to wait. On a full disk a try that is allowed
// puts off the next.
func (g *diskGate) try(now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.full {
		return 0
	}
	if wait := g.tries.next.Sub(now); wait > 0 {
		return wait
	}
	g.tries.failed(now)
	g.open = true
	return 0
}

// trying says whether a try is under way, so that it is not known yet whether there still is no space.
func (g *diskGate) trying() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.full && g.open
}

// ok notes that something was written.
func (g *diskGate) ok() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.full, g.open = false, false
}

// again lets one try through at once, because there seems to be space.
func (g *diskGate) again() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tries = backOff{}
}

// isFull says whether there was no space when something was last tried.
func (g *diskGate) isFull() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.full
}

// noteDisk takes the error of something that was written, or nil.
func (k *core) noteDisk(err error) {
	switch {
	case err == nil:
		k.disk.ok()
	case isFull(err) && k.disk.failed(k.rt.clock.Now()):
		k.rt.Send(k.filer.get(), &protocol.WatchSpace{})
	}
}

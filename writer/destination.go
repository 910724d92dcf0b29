package writer

import (
	"context"

	"millrace/internal/clock"
	"millrace/tablet/locate"
)

// Destination is where a writer's mutations go: a table of a store, or anything else that takes them.
type Destination interface {
	// Map is where the tablets are now. It is asked once a set; an error fails the set's mutations.
	Map() (*locate.Map, error)
	// Send hands over a set that was binned by its Map. The destination settles every mutation of it, by Done or Fail of the
	// set, sooner or later, from any goroutine, in Send if it likes. The sets that hold one row come in the order in which its
	// mutations were added, one Send after the other; others may come at the same time.
	Send(s *Set)
	// GiveUp says that a set has been without progress for Options.Timeout. What waits for something that makes no progress
	// is to be failed, with what s.Expired returns; what does, need not.
	GiveUp(s *Set)
}

// Blocking is a Destination whose Send does the work itself instead of passing it on. It is called by actors of its own,
// Options.Threads of them (with variants other than Actors one, so that sets keep their order).
type Blocking interface {
	Destination
	SendBlocks()
}

// Host is what a writer needs of the world around it. Package actors has one.
type Host interface {
	Clock() clock.Clock
	// Start has n workers wait to be woken.
	Start(w *BatchWriter, n int) error
	// Wake has w.Work(worker) called soon, on the worker's own goroutine. It does not block. The writer wakes no worker
	// again that has not begun to work.
	Wake(worker int)
	// Settle stands before each wait of a caller's goroutine for something that ready tells; the wait goes by the context
	// that it returns. A simulation waits in it.
	Settle(ctx context.Context, on string, ready func() bool) context.Context
	// Stop ends the workers once they have nothing left to do. It does not wait longer than the context.
	Stop(ctx context.Context) error
}

// Discard is a destination that costs nothing: it has a map of tablets, and acknowledges what it gets at once. With it a
// writer's own work can be measured.
type Discard struct{ Tablets *locate.Map }

var _ Destination = Discard{}

// Map implements Destination.
func (d Discard) Map() (*locate.Map, error) { return d.Tablets, nil }

// Send implements Destination.
func (d Discard) Send(s *Set) {
	n, bytes := 0, int64(0)
	for i := range s.Bins {
		n += len(s.Bins[i].Mutations)
		bytes += s.Bins[i].Bytes
	}
	s.Done(n, bytes)
}

// GiveUp implements Destination.
func (d Discard) GiveUp(*Set) {}

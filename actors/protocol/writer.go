package protocol

import (
	"errors"
	"time"

	"millrace/tablet"
	"millrace/writer"
)

// The conversation of a batch writer:
//
//	writer  --Bin-->       worker   there are sets to bin, or to send; never a second one that the worker has not seen
//	worker  --WriteSet-->  binner   a set that was binned, which is the binner's from then on
//	binner  ..Done..>      set      once a tablet has applied its part: gives the memory back
//	writer  --GiveUp-->    binner   a set has been without progress for too long
//	store   --LastTries--> binner   nothing is tried again any more
//	writer  --EndBins-->   worker   finish what there is, and stop
//
// Sets pass from owner to owner, and whoever has one changes it. What is on its way is bounded by the writer's memory, not
// by credits; a worker's mailbox never has more than its next turn and its end.

// Bin tells a writer's worker to do what there is.
type Bin struct{}

// EndBins tells a writer's worker to do what there is, and stop.
type EndBins struct{}

// WriteSet gives the binner mutations for one table, by tablet.
type WriteSet struct {
	Table string
	Set   *writer.Set
}

// Refuse implements Refusable: if nobody has taken the set, nothing of it will be written; if somebody has and failed over
// it, that is not known.
func (m *WriteSet) Refuse(err error) bool {
	m.Set.Refuse(err, !errors.Is(err, tablet.ErrClosed))
	return true
}

// GiveUp tells the binner to wait no longer for tablets that have applied nothing since.
type GiveUp struct {
	Table string
	Set   *writer.Set
	Since time.Time
}

// LastTries tells the binner that the store is being closed: what a tablet refuses from now on, for the moment or not, has
// failed, or a close would wait for a full disk.
type LastTries struct{}

// LaneAgain has the binner try a tablet again that refused a batch for the moment.
type LaneAgain struct {
	Table  string
	Tablet tablet.Extent
}

package protocol

import (
	"github.com/asynkron/protoactor-go/actor"
)

// The split conversation:
//
//	store   --AddSplits-->  engine
//	engine  --Split-->      tablet    takes no more mutations; ends its jobs and puts its memory into files
//	tablet  --Record-->     manifest  one record: one tablet becomes two
//	tablet  --SplitDone-->  engine    which starts the two, tells everybody, and stops the old one
//	store   <..SplitsAdded..  engine
//	binner  --LaneClosed--> engine    nothing is on its way any more to the old tablet, which can be stopped
//
// What the binner had sent meanwhile comes back as moved, and goes where it belongs now, in order.

// AddSplits asks that a table be cut at rows. Where it is cut already nothing happens.
type AddSplits struct {
	Asked[SplitsAdded]
	Table string
	Rows  [][]byte
}

// SplitsAdded answers AddSplits.
type SplitsAdded struct{}

// Split asks a tablet to become two.
type Split struct {
	From    *actor.PID
	Request uint64
	Row     []byte // the last of the lower half
	// Low and High number the halves.
	Low, High uint64
}

// SplitDone answers Split. Err is nil exactly when the split is durable; then the tablet takes nothing any more.
// Otherwise it goes on as before.
type SplitDone struct {
	Request   uint64
	Low, High uint64
	Err       error
}

// LaneClosed says that nothing is on its way any more to a tablet that has left its table.
type LaneClosed struct{ Tablet *actor.PID }

// Refusal implements Answerable.
func (m *Split) Refusal(err error) (*actor.PID, any) {
	return m.From, &SplitDone{Request: m.Request, Err: err}
}

package protocol

import (
	"github.com/asynkron/protoactor-go/actor"

	"millrace/tablet"
)

// The apply conversation:
//
//	store   --Write-->    binner   mutations for one table, admitted by their bytes
//	binner  --Apply-->    tablet   those of its extent, a window of them on their way
//	tablet  --Applied-->  binner   readers see them; gives the credit back
//	binner  ..Written..>  store    once every tablet concerned has answered
//
// Mutations of one row keep the order in which one sender gave them: there is one binner, and it sends a tablet's
// batches in order. A tablet whose memory is full answers late; so the window closes, the binner keeps what follows,
// and the store's admission makes writers wait.

// ApplyWindow is how many batches the binner has on their way to one tablet.
const ApplyWindow = 8

// Write asks that mutations be applied. Each is applied whole or not at all; several need not be together. It was admitted with
// their bytes.
type Write struct {
	Asked[Written]
	Table     string
	Mutations []*tablet.Mutation
	// Durability is how safe they are to be before the answer. The default is the table's.
	Durability tablet.Durability
}

// Written answers Write.
type Written struct {
	// Refused are the mutations that a constraint stands against; the others were applied.
	Refused []Refusal
}

// Refusal is one mutation that was not applied, and why.
type Refusal struct {
	Mutation *tablet.Mutation
	Err      error
}

// Apply gives a tablet mutations of its rows, in the order in which they count.
type Apply struct {
	From      *actor.PID
	Batch     uint64 // names the batch to the binner
	Mutations []*tablet.Mutation
	Bytes     int64 // estimated memory
	// Round grows when batches that were moved are sent again. A tablet that has sent away one batch of a round sends away
	// all that follow of it, so that they keep their order.
	Round uint64
	// Durability is how safe they are to be before they are seen.
	Durability tablet.Durability
}

// Applied answers Apply. Err is nil and Moved false exactly when all but the refused were applied.
type Applied struct {
	Batch   uint64
	Refused []Refusal
	// Moved says that nothing was applied, nor will be, because the tablet takes no more: the mutations go elsewhere.
	Moved bool
	Err   error
}

// Refusal implements Answerable.
func (m *Apply) Refusal(err error) (*actor.PID, any) {
	return m.From, &Applied{Batch: m.Batch, Err: err}
}

// Drain asks the binner to take no more and to answer when all it holds is written.
type Drain struct{ Asked[Drained] }

// Drained answers Drain.
type Drained struct{}

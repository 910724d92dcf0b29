package protocol

import (
	"github.com/asynkron/protoactor-go/actor"

	"millrace/tablet"
)

// The log conversation. All tablets share one log:
//
//	tablet    --Append-->      log       mutations on their way to memory
//	log       --SyncNow-->     log       behind whatever has queued up meanwhile: one write, one sync for all of it
//	log       --Appended-->    tablet    as safe as was asked for, or not in the log
//	log       --LogTick-->     log       while entries wait that nobody waits for, and for closing old segments
//	manifest  --InFiles-->     log       what durable records say of tablets, one at a time: segments that nobody needs go
//	log       --InFilesTaken-> manifest
//	log       --FlushTablets-> engine    tablets that keep too many segments, one at a time
//	engine    --FlushThese-->  scheduler
//	scheduler --TabletsAsked-> log
//
// When a tablet or the log itself is replaced:
//
//	engine    --ReadLog-->     log       what the log holds of a tablet and files do not
//	log       --LogRead-->     engine
//
// At the end:
//
//	store     --Drain-->       log       closes the segment, so that nobody need look for its end

// Append logs mutations of one tablet, which were prepared together. The mailbox of the log holds at most what the
// tablets were given to apply.
type Append struct {
	From  *actor.PID
	Batch uint64 // names it to the tablet
	// Tablet is the tablet's number, Session that of the memtable the mutations are for.
	Tablet, Session uint64
	// The i-th mutation's updates that came without a timestamp get Timestamp + i*Step.
	Timestamp, Step int64
	Mutations       []*tablet.Mutation
	Durability      tablet.Durability // never none, nor the default
}

// Appended answers Append. After an error it is not known whether the mutations will be found when the log is read.
type Appended struct {
	Batch uint64
	Err   error
}

// Refusal implements Answerable.
func (m *Append) Refusal(err error) (*actor.PID, any) {
	return m.From, &Appended{Batch: m.Batch, Err: err}
}

// SyncNow is a marker in the log's mailbox: what queued up before it is in the group.
type SyncNow struct {
	// Round names the group that the marker is the timer of, 0 if it is none.
	Round uint64
}

// LogTick is the log's timer.
type LogTick struct{}

// InFiles says that everything of tablets up to a session is in files that a durable record names, or is wanted no more.
type InFiles struct {
	From    *actor.PID
	Request uint64
	Filed   []Filed
}

// Filed is a tablet, by its number, and a session.
type Filed struct{ Tablet, Session uint64 }

// InFilesTaken answers InFiles. After an error a new log finds out by itself.
type InFilesTaken struct {
	Request uint64
	Err     error
}

// Refusal implements Answerable.
func (m *InFiles) Refusal(err error) (*actor.PID, any) {
	return m.From, &InFilesTaken{Request: m.Request, Err: err}
}

// FlushTablets names tablets whose unflushed entries keep more of the log than is allowed.
type FlushTablets struct {
	From    *actor.PID
	Request uint64
	Tablets []uint64
}

// Refusal implements Answerable.
func (m *FlushTablets) Refusal(err error) (*actor.PID, any) {
	return m.From, &TabletsAsked{Request: m.Request, Err: err}
}

// TabletsAsked answers FlushTablets, by way of FlushThese. After an error nobody was asked.
type TabletsAsked struct {
	Request uint64
	Err     error
}

// ReadLog asks for the entries of a tablet that were logged for later sessions than one.
type ReadLog struct {
	From   *actor.PID
	Read   uint64 // names it to the sender
	Tablet uint64
	After  uint64
	// Each is called for each entry, in order, before LogRead is sent. What it changes is the log's until then.
	Each func(*Logged)
}

// LogRead answers ReadLog.
type LogRead struct {
	Read uint64
	Err  error
}

// Logged is an entry of the log.
type Logged struct {
	Session         uint64
	Timestamp, Step int64
	Mutations       []*tablet.Mutation
}

// Refusal implements Answerable.
func (m *ReadLog) Refusal(err error) (*actor.PID, any) {
	return m.From, &LogRead{Read: m.Read, Err: err}
}

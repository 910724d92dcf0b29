package protocol

import "github.com/asynkron/protoactor-go/actor"

// The memory conversation keeps all memtables together within their bound:
//
//	tablet     --MemoryIs-->     scheduler  when what it holds has changed enough, one at a time
//	scheduler  --MemorySeen-->   tablet     which may report again
//	scheduler  --FlushMemory-->  tablet     which freezes its memtable, wishes to flush it, and reports; then it is asked again
//	engine     --FlushThese-->   scheduler  which asks them likewise: they keep the log long
//	scheduler  --Hold-->         binner     nothing goes to tablets any more; or it goes on
//	scheduler  --MemoryTick-->   scheduler  a few times a second while there is anything in memory
//	engine     --BinnerIs-->     scheduler  a new binner has to be told

// MemoryIs is what a tablet's memtables take, by estimate.
type MemoryIs struct {
	From             *actor.PID
	Active, Flushing int64 // bytes
}

// MemorySeen answers MemoryIs.
type MemorySeen struct{}

// FlushThese has tablets flushed whatever they hold. It is answered by TabletsAsked.
type FlushThese struct {
	From    *actor.PID
	Request uint64
	Tablets []*actor.PID
}

// Refusal implements Answerable.
func (m *FlushThese) Refusal(err error) (*actor.PID, any) {
	return m.From, &TabletsAsked{Request: m.Request, Err: err}
}

// FlushMemory asks a tablet to flush. It is not answered; a tablet that flushes already, or has nothing, ignores it.
type FlushMemory struct{}

// Hold stops the binner, or lets it go on.
type Hold struct{ On bool }

// HoldOverdue is the binner's timer for a hold that lasts too long.
type HoldOverdue struct{ Hold uint64 }

// MemoryTick is the time at which the scheduler looks at memory.
type MemoryTick struct{}

// BinnerIs tells the scheduler where the binner is.
type BinnerIs struct{ Binner *actor.PID }

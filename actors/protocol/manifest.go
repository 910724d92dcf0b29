package protocol

import (
	"github.com/asynkron/protoactor-go/actor"

	"millrace/tablet"
	"millrace/tablet/manifest"
)

// The manifest conversation. Everything that is to outlast the store goes through one actor, and is one record:
//
//	tablet    --Record-->    manifest   a file for a memtable, one for others, two tablets for one
//	engine    --Record-->    manifest   tables made, changed and dropped
//	manifest  --Recorded-->  whoever    it is durable; only now does anything change in memory
//	manifest  --InFiles-->   log        see there
//	log       --InFilesTaken-->  manifest
//	manifest  --Heal-->      manifest   its timer, after a write whose effect is not known
//	engine    --GetState-->  manifest
//	manifest  --StateIs-->   engine
//	tablet    --Doubted-->   manifest   one that has failed, of its last output
//	store     --Drain-->     manifest   closes the file

// Record makes edits durable, all of them or none.
type Record struct {
	From    *actor.PID
	Request uint64 // names it to the sender
	Edits   []manifest.Edit
}

// Recorded answers Record. Err is nil exactly when the edits are durable.
type Recorded struct {
	Request uint64
	Err     error
	// Doubt says that the edits may be found when the manifest is read after a crash. What they name stays where it is;
	// the manifest sees to it once it can.
	Doubt bool
}

// Refusal implements Answerable. The record may have been written.
func (m *Record) Refusal(err error) (*actor.PID, any) {
	return m.From, &Recorded{Request: m.Request, Err: err, Doubt: true}
}

// Doubted names a file of whose record its tablet will not hear any more.
type Doubted struct{ File tablet.FileMeta }

// Heal has the manifest try to get rid of a doubt.
type Heal struct{}

// GetState asks for what is durable.
type GetState struct {
	From    *actor.PID
	Request uint64
}

// StateIs answers GetState.
type StateIs struct {
	Request uint64
	State   *manifest.State
	Err     error
}

// Refusal implements Answerable.
func (m *GetState) Refusal(err error) (*actor.PID, any) {
	return m.From, &StateIs{Request: m.Request, Err: err}
}

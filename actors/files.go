package actors

import (
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/internal/invariant"
)

// filesActor closes and removes files, which no tablet does itself.
type filesActor struct {
	rt    *Runtime
	files *openFiles
}

// Receive routes the messages of files. Its mailbox holds at most one message for each file of the store.
func (a *filesActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *protocol.FreeFile:
		a.onFreeFile(c, m)
	case *protocol.Drain:
		m.Answer(&protocol.Drained{})
	case *actor.Started, *actor.Stopping, *actor.Stopped, *actor.Restarting:
	default:
		invariant.Unexpected("files", m)
	}
}

// onFreeFile tries again for ever, ever more slowly: a file that stays is only wasted space.
func (a *filesActor) onFreeFile(c actor.Context, m *protocol.FreeFile) {
	err := a.files.release(m.Number)
	if err == nil {
		return
	}
	const first, most = time.Second, 5 * time.Minute
	wait := min(first<<min(m.Tries, 20), most)
	a.rt.log.Warn("file could not be closed or removed", slog.Uint64("file", m.Number), slog.Any("err", err), slog.Duration("again", wait))
	a.rt.After(wait, c.Self(), &protocol.FreeFile{Number: m.Number, Tries: m.Tries + 1})
}

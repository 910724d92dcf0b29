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
	core  *core
	files *openFiles
	// free is how many bytes there were on the disk when there were too few.
	free     uint64
	watching bool
}

// Receive routes the messages of files. What its mailbox may hold is in bounds.go.
func (a *filesActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *protocol.FreeFile:
		a.onFreeFile(c, m)
	case *protocol.WatchSpace:
		a.onWatchSpace(c, m)
	case *protocol.Drain:
		m.Answer(&protocol.Drained{})
	case *actor.Started: // what its predecessor was told may have died with it
		a.onWatchSpace(c, &protocol.WatchSpace{})
	case *actor.Stopping, *actor.Stopped, *actor.Restarting:
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
	a.core.rt.log.Warn("file could not be closed or removed", slog.Uint64("file", m.Number), slog.Any("err", err), slog.Duration("again", wait))
	a.core.rt.After(wait, c.Self(), &protocol.FreeFile{Number: m.Number, Tries: m.Tries + 1})
}

// spaceTick is how often the disk is asked for its free space while there is too little.
const spaceTick = 500 * time.Millisecond

// spaceLeast is how much more space there must be for it to count.
const spaceLeast = 64 << 10

// onWatchSpace looks for space until something could be written. A disk that says it has space and takes nothing is left to
// the tries that are made now and then.
func (a *filesActor) onWatchSpace(c actor.Context, m *protocol.WatchSpace) {
	if !m.Again {
		a.core.disk.heard()
		if a.watching {
			return
		}
	}
	if a.watching = a.core.disk.isFull(); !a.watching {
		return
	}
	free, err := a.core.fs.Free(".")
	switch {
	case err != nil:
	case !m.Again:
		a.free = free
	case free > a.free && free-a.free >= max(spaceLeast, a.free/4):
		a.free = free
		a.core.disk.again()
		c.Send(c.Parent(), &protocol.SpaceIsBack{})
	default:
		a.free = min(a.free, free)
	}
	a.core.rt.After(spaceTick, c.Self(), &protocol.WatchSpace{Again: true})
}

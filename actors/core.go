package actors

import (
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/compactor/plan"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/hosted"
	"millrace/tablet/iter"
)

// core is what the actors of one store share: settings, which do not change, and three things that are safe for
// concurrent use.
type core struct {
	rt      *Runtime
	fs      vfs.FS
	server  ServerSettings
	profile plan.Profile
	mode    iter.Mode // of compactions that nobody asked for
	files   *openFiles
	// numbers gives jobs and files their numbers, each once.
	numbers atomic.Uint64
	// Where the engine's other children are. They change when one is replaced.
	scheduler, binner, filer, scans address
}

// address is where an actor is that may be replaced.
type address struct{ pid atomic.Pointer[actor.PID] }

func (a *address) get() *actor.PID { return a.pid.Load() }

func (a *address) set(pid *actor.PID) { a.pid.Store(pid) }

// dataDir holds all files of a store.
const dataDir = "data"

// freeFile has the files actor look at a file that nobody holds.
func (k *core) freeFile(number uint64) {
	k.rt.Send(k.filer.get(), &protocol.FreeFile{Number: number})
}

// tabletHandle opens views of a tablet, from any goroutine.
type tabletHandle struct {
	core   *core
	extent tablet.Extent
	tablet *hosted.Tablet
}

// View opens what the tablet holds now. Everything that was acknowledged is in it.
func (h *tabletHandle) View() (protocol.View, error) {
	v := h.tablet.View()
	if v == nil {
		return nil, ErrStopped
	}
	return &tabletView{view: v, memory: v.Snapshots(), files: h.core.files}, nil
}

// planner is a table's policy of compaction.
func (k *core) planner(s *TableSettings) hosted.Planner {
	o := plan.Options{Ratio: s.Ratio, MaxOpen: k.server.MajorOpenMax, FileMax: s.FileMax}
	if o.FileMax == 0 {
		o.FileMax = k.server.ScanFilesMax - 1
	}
	return plan.Policy{Profile: k.profile, Options: o}
}

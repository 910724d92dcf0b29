package actors

import (
	"fmt"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/compactor/plan"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/hosted"
	"millrace/tablet/iter"
	"millrace/tablet/locate"
	"millrace/tablet/manifest"
	"millrace/tablet/wal"
)

// core is what the actors of one store share: settings, which do not change, and things that are safe for concurrent use.
type core struct {
	rt      *Runtime
	fs      vfs.FS
	server  ServerSettings
	profile plan.Profile
	mode    iter.Mode // of compactions that nobody asked for
	files   *openFiles
	// numbers gives jobs and files their numbers, each once.
	numbers atomic.Uint64
	// tables is where the tablets of all tables are. The engine alone changes it.
	tables atomic.Pointer[tableMap]
	// state is what the manifest says. The manifest actor alone changes it.
	state atomic.Pointer[manifest.State]
	// disk says whether there is space.
	disk diskGate
	// doubted are files whose records nobody knows of.
	doubted doubts
	// openedLog and openedManifest are what the store was opened with, until the first actors that own them take them.
	openedLog      atomic.Pointer[wal.Log]
	openedManifest atomic.Pointer[manifest.Writer]
	// writerBytes is the memory of all batch writers together, of those that were closed too.
	writerBytes atomic.Int64
	// Where the engine's other children are. They change when one is replaced.
	scheduler, binner, filer, scans, log, manifest address
}

// tableMap is all tables by name. It is immutable.
type tableMap map[string]*storeTable

// storeTable is what reading and writing a table takes, at one moment. It is immutable; when tablets are split or replaced,
// or properties change, another takes its place in the map, with a greater version.
type storeTable struct {
	name       string
	version    uint64
	extents    *locate.Map
	tablets    []protocol.TabletRef // in the order of extents
	settings   *TableSettings
	properties map[string]string // as they were set
	passed     chan struct{}     // closed when it is so no more
}

// failed is why one of its tablets is not there, and will not be.
func (t *storeTable) failed() error {
	for i := range t.tablets {
		if err := t.tablets[i].Failed; err != nil {
			return err
		}
	}
	return nil
}

// table is a table as it is now.
func (k *core) table(name string) (*storeTable, bool) {
	t, ok := (*k.tables.Load())[name]
	return t, ok
}

// number gives out the next number for a job, a file or a tablet.
func (k *core) number() uint64 { return k.numbers.Add(1) }

// address is where an actor is that may be replaced.
type address struct{ pid atomic.Pointer[actor.PID] }

func (a *address) get() *actor.PID { return a.pid.Load() }

func (a *address) set(pid *actor.PID) { a.pid.Store(pid) }

// freeFile has the files actor look at a file that nobody holds.
func (k *core) freeFile(number uint64) {
	k.rt.Send(k.filer.get(), &protocol.FreeFile{Number: number})
}

// tabletHandle opens views of a tablet, from any goroutine.
type tabletHandle struct {
	core   *core
	number uint64
	extent tablet.Extent
	tablet *hosted.Tablet
}

// loadTablet makes a live tablet of what the manifest says of it. It holds the tablet's files until it has let go of them.
func loadTablet(k *core, number uint64, s hosted.State, settings *TableSettings) (*tabletHandle, error) {
	h := &tabletHandle{core: k, number: number, extent: s.Extent}
	t, err := hosted.New(s, hosted.Options{
		Time: settings.Time, MaxKeyBytes: settings.KeyBytesMax, Planner: k.planner(settings),
		OnObsolete: func() {
			for _, meta := range h.tablet.Obsolete() {
				k.files.letGo(meta)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("load tablet %v: %w", s.Extent, err)
	}
	for _, meta := range s.Files {
		k.files.hold(meta)
	}
	h.tablet = t
	return h, nil
}

// stateOf is what a tablet is loaded from, but for what the log has of it.
func stateOf(t *manifest.Tablet) hosted.State {
	s := hosted.State{Extent: t.Extent, Time: t.Time, Session: t.Session + 1, NextAge: t.NextAge}
	for i := range t.Files {
		s.Files = append(s.Files, t.Files[i].FileMeta)
	}
	return s
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

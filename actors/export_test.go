package actors

import (
	"context"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/compactor/job"
	"millrace/compactor/plan"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/hosted"
	"millrace/tablet/iter"
	"millrace/tablet/manifest"
	"millrace/tablet/memtable"
)

// What the tests of package actors_test may see.

func SchedulerSpec(rt *Runtime, s ServerSettings) Spec {
	return Spec{Kind: "scheduler", New: func() actor.Actor { return newScheduler(rt, s) }}
}

func BinnerSpec(rt *Runtime) Spec {
	return Spec{Kind: "binner", New: func() actor.Actor { return newBinner(rt, 0) }}
}

func ScansSpec(rt *Runtime, idle time.Duration) Spec {
	return Spec{Kind: "scans", New: func() actor.Actor { return newScans(rt, idle) }}
}

// JobTest is what tests say of a job.
type JobTest struct {
	ID     protocol.JobID
	Kind   protocol.JobKind
	Memory *memtable.Snapshot
	Files  []tablet.FileMeta // newest first
	Spec   job.Spec
	FS     vfs.FS
	Name   string
}

// OpenFiles is the table of open files, with the numbers it has named to be freed.
type OpenFiles struct {
	*openFiles
	Freed []uint64
}

func NewOpenFiles(fs vfs.FS, idleMax int) *OpenFiles {
	o := &OpenFiles{}
	o.openFiles = newOpenFiles(fs, idleMax, func(n uint64) { o.Freed = append(o.Freed, n) })
	return o
}

func (o *OpenFiles) Count() (open, leases int) { return o.count() }

func JobSpec(rt *Runtime, files *OpenFiles, t JobTest) Spec {
	p := &jobPlan{id: t.ID, kind: t.Kind, memory: t.Memory, spec: t.Spec, fs: t.FS, name: t.Name}
	for _, f := range t.Files {
		p.files = append(p.files, files.lease(f))
	}
	return Spec{Kind: "compaction", Bulk: true, Bound: jobBound, New: func() actor.Actor { return newJobActor(rt, p) }}
}

// FilesForTest lists the names in the data directory.
func (s *Store) FilesForTest() ([]string, error) { return s.core.fs.List(manifest.DataDir) }

// TabletTest is a tablet's surroundings in a test: a file system, and addresses for the actors that it speaks to.
type TabletTest struct {
	core   *core
	tablet *hosted.Tablet
}

func NewTabletTest(rt *Runtime, fs vfs.FS, profile plan.Profile, filer, log *actor.PID, d *Durable) *TabletTest {
	k := &core{rt: rt, fs: fs, profile: profile, mode: iter.New, server: ServerSettings{MajorOpenMax: 10, ScanFilesMax: 100}}
	k.filer.set(filer)
	k.log.set(log)
	k.manifest.set(log)
	k.files = newOpenFiles(fs, 100, k.freeFile)
	d.files = k.files
	return &TabletTest{core: k}
}

// Leases is how many holds there are on files.
func (t *TabletTest) Leases() int { _, n := t.core.files.count(); return n }

// Spec makes a tablet of all rows, and the function that opens its views.
func (t *TabletTest) Spec(properties map[string]string, scheduler *actor.PID) (Spec, func() (protocol.View, error), error) {
	settings, err := ParseTable(properties)
	if err != nil {
		return Spec{}, nil, err
	}
	h, err := loadTablet(t.core, 1, hosted.State{Extent: tablet.Extent{Table: "t"}}, &settings)
	t.tablet = h.tablet
	return Spec{Kind: "tablet", New: func() actor.Actor { return newTabletActor(t.core, h, &settings, scheduler) }}, h.View, err
}

// Plan has the tablet that Spec has made plan its compactions in another way. It must have nothing to do.
func (t *TabletTest) Plan(p hosted.Planner) { t.tablet.Configure(p, 1<<20) }

// Durable plays log and manifest: it answers everything at once, unless Refuse says with what error.
type Durable struct {
	Refuse func(msg any) error
	Silent bool // it does not answer at all
	files  *openFiles
}

// Spec makes the actor.
func (d *Durable) Spec() Spec {
	return Spec{Kind: "durable", New: func() actor.Actor { return d }}
}

// Receive implements actor.Actor.
func (d *Durable) Receive(c actor.Context) {
	err := error(nil)
	if d.Silent {
		return
	}
	if d.Refuse != nil {
		err = d.Refuse(c.Message())
	}
	switch m := c.Message().(type) {
	case *protocol.Append:
		c.Send(m.From, &protocol.Appended{Batch: m.Batch, Err: err})
	case *protocol.Record:
		if e, ok := m.Edits[0].(manifest.Swap); ok && err == nil {
			for _, n := range e.Remove {
				d.files.unname(tablet.FileMeta{Number: n})
			}
		}
		c.Send(m.From, &protocol.Recorded{Request: m.Request, Err: err})
	}
}

// LeasesForTest tells of every file that somebody has.
func (s *Store) LeasesForTest() (out []string) {
	t := s.core.files
	t.mu.Lock()
	defer t.mu.Unlock()
	for n, f := range ordered(t.files) {
		out = append(out, fmt.Sprintf("%d: %d leases, %d holds, unnamed %v, freeing %v, open %v", n, f.leases, f.holds, f.unnamed, f.freeing, f.open))
	}
	return out
}

// CoreTest is a store's log and manifest actors, opened on a file system, without the rest of the store.
type CoreTest struct{ core *core }

// NewCoreTest opens them. Whom they tell of files and of the log are the test's.
func NewCoreTest(rt *Runtime, fs vfs.FS, properties map[string]string, filer, log *actor.PID) (*CoreTest, error) {
	server, err := ParseServer(properties, 0)
	if err != nil {
		return nil, err
	}
	k := &core{rt: rt, fs: fs, server: server, profile: plan.V1_5, mode: iter.New}
	k.filer.set(filer)
	k.log.set(log)
	k.files = newOpenFiles(fs, 100, k.freeFile)
	_, err = k.load(context.Background())
	return &CoreTest{k}, err
}

func (t *CoreTest) LogSpec() Spec {
	return Spec{Kind: "log", Bulk: true, New: func() actor.Actor { return newLogActor(t.core) }}
}

func (t *CoreTest) ManifestSpec() Spec {
	return Spec{Kind: "manifest", Bulk: true, New: func() actor.Actor { return newManifestActor(t.core) }}
}

// Number is the next one of the store's.
func (t *CoreTest) Number() uint64 { return t.core.number() }

package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/compactor/job"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/memtable"
)

// What the tests of package actors_test may see.

func SchedulerSpec(minorMax, majorMax int) Spec {
	return Spec{Kind: "scheduler", New: func() actor.Actor { return newScheduler(minorMax, majorMax) }}
}

func BinnerSpec() Spec {
	return Spec{Kind: "binner", New: func() actor.Actor { return newBinner() }}
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

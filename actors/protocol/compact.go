package protocol

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/tablet"
	"millrace/tablet/iter"
)

// The compaction conversation, of minor ones (flushes) and of major ones alike:
//
//	tablet     --WantPermit-->  scheduler
//	scheduler  --Permit-->      tablet      which spawns the job, its child
//	job        --Continue-->    job         between its steps
//	tablet     --Cancel-->      job         which ends with an error soon
//	job        --JobDone-->     tablet      installs or swaps the file, the one commit, and stops the job
//	tablet     --Release-->     scheduler   also takes a wish back
//
// A job that dies without JobDone is seen by its tablet, its parent, as Terminated. The scheduler watches tablets: what
// a dead one held is free again. After the scheduler was replaced:
//
//	engine     --SchedulerIs-->  tablet     which sends its wishes again, and Holding for each permit it has

// JobID numbers jobs over the whole life of a store; it is also the number of the job's output file.
type JobID uint64

// JobKind is what a job is for.
type JobKind uint8

// Kinds of jobs.
const (
	Minor   JobKind = iota // a frozen memtable to a file
	Major                  // chosen by the planner
	User                   // all files, on request
	Scratch                // all files, on request, to be measured and thrown away
)

func (k JobKind) String() string {
	return [...]string{"minor", "major", "user", "scratch"}[k]
}

// WantPermit is a tablet's wish to run a job.
type WantPermit struct {
	From  *actor.PID
	Job   JobID
	Kind  JobKind
	Files int   // inputs
	Bytes int64 // of the inputs
	// Urgent says that writers wait for the job.
	Urgent bool
}

// Permit grants a wish.
type Permit struct{ Job JobID }

// Release returns a permit, or takes a wish back.
type Release struct {
	From *actor.PID
	Job  JobID
}

// Holding tells a new scheduler of a permit that its predecessor gave.
type Holding struct {
	From *actor.PID
	Job  JobID
	Kind JobKind
}

// SchedulerIs tells a tablet where the scheduler is.
type SchedulerIs struct{ Scheduler *actor.PID }

// Continue is what a job, or a scan, sends itself between two steps.
type Continue struct{}

// Retry is a tablet's timer for trying again what failed.
type Retry struct{ Kind JobKind }

// Cancel asks a job to end; it answers with JobDone.
type Cancel struct{ Job JobID }

// JobDone ends a job. Err is nil exactly when Output is complete and synced, its directory included. Output has no
// entries, and no file exists, when nothing was left to write.
type JobDone struct {
	Job    JobID
	Output tablet.FileMeta
	Books  iter.Books
	Merge  iter.Stats
	// Took is from the first step to the synced file; CPU the processor time of the steps.
	Took, CPU time.Duration
	// Hash is of the output's bytes; only of a Scratch job.
	Hash [32]byte
	Err  error

	// Discard removes the output. It is called when nobody takes it.
	Discard func()
}

// Release implements Releaser: an output that nobody takes is removed.
func (m *JobDone) Release() {
	if m.Discard != nil {
		m.Discard()
	}
}

// Messages of users: they ask the engine, which asks every tablet of the table.
//
//	store   --FlushTable-->    engine  --Flush-->    tablet
//	store   <..TableFlushed..  engine  <--Flushed--  tablet    once what was in memory is in files
//	store   --FlushUnlogged--> engine  --Flush-->    tablet    before the end, those with entries that nothing else has
//	store   <..TableFlushed..  engine  <--Flushed--  tablet
//	store   --CompactTable-->  engine  --Compact-->    tablet
//	store   <..TableCompacted  engine  <--Compacted--  tablet
//	store   --CancelCompact->  engine  --CancelCompact-->  tablet   which answers the Compact with an error

// FlushTable asks that everything applied to a table before it be in files.
type FlushTable struct {
	Asked[TableFlushed]
	Table string
}

// TableFlushed answers FlushTable and FlushUnlogged.
type TableFlushed struct{}

// FlushUnlogged asks that entries of durability none be in files, of all tables.
type FlushUnlogged struct{ Asked[TableFlushed] }

// Flush is FlushTable for one tablet.
type Flush struct {
	From    *actor.PID
	Request uint64
	// Unlogged is for FlushUnlogged: a tablet with nothing of the kind in memory has nothing to do.
	Unlogged bool
}

// Flushed answers Flush.
type Flushed struct {
	Request uint64
	Err     error
}

// Refusal implements Answerable.
func (m *Flush) Refusal(err error) (*actor.PID, any) {
	return m.From, &Flushed{Request: m.Request, Err: err}
}

// CompactTable asks for a full compaction of each tablet of a table. Memory is flushed first, unless NoFlush.
type CompactTable struct {
	Asked[TableCompacted]
	Token   uint64 // names the request for CancelCompact
	Table   string
	Order   CompactOrder
	NoFlush bool
}

// CompactOrder says how to compact.
type CompactOrder struct {
	Mode iter.Mode
	// Scratch compacts to a file that is measured, hashed and removed; the tablet keeps its files. All inputs are read in
	// one pass.
	Scratch bool
	// Codec is another codec than the table's for the output; empty for the table's.
	Codec string
	// Files are the numbers of the files to compact, and what their run of ages demands; all if there are none. A tablet
	// that has none of them has nothing to do.
	Files []uint64
	// KeepDeletes keeps delete markers even where all files are compacted.
	KeepDeletes bool
	// Recode compresses every block anew.
	Recode bool
	// Progress, if not nil, is told how many entries were read since it was last told. Several jobs may call it at once; it
	// must not block.
	Progress func(entries int64)
}

// CancelCompact takes a CompactTable back, by its token; from the engine to a tablet, a Compact by its request number.
type CancelCompact struct {
	Admitted
	Request uint64
}

// TableCompacted answers CompactTable: one result a tablet, in the order of extents.
type TableCompacted struct{ Tablets []TabletCompaction }

// TabletCompaction is what a full compaction of one tablet did, over all its passes.
type TabletCompaction struct {
	Extent tablet.Extent
	Inputs []tablet.FileMeta // when the first pass began
	Output tablet.FileMeta   // of the last pass; no entries when nothing was left
	Passes int
	Books  iter.Books // of all passes
	Merge  iter.Stats
	Took   time.Duration
	CPU    time.Duration
	Hash   [32]byte // of a scratch output
}

// Compact is CompactTable for one tablet, already flushed if that was wanted.
type Compact struct {
	From    *actor.PID
	Request uint64
	Order   CompactOrder
}

// Compacted answers Compact.
type Compacted struct {
	Request uint64
	Result  TabletCompaction
	Err     error
}

// Refusal implements Answerable.
func (m *Compact) Refusal(err error) (*actor.PID, any) {
	return m.From, &Compacted{Request: m.Request, Err: err}
}

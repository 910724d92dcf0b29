package actors

import (
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/internal/invariant"
	"millrace/tablet/hosted"
)

// tabletActor is the single writer of one tablet's memory and file set. It does no I/O: jobs, its children, read and
// write files; what it does itself takes microseconds, but for the batches that it puts into memory.
//
// What its mailbox may hold is in bounds.go.
type tabletActor struct {
	core     *core
	name     string // for jobs' random streams and logs
	handle   *tabletHandle
	t        *hosted.Tablet
	settings *TableSettings

	pending   []*pendingApply // oldest first
	first     uint64          // number of the first of them
	wrote     time.Time       // when mutations came last
	idling    bool            // an idle tick is on its way
	idleTimer TimerID
	sentAway  uint64       // round of the batches that were sent away last; 0 none
	split     *tabletSplit // while it is being split, and afterwards
	scheduler *actor.PID
	jobs      map[protocol.JobID]*tabletJob // wished for or running
	byPID     map[string]*tabletJob         // running
	flush     *tabletJob                    // the one minor compaction wished for or running
	flushes   []flushRequest
	lastAge   uint64            // of the newest frozen memtable
	unlogged  uint64            // session of the newest memtable with an entry that is not logged; 0 none
	filed     uint64            // session up to which all is in files, as far as it was flushed here
	requests  []*compactRequest // the first is being worked on

	flushEnds, majorEnds   *replacements // of jobs that failed
	flushWaits             bool          // until a failed flush is tried again
	majorWaits             bool
	flushTimer, majorTimer TimerID

	reported  tabletMemory
	reporting bool // a report is on its way, and the scheduler has not seen it
	overdue   bool // there is more to report than growth
	counts    protocol.TabletCounts
}

func newTabletActor(k *core, h *tabletHandle, settings *TableSettings, scheduler *actor.PID) *tabletActor {
	name := h.extent.String()
	return &tabletActor{
		core: k, name: name, handle: h, t: h.tablet, settings: settings, scheduler: scheduler,
		jobs: make(map[protocol.JobID]*tabletJob), byPID: make(map[string]*tabletJob),
		flushEnds: newReplacements("flush", k.rt.Rand(name+" flush")),
		majorEnds: newReplacements("compaction", k.rt.Rand(name+" compaction")),
	}
}

// Receive routes the tablet's messages.
func (a *tabletActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *protocol.Apply:
		a.onApply(c, m)
	case *protocol.Appended:
		a.onAppended(c, m)
	case *protocol.Permit:
		a.onPermit(c, m)
	case *protocol.JobDone:
		a.onJobDone(c, m)
	case *actor.Terminated:
		a.onTerminated(c, m)
	case *protocol.Recorded:
		a.onRecorded(c, m)
	case *protocol.FlushMemory:
		a.freeze(c)
		a.reportMemory(c, true) // or the scheduler would not ask again
	case *protocol.MemorySeen:
		a.reporting = false
		a.reportMemory(c, a.overdue)
	case *protocol.Flush:
		a.onFlush(c, m)
	case *protocol.Compact:
		a.onCompact(c, m)
	case *protocol.CancelCompact:
		a.onCancelCompact(c, m)
	case *protocol.Retry:
		a.onRetry(c, m)
	case *protocol.GetTabletStats:
		a.onGetTabletStats(c, m)
	case *protocol.SchedulerIs:
		a.onSchedulerIs(c, m)
	case *protocol.Configure:
		a.onConfigure(c, m)
	case *protocol.Split:
		a.onSplit(c, m)
	case *protocol.Idle:
		a.onIdle(c)
	case *actor.Started:
		a.onStarted(c)
	case *actor.Stopping:
		a.stop(c)
	case *actor.Stopped:
		a.leaveFiles(c)
	case *actor.Restarting:
	default:
		invariant.Unexpected("tablet", m)
	}
}

// onStarted has what the log gave back flushed at once, so that the log can go.
func (a *tabletActor) onStarted(c actor.Context) {
	if active, _ := a.t.MemoryEntries(); active > 0 {
		a.freeze(c)
	}
	a.plan(c)
}

// onConfigure takes changed properties over. What runs goes on as it began.
func (a *tabletActor) onConfigure(c actor.Context, m *protocol.Configure) {
	settings, err := ParseTable(m.Properties)
	if err == nil {
		a.settings = &settings
		a.t.Configure(a.core.planner(&settings), settings.KeyBytesMax)
		if a.idling { // for the old time
			a.core.rt.CancelTimer(a.idleTimer)
			a.idling = false
		}
		a.idle(c)
		a.plan(c)
	}
	c.Send(m.From, &protocol.Configured{Request: m.Request, Err: err})
}

// reportMemory tells the scheduler what the memtables take, when that has changed enough, or in any case; but not before
// it has seen the last report.
func (a *tabletActor) reportMemory(c actor.Context, always bool) {
	active, frozen := a.t.Memory()
	now := tabletMemory{active: active, flushing: frozen}
	if !always && now.active-a.reported.active < memoryReport {
		return
	}
	if a.reporting {
		a.overdue = a.overdue || always
		return
	}
	a.reported, a.reporting, a.overdue = now, true, false
	c.Send(a.scheduler, &protocol.MemoryIs{From: c.Self(), Active: now.active, Flushing: now.flushing})
}

// onSchedulerIs tells a new scheduler everything that the old one knew of this tablet.
func (a *tabletActor) onSchedulerIs(c actor.Context, m *protocol.SchedulerIs) {
	a.scheduler = m.Scheduler
	for _, j := range ordered(a.jobs) {
		if j.pid == nil {
			c.Send(a.scheduler, j.wish)
		} else {
			c.Send(a.scheduler, &protocol.Holding{From: c.Self(), Job: j.id, Kind: j.kind})
		}
	}
	a.reporting = false // to the old one
	a.reportMemory(c, true)
}

func (a *tabletActor) onGetTabletStats(c actor.Context, m *protocol.GetTabletStats) {
	v := a.t.View()
	if v == nil { // it was split
		c.Send(m.From, &protocol.TabletStats{Request: m.Request, Err: errMoved})
		return
	}
	defer v.Release()
	s := &protocol.TabletStats{Request: m.Request, Extent: a.handle.extent, Files: v.Files(), Counts: a.counts}
	s.ActiveBytes, s.FrozenBytes = a.t.Memory()
	for _, snap := range v.Snapshots() {
		s.MemoryEntries += snap.Entries()
	}
	s.Jobs = len(a.jobs)
	c.Send(m.From, s)
}

// stop refuses what is open. Jobs are stopped by the library, being children, and remove what they have not handed over;
// of their ends nothing follows any more.
func (a *tabletActor) stop(c actor.Context) {
	a.stopPending(c)
	for _, f := range a.flushes {
		c.Send(f.from, &protocol.Flushed{Request: f.request, Err: ErrStopped})
	}
	for _, r := range a.requests {
		c.Send(r.From, &protocol.Compacted{Request: r.Request, Err: ErrStopped})
	}
	a.flushes, a.requests = nil, nil
	clear(a.byPID)
	a.t.Close()
}

func (a *tabletActor) log() *slog.Logger { return a.core.rt.log.With(slog.String("extent", a.name)) }

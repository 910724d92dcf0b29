package actors

import (
	"fmt"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/internal/invariant"
	"millrace/tablet"
	"millrace/tablet/hosted"
)

// tabletActor is the single writer of one tablet's memory and file set. It does no I/O: jobs, its children, read and
// write files; what it does itself takes microseconds, but for the batches that it puts into memory.
//
// Its mailbox holds at most the binner's window of batches, two messages a job, and the requests of users.
type tabletActor struct {
	core     *core
	name     string // for jobs' random streams and logs
	handle   *tabletHandle
	t        *hosted.Tablet
	settings *TableSettings

	scheduler *actor.PID
	jobs      map[protocol.JobID]*tabletJob // wished for or running
	byPID     map[string]*tabletJob         // running
	flush     *tabletJob                    // the one minor compaction wished for or running
	flushes   []flushRequest
	lastAge   uint64            // of the newest frozen memtable
	requests  []*compactRequest // the first is being worked on

	flushEnds, majorEnds *replacements // of jobs that failed
	flushWaits           bool          // until a failed flush is tried again
	majorWaits           bool

	reported tabletMemory
	counts   protocol.TabletCounts
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

// newTablet makes the live tablet of an actor, and has the files that leave it removed.
func newTablet(k *core, e tablet.Extent, s *TableSettings) (*tabletHandle, error) {
	h := &tabletHandle{core: k, extent: e}
	t, err := hosted.New(hosted.State{Extent: e}, hosted.Options{
		Planner: k.planner(s),
		OnObsolete: func() {
			for _, meta := range h.tablet.Obsolete() {
				k.files.retire(meta)
			}
		},
	})
	h.tablet = t
	return h, err
}

// Receive routes the tablet's messages.
func (a *tabletActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *protocol.Apply:
		a.onApply(c, m)
	case *protocol.Permit:
		a.onPermit(c, m)
	case *protocol.JobDone:
		a.onJobDone(c, m)
	case *actor.Terminated:
		a.onTerminated(c, m)
	case *protocol.FlushMemory:
		a.freeze(c)
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
	case *actor.Stopping:
		a.stop(c)
	case *actor.Started, *actor.Stopped, *actor.Restarting:
	default:
		invariant.Unexpected("tablet", m)
	}
}

// onApply puts mutations into memory. Here, between Prepare and Commit, a log will stand.
func (a *tabletActor) onApply(c actor.Context, m *protocol.Apply) {
	p, rejects := a.t.Prepare(m.Mutations, a.core.rt.clock.Now().UnixMilli())
	if p != nil {
		a.t.Commit(p)
		for _, mut := range p.Mutations {
			a.counts.Mutations++
			a.counts.Entries += int64(mut.Updates())
		}
	}
	answer := &protocol.Applied{Batch: m.Batch}
	for _, r := range rejects {
		answer.Refused = append(answer.Refused, protocol.Refusal{
			Mutation: m.Mutations[r.Index], Err: fmt.Errorf("constraint %s (%d): %s: %w", r.Constraint, r.Code, r.What, tablet.ErrUsage),
		})
	}
	c.Send(m.From, answer)
	a.reportMemory(c, false)
}

// reportMemory tells the scheduler what the memtables take, when that has changed enough, or in any case.
func (a *tabletActor) reportMemory(c actor.Context, always bool) {
	active, frozen := a.t.Memory()
	now := tabletMemory{active: active, flushing: frozen}
	if !always && now.active-a.reported.active < memoryReport {
		return
	}
	a.reported = now
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
	a.reportMemory(c, true)
}

func (a *tabletActor) onGetTabletStats(c actor.Context, m *protocol.GetTabletStats) {
	v := a.t.View()
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

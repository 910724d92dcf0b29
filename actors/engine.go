package actors

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/internal/invariant"
	"millrace/tablet/manifest"
)

// engineActor is the root of a store: it starts everything else, replaces what can be replaced, and asks all tablets of
// a table what users ask of the table. What it changes of tables is recorded first.
type engineActor struct {
	core     *core
	services []*service
	loaded   []*loadedTable // what the store was opened with, until it is started
	tables   map[string]*engineTable
	tablets  map[uint64]*engineTablet
	byPID    map[string]*engineTablet // tablets that are alive, those that are on their way out included
	parts    map[uint64]*gatherPart
	records  map[uint64]func(c actor.Context, m *protocol.Recorded)
	splits   map[uint64]*splitting
	asked    uint64
	stopping []*protocol.StopTablets
}

// service is a child that the engine keeps alive.
type service struct {
	kind    string
	name    string
	at      *address
	spec    func() Spec
	started int
	ends    *replacements
}

func newEngine(k *core, loaded []*loadedTable) *engineActor {
	a := &engineActor{
		core: k, loaded: loaded, tables: make(map[string]*engineTable), tablets: make(map[uint64]*engineTablet),
		byPID: make(map[string]*engineTablet), parts: make(map[uint64]*gatherPart),
		records: make(map[uint64]func(actor.Context, *protocol.Recorded)), splits: make(map[uint64]*splitting),
	}
	rt := k.rt
	add := func(kind, name string, at *address, bulk bool, make func() actor.Actor) {
		a.services = append(a.services, &service{
			kind: kind, name: name, at: at, ends: newReplacements(kind, rt.Rand(kind)),
			spec: func() Spec { return k.spec(Spec{Kind: kind, Bulk: bulk, New: make}) },
		})
	}
	// Files first: whoever ends a lease tells it.
	add("files", nameFiles, &k.filer, true, func() actor.Actor { return &filesActor{core: k, files: k.files} })
	add("log", nameLog, &k.log, true, func() actor.Actor { return newLogActor(k) })
	add("manifest", nameManifest, &k.manifest, true, func() actor.Actor { return newManifestActor(k) })
	add("scheduler", nameScheduler, &k.scheduler, false, func() actor.Actor { return newScheduler(rt, k.server) })
	add("binner", nameBinner, &k.binner, false, func() actor.Actor { return newBinner(rt, k.server.HoldMax) })
	add("scans", nameScans, &k.scans, false, func() actor.Actor { return newScans(rt, k.server.SessionIdle) })
	return a
}

// Receive routes the engine's messages.
func (a *engineActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *protocol.CreateTable:
		a.onCreateTable(c, m)
	case *protocol.DeleteTable:
		a.onDeleteTable(c, m)
	case *protocol.SetProperties:
		a.onSetProperties(c, m)
	case *protocol.AddSplits:
		a.onAddSplits(c, m)
	case *protocol.FlushTable:
		a.onFlushTable(c, m)
	case *protocol.FlushUnlogged:
		a.onFlushUnlogged(c, m)
	case *protocol.CompactTable:
		a.onCompactTable(c, m)
	case *protocol.CancelCompact:
		a.onCancelCompact(c, m)
	case *protocol.GetStats:
		a.onGetStats(c, m)
	case *protocol.Flushed:
		a.onAnswer(c, m.Request, m, m.Err)
	case *protocol.Compacted:
		a.onAnswer(c, m.Request, m, m.Err)
	case *protocol.Configured:
		a.onAnswer(c, m.Request, m, m.Err)
	case *protocol.TabletStats:
		a.onAnswer(c, m.Request, m, m.Err)
	case *protocol.SplitDone:
		a.onSplitDone(c, m)
	case *protocol.LaneClosed:
		a.onLaneClosed(c, m)
	case *protocol.Recorded:
		a.onRecorded(c, m)
	case *protocol.StateIs:
		a.onStateIs(c, m)
	case *protocol.LogRead:
		a.onLogRead(c, m)
	case *protocol.FlushTablets:
		a.onFlushTablets(c, m)
	case *protocol.SpaceIsBack:
		a.onSpaceIsBack(c)
	case *protocol.Replace:
		a.onReplace(c, m)
	case *protocol.StopTablets:
		a.onStopTablets(c, m)
	case *actor.Terminated:
		a.onTerminated(c, m)
	case *actor.Started:
		a.onStarted(c)
	case *actor.Stopping:
		a.refuseAll()
	case *actor.Stopped, *actor.Restarting:
	default:
		invariant.Unexpected("engine", m)
	}
}

// onStarted starts the services, and the tables that there are.
func (a *engineActor) onStarted(c actor.Context) {
	for _, s := range a.services {
		a.start(c, s)
	}
	for _, l := range a.loaded {
		t := &engineTable{storeTable: l.storeTable}
		a.tables[t.name] = t
		for _, h := range l.handles {
			et := a.newTablet(t, h)
			t.order = append(t.order, et)
			a.spawnTablet(c, et)
		}
		a.publish(c, t)
	}
	a.loaded = nil
}

// start spawns a service under a new incarnation, and introduces it to those who know its predecessor.
func (a *engineActor) start(c actor.Context, s *service) {
	s.started++
	pid, err := a.core.rt.SpawnChild(c, fmt.Sprintf("%s.%d", s.name, s.started), s.spec())
	if err != nil {
		panic(err) // only while the runtime closes
	}
	s.at.set(pid)
	switch s.kind {
	case "scheduler":
		c.Send(pid, &protocol.BinnerIs{Binner: a.core.binner.get()})
		for _, t := range a.alive() {
			c.Send(t.pid, &protocol.SchedulerIs{Scheduler: pid})
		}
	case "binner":
		for _, t := range ordered(a.tables) {
			c.Send(pid, t.is())
		}
		for _, et := range a.alive() { // the old one would have said when it has nothing for them any more
			if et.leaving {
				c.Stop(et.pid)
			}
		}
		c.Send(a.core.scheduler.get(), &protocol.BinnerIs{Binner: pid})
	case "files":
		a.core.files.nameAgain()
	}
}

// onTerminated replaces what has failed.
func (a *engineActor) onTerminated(c actor.Context, m *actor.Terminated) {
	if t := a.byPID[m.Who.Id]; t != nil {
		delete(a.byPID, m.Who.Id)
		a.tabletEnded(c, t, m.Who)
	}
	for _, s := range a.services {
		if s.at.get().Equal(m.Who) {
			a.serviceEnded(c, s)
		}
	}
	a.stopped()
}

func (a *engineActor) serviceEnded(c actor.Context, s *service) {
	if len(a.stopping) > 0 {
		return
	}
	delay, ok := s.ends.next(a.core.rt.clock.Now())
	if !ok {
		a.core.rt.log.Error("actor failed too often; it stays away", slog.String("actor", s.kind))
		return
	}
	a.core.rt.After(delay, c.Self(), &protocol.Replace{Kind: s.kind})
}

func (a *engineActor) onReplace(c actor.Context, m *protocol.Replace) {
	if len(a.stopping) > 0 {
		return
	}
	if m.Tablet != 0 {
		a.recover(c, m.Tablet)
		return
	}
	for _, s := range a.services {
		if s.kind == m.Kind {
			a.start(c, s)
		}
	}
}

// onSpaceIsBack has everybody try again what found no space on the disk.
func (a *engineActor) onSpaceIsBack(c actor.Context) {
	c.Send(a.core.log.get(), &protocol.Heal{})
	c.Send(a.core.manifest.get(), &protocol.Heal{})
	for _, et := range a.alive() {
		c.Send(et.pid, &protocol.Retry{Kind: protocol.Minor})
		c.Send(et.pid, &protocol.Retry{Kind: protocol.Major})
	}
}

// record has edits recorded, and goes on when they are durable or refused.
func (a *engineActor) record(c actor.Context, then func(c actor.Context, m *protocol.Recorded), edits ...manifest.Edit) {
	a.asked++
	a.records[a.asked] = then
	c.Send(a.core.manifest.get(), &protocol.Record{From: c.Self(), Request: a.asked, Edits: edits})
}

func (a *engineActor) onRecorded(c actor.Context, m *protocol.Recorded) {
	if m.Err != nil {
		m = &protocol.Recorded{Request: m.Request, Err: passedOn("manifest", m.Err), Doubt: m.Doubt}
	}
	then := a.records[m.Request]
	delete(a.records, m.Request)
	if then != nil {
		then(c, m)
	}
}

// onStopTablets stops scans and tablets, and answers when they are gone: then nobody holds a file.
func (a *engineActor) onStopTablets(c actor.Context, m *protocol.StopTablets) {
	a.stopping = append(a.stopping, m)
	c.Stop(a.core.scans.get())
	for _, t := range a.alive() {
		c.Stop(t.pid)
	}
	for _, t := range ordered(a.tables) {
		a.endDeferred(c, t, ErrStopped) // no tablet comes in the place of another any more
	}
	a.stopped()
}

func (a *engineActor) stopped() {
	if len(a.stopping) == 0 || len(a.byPID) > 0 {
		return
	}
	for _, alive := range a.core.rt.Alive() {
		if isUnder(alive, a.core.scans.get().Id) {
			return
		}
	}
	for _, m := range a.stopping {
		m.Answer(&protocol.TabletsStopped{})
	}
}

// refuseAll answers what is still open when the engine stops.
func (a *engineActor) refuseAll() {
	a.core.rt.stopWork() // also of those who wait for a table to change
	for _, p := range ordered(a.parts) {
		p.gather.refuse(ErrStopped)
	}
	for _, t := range ordered(a.tables) {
		t.refuseChanges(ErrStopped)
	}
}

// alive is the tablets that run, by number.
func (a *engineActor) alive() []*engineTablet {
	return slices.SortedFunc(maps.Values(a.byPID), func(x, y *engineTablet) int { return cmp.Compare(x.number, y.number) })
}

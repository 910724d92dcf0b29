package actors

import (
	"fmt"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/internal/invariant"
	"millrace/tablet"
	"millrace/tablet/locate"
)

// engineActor is the root of a store: it starts everything else, replaces what can be replaced, and asks all tablets of
// a table what users ask of the table.
type engineActor struct {
	core     *core
	services []*service
	tables   map[string]*engineTable
	tablets  uint64                // numbered so far
	byPID    map[string]*actor.PID // tablets that are alive
	gathers  map[uint64]*gather
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

type engineTable struct {
	is       *protocol.TableIs
	settings *TableSettings
}

func newEngine(k *core) *engineActor {
	a := &engineActor{core: k, tables: make(map[string]*engineTable), byPID: make(map[string]*actor.PID), gathers: make(map[uint64]*gather)}
	rt := k.rt
	add := func(kind, name string, at *address, bulk bool, make func() actor.Actor) {
		a.services = append(a.services, &service{
			kind: kind, name: name, at: at, ends: newReplacements(kind, rt.Rand(kind)),
			spec: func() Spec { return Spec{Kind: kind, Bulk: bulk, New: make} },
		})
	}
	// Files first: whoever ends a lease tells it.
	add("files", nameFiles, &k.filer, true, func() actor.Actor { return &filesActor{rt: rt, files: k.files} })
	add("scheduler", nameScheduler, &k.scheduler, false, func() actor.Actor { return newScheduler(rt, k.server) })
	add("binner", nameBinner, &k.binner, false, func() actor.Actor { return newBinner() })
	add("scans", nameScans, &k.scans, false, func() actor.Actor { return newScans(rt, k.server.SessionIdle) })
	return a
}

// Receive routes the engine's messages.
func (a *engineActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *protocol.CreateTable:
		a.onCreateTable(c, m)
	case *protocol.FlushTable:
		a.onFlushTable(c, m)
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
	case *protocol.TabletStats:
		a.onAnswer(c, m.Request, m, nil)
	case *protocol.Replace:
		a.onReplace(c, m)
	case *protocol.StopTablets:
		a.onStopTablets(c, m)
	case *actor.Terminated:
		a.onTerminated(c, m)
	case *actor.Started:
		for _, s := range a.services {
			a.start(c, s)
		}
	case *actor.Stopping:
		for _, g := range ordered(a.gathers) {
			g.refuse(ErrStopped)
		}
	case *actor.Stopped, *actor.Restarting:
	default:
		invariant.Unexpected("engine", m)
	}
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
		for _, t := range ordered(a.byPID) {
			c.Send(t, &protocol.SchedulerIs{Scheduler: pid})
		}
	case "binner":
		for _, t := range ordered(a.tables) {
			c.Send(pid, t.is)
		}
		c.Send(a.core.scheduler.get(), &protocol.BinnerIs{Binner: pid})
	case "files":
		a.core.files.nameAgain()
	}
}

// onTerminated replaces a service that has failed. A tablet stays away: without a log its memory is lost, and without
// its memory it must not go on as if nothing were.
func (a *engineActor) onTerminated(c actor.Context, m *actor.Terminated) {
	if _, ok := a.byPID[m.Who.Id]; ok {
		delete(a.byPID, m.Who.Id)
		if len(a.stopping) == 0 {
			a.core.rt.log.Error("tablet failed; it stays away", slog.String("actor", m.Who.Id))
		}
		a.stopped()
		return
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
	for _, s := range a.services {
		if s.kind == m.Kind && len(a.stopping) == 0 {
			a.start(c, s)
		}
	}
}

// onCreateTable starts a tablet for each extent.
func (a *engineActor) onCreateTable(c actor.Context, m *protocol.CreateTable) {
	t, err := a.createTable(c, m)
	if err != nil {
		m.Refuse(fmt.Errorf("create table %s: %w", m.Table, err))
		return
	}
	a.tables[m.Table] = t
	c.Send(a.core.binner.get(), t.is)
	m.Answer(t.is)
}

func (a *engineActor) createTable(c actor.Context, m *protocol.CreateTable) (*engineTable, error) {
	if m.Table == "" {
		return nil, fmt.Errorf("a table without a name: %w", tablet.ErrUsage)
	}
	if a.tables[m.Table] != nil {
		return nil, fmt.Errorf("it exists: %w", tablet.ErrUsage)
	}
	settings, err := ParseTable(m.Properties)
	if err != nil {
		return nil, err
	}
	t := &engineTable{settings: &settings, is: &protocol.TableIs{Table: m.Table}}
	for _, e := range locate.FromSplits(1, m.Table, m.Splits).Extents() {
		ref, err := a.startTablet(c, e, &settings)
		if err != nil {
			for _, started := range t.is.Tablets {
				c.Stop(started.PID)
			}
			return nil, err
		}
		t.is.Tablets = append(t.is.Tablets, ref)
	}
	return t, nil
}

func (a *engineActor) startTablet(c actor.Context, e tablet.Extent, s *TableSettings) (protocol.TabletRef, error) {
	h, err := newTablet(a.core, e, s)
	if err != nil {
		return protocol.TabletRef{}, err
	}
	a.tablets++
	scheduler := a.core.scheduler.get()
	pid, err := a.core.rt.SpawnChild(c, nameTablet(a.tablets, 1), Spec{
		Kind: "tablet", New: func() actor.Actor { return newTabletActor(a.core, h, s, scheduler) },
	})
	if err != nil {
		return protocol.TabletRef{}, err
	}
	a.byPID[pid.Id] = pid
	return protocol.TabletRef{Extent: e, PID: pid, View: h.View}, nil
}

// onStopTablets stops scans and tablets, and answers when they are gone: then nobody holds a file.
func (a *engineActor) onStopTablets(c actor.Context, m *protocol.StopTablets) {
	a.stopping = append(a.stopping, m)
	for _, s := range a.services {
		if s.kind == "scans" {
			c.Stop(s.at.get())
		}
	}
	for _, pid := range ordered(a.byPID) {
		c.Stop(pid)
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

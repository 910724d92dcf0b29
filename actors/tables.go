package actors

import (
	"errors"
	"fmt"
	"maps"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/tablet"
	"millrace/tablet/hosted"
	"millrace/tablet/locate"
	"millrace/tablet/manifest"
)

// engineTable is a table as its engine knows it. What was published last is embedded.
type engineTable struct {
	*storeTable
	id      uint64
	made    bool // the record of it is durable
	order   []*engineTablet
	changes []tableChange // the first is under way: one at a time
	// deferred waits for tablets that are being split or replaced.
	deferred []deferredPart
}

// tableChange is a change of a table as a whole, or of its tablets.
type tableChange struct {
	begin  func(c actor.Context)
	refuse func(error) bool
}

// engineTablet is a tablet as its engine knows it.
type engineTablet struct {
	table       *engineTable
	handle      *tabletHandle
	next        *tabletHandle // while it is replaced and the log is read
	number      uint64
	incarnation int
	pid         *actor.PID // of the last incarnation
	dead        bool       // it has ended, and is to be replaced
	leaving     bool       // its end is no failure
	failed      error      // it is not replaced any more
	ends        *replacements
}

// change has a change of a table begin when those before it have ended.
func (a *engineActor) change(c actor.Context, t *engineTable, ch tableChange) {
	t.changes = append(t.changes, ch)
	if len(t.changes) == 1 {
		ch.begin(c)
	}
}

// changed ends the change that is under way.
func (a *engineActor) changed(c actor.Context, t *engineTable) {
	t.changes[0] = tableChange{}
	t.changes = t.changes[1:]
	if len(t.changes) > 0 {
		t.changes[0].begin(c)
	}
}

func (t *engineTable) refuseChanges(err error) {
	for _, ch := range t.changes {
		ch.refuse(err)
	}
	t.changes = nil
}

// is tells the binner of the table.
func (t *engineTable) is() *protocol.TableIs {
	return &protocol.TableIs{Table: t.name, Version: t.version, Extents: t.extents, Tablets: t.tablets}
}

// publish shows everybody the table as it is now.
func (a *engineActor) publish(c actor.Context, t *engineTable) {
	next := *t.storeTable
	next.version++
	next.passed = make(chan struct{})
	next.tablets = make([]protocol.TabletRef, len(t.order))
	extents := make([]tablet.Extent, len(t.order))
	for i, et := range t.order {
		next.tablets[i] = protocol.TabletRef{Extent: et.handle.extent, PID: et.pid, View: et.handle.View, Failed: et.failed}
		extents[i] = et.handle.extent
	}
	chain, err := locate.New(next.version, extents)
	if err != nil {
		panic(fmt.Errorf("tablets of table %s: %w", t.name, err))
	}
	next.extents = chain
	passed := t.passed
	t.storeTable, t.made = &next, true
	a.swapMap(func(m tableMap) { m[t.name] = &next })
	if passed != nil {
		close(passed)
	}
	c.Send(a.core.binner.get(), t.is())
	a.askAgain(c, t)
}

// swapMap puts a changed copy in the place of the map of tables.
func (a *engineActor) swapMap(change func(tableMap)) {
	next := maps.Clone(*a.core.tables.Load())
	change(next)
	a.core.tables.Store(&next)
}

// onCreateTable records a table, then starts a tablet for each extent.
func (a *engineActor) onCreateTable(c actor.Context, m *protocol.CreateTable) {
	t, edit, err := a.planTable(m)
	if err != nil {
		m.Refuse(fmt.Errorf("create table %s: %w", m.Table, err))
		return
	}
	a.tables[m.Table] = t
	a.change(c, t, tableChange{refuse: m.Refuse, begin: func(c actor.Context) {
		a.record(c, func(c actor.Context, r *protocol.Recorded) {
			err := r.Err
			if err == nil {
				err = a.startTable(c, t, edit)
			}
			if err != nil {
				delete(a.tables, m.Table)
				m.Refuse(fmt.Errorf("create table %s: %w", m.Table, err))
				t.changes = t.changes[1:]
				t.refuseChanges(fmt.Errorf("no table %q: %w", m.Table, tablet.ErrUsage))
				return
			}
			m.Answer(t.is())
			a.changed(c, t)
		}, edit)
	}})
}

// planTable checks what is asked for and numbers what is to be.
func (a *engineActor) planTable(m *protocol.CreateTable) (*engineTable, manifest.CreateTable, error) {
	edit := manifest.CreateTable{Table: m.Table, Properties: m.Properties}
	if m.Table == "" {
		return nil, edit, fmt.Errorf("a table without a name: %w", tablet.ErrUsage)
	}
	if a.tables[m.Table] != nil {
		return nil, edit, fmt.Errorf("it exists: %w", tablet.ErrUsage)
	}
	settings, err := ParseTable(m.Properties)
	if err != nil {
		return nil, edit, err
	}
	t := &engineTable{storeTable: &storeTable{name: m.Table, settings: &settings, properties: m.Properties}}
	edit.ID = a.core.number()
	for _, e := range locate.FromSplits(1, m.Table, m.Splits).Extents() {
		if e.EndRow != nil {
			edit.Splits = append(edit.Splits, e.EndRow)
		}
		edit.Tablets = append(edit.Tablets, a.core.number())
	}
	return t, edit, nil
}

// startTable starts the tablets of a table that was recorded.
func (a *engineActor) startTable(c actor.Context, t *engineTable, edit manifest.CreateTable) error {
	for i, e := range locate.FromSplits(1, t.name, edit.Splits).Extents() {
		h, err := loadTablet(a.core, edit.Tablets[i], hosted.State{Extent: e}, t.settings)
		if err != nil {
			return err
		}
		et := a.newTablet(t, h)
		t.order = append(t.order, et)
		a.spawnTablet(c, et)
	}
	a.publish(c, t)
	return nil
}

func (a *engineActor) newTablet(t *engineTable, h *tabletHandle) *engineTablet {
	et := &engineTablet{table: t, handle: h, number: h.number, ends: newReplacements("tablet", a.core.rt.Rand(h.extent.String()))}
	a.tablets[et.number] = et
	return et
}

// spawnTablet starts the next incarnation of a tablet, over its handle.
func (a *engineActor) spawnTablet(c actor.Context, et *engineTablet) {
	et.incarnation++
	h, s, scheduler := et.handle, et.table.settings, a.core.scheduler.get()
	pid, err := a.core.rt.SpawnChild(c, nameTablet(et.number, et.incarnation), a.core.spec(Spec{
		Kind: "tablet", New: func() actor.Actor { return newTabletActor(a.core, h, s, scheduler) },
	}))
	if err != nil {
		panic(err) // only while the runtime closes
	}
	et.pid, et.dead = pid, false
	a.byPID[pid.Id] = et
	if len(a.stopping) > 0 { // what was recorded just before, a table or a split
		c.Stop(pid)
	}
}

// onDeleteTable records that a table is no more, then stops its tablets. Its files go with their last readers.
func (a *engineActor) onDeleteTable(c actor.Context, m *protocol.DeleteTable) {
	t, ok := a.table(m.Table, m.Refuse)
	if !ok {
		return
	}
	a.change(c, t, tableChange{refuse: m.Refuse, begin: func(c actor.Context) {
		a.record(c, func(c actor.Context, r *protocol.Recorded) {
			if r.Err != nil {
				m.Refuse(fmt.Errorf("delete table %s: %w", m.Table, r.Err))
				a.changed(c, t)
				return
			}
			a.dropTable(c, t)
			m.Answer(&protocol.TableDeleted{})
		}, manifest.DropTable{Table: t.name})
	}})
}

func (a *engineActor) dropTable(c actor.Context, t *engineTable) {
	delete(a.tables, t.name)
	a.swapMap(func(m tableMap) { delete(m, t.name) })
	close(t.passed)
	c.Send(a.core.binner.get(), &protocol.TableIs{Table: t.name})
	for _, et := range t.order {
		a.leave(c, et)
	}
	t.changes = t.changes[1:]
	gone := fmt.Errorf("no table %q: %w", t.name, tablet.ErrUsage)
	t.refuseChanges(gone)
	a.endDeferred(c, t, gone)
}

// leave ends a tablet that is wanted no more.
func (a *engineActor) leave(c actor.Context, et *engineTablet) {
	et.leaving = true
	delete(a.tablets, et.number)
	if !et.dead {
		c.Stop(et.pid)
	}
}

// onSetProperties records changed properties, then tells the tablets.
func (a *engineActor) onSetProperties(c actor.Context, m *protocol.SetProperties) {
	t, ok := a.table(m.Table, m.Refuse)
	if !ok {
		return
	}
	fail := func(c actor.Context, err error) {
		m.Refuse(fmt.Errorf("set properties of table %s: %w", m.Table, err))
		a.changed(c, t)
	}
	a.change(c, t, tableChange{refuse: m.Refuse, begin: func(c actor.Context) {
		properties, settings, err := t.with(m.Properties)
		if err != nil {
			fail(c, err)
			return
		}
		a.record(c, func(c actor.Context, r *protocol.Recorded) {
			if r.Err != nil {
				fail(c, r.Err)
				return
			}
			next := *t.storeTable
			next.properties, next.settings = properties, settings
			t.storeTable = &next
			a.publish(c, t)
			a.gather(c, t, t.all(), m.Refuse, func(request uint64) any {
				return &protocol.Configure{From: c.Self(), Request: request, Properties: properties}
			}, func(c actor.Context, _ []any, err error) {
				if err != nil {
					fail(c, err)
					return
				}
				m.Answer(&protocol.PropertiesSet{})
				a.changed(c, t)
			})
		}, manifest.SetProperties{Table: t.name, Properties: properties})
	}})
}

// with is the table's properties after a change. An empty value takes a property back to its default.
func (t *engineTable) with(change map[string]string) (map[string]string, *TableSettings, error) {
	properties := maps.Clone(t.properties)
	if properties == nil {
		properties = make(map[string]string)
	}
	for name, value := range change {
		if value == "" {
			delete(properties, name)
		} else {
			properties[name] = value
		}
	}
	settings, err := ParseTable(properties)
	if err == nil && settings.Time != t.settings.Time {
		err = fmt.Errorf("property %s: it stays as it was when the table was made: %w", timeType, tablet.ErrUsage)
	}
	return properties, &settings, err
}

// onFlushTablets passes on what the log wishes.
func (a *engineActor) onFlushTablets(c actor.Context, m *protocol.FlushTablets) {
	these := &protocol.FlushThese{From: m.From, Request: m.Request}
	for _, number := range m.Tablets {
		if et := a.tablets[number]; et != nil && !et.dead {
			these.Tablets = append(these.Tablets, et.pid)
		}
	}
	c.Send(a.core.scheduler.get(), these)
}

// errMoved is a tablet's answer to what it cannot do any more because it is being split. The engine asks again.
var errMoved = errors.New("the tablet is being split")

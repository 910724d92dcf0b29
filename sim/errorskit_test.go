package sim

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
)

var faultFlag = flag.String("fault", "", "the one fault to put in, as a failed run names it; empty: all")

// Operations of a trial beside those of a player.
const (
	opProperties OpKind = "properties" // change a property
	opTable      OpKind = "table"      // make a table, write to it, delete it
)

// trial is one history with a fault of the disk put in at one call. It holds every answer against what the fault allows,
// and notes each promise that was broken.
type trial struct {
	seed   uint64
	fault  fault
	mem    *vfs.MemFS
	faulty *vfs.FaultyFS
	trace  *vfs.TraceFS
	w      *World
	p      *Player

	rules  []vfs.Rule                   // put in when the store is first opened
	healAt int                          // operations from the first hit on until a lasting fault is gone; -1: a fault that comes once
	after  func(vfs.Event)              // looks on
	roles  map[roleSite]int             // hits
	seen   map[roleSite]int             // calls
	spoilt map[string]bool              // files of which a write or a sync failed
	random bool                         // take images that keep some of what was not synced, too
	always bool                         // images need no hit
	slow   func(vfs.Call) time.Duration // how long calls take
	healed time.Duration                // when the fault was gone; -1 while it is there
	tries  int                          // of an opening or a check that a lasting fault keeps from succeeding
	opsHit int                          // operations that have ended since the first hit
	told   int                          // operations that failed
	errs   []string                     // what they said
	ended  bool                         // the fault is gone and its after-effects have to be over
	value  map[string]bool              // what the changing property may be
	broken []breach
	verify int // images still to be held against what was acknowledged after the hit
	images []snapshot
	atEnd  int // calls until the history was over
}

// fault is what is done to which call, in the form in which -fault takes it.
type fault struct {
	call int
	kind string
	how  string // once, on (from there on), twice (once more, a drawn number of calls later)
}

func (f fault) String() string { return fmt.Sprintf("%d/%s/%s", f.call, f.kind, f.how) }

// second is the other call of a fault that happens twice. What a store does after a failure fails, too.
func (f fault) second() int { return f.call + 1 + int(mix(uint64(f.call))%24) }

// breach is a promise that was not kept.
type breach struct {
	what string // the name of the figure
	err  error
}

// roleSite is a kind of call by a kind of actor.
type roleSite struct {
	vfs.Site
	role string
}

func (s roleSite) String() string { return fmt.Sprintf("%v by %s", s.Site, s.role) }

// errorHistory is what trials play: all levels of durability, and tables that are flushed, compacted, cut and changed.
func errorHistory(seed uint64, ops int) History {
	h := NewHistory(seed, HistoryOptions{
		Ops: ops, Rows: 5,
		Weights: map[OpKind]int{Write: 10, Flush: 4, Partial: 1, Full: 3, Split: 1, Reopen: 2, Check: 1},
		// Not none beside others: what is not logged is no part of the order that the log keeps.
		Durabilities: []tablet.Durability{tablet.DurabilityDefault, tablet.DurabilitySync, tablet.DurabilityFlush, tablet.DurabilityLog},
	})
	at := stream(seed, "places")
	for i, kind := range []OpKind{Flush, Full, Split, opProperties, opTable, Reopen} { // one of each at least
		place := len(h)/3 + at.IntN(len(h)-len(h)/3)
		op := Op{Kind: kind, Table: "t", Number: 100 + i, Row: []byte("r02"), Pick: at.Uint64()}
		h = slices.Insert(h, place, op)
	}
	return h
}

func newTrial(seed uint64, rules ...vfs.Rule) *trial {
	t := &trial{
		seed: seed, rules: rules, mem: vfs.Mem(), healAt: -1, healed: -1, verify: 1,
		roles: make(map[roleSite]int), seen: make(map[roleSite]int), spoilt: make(map[string]bool), value: map[string]bool{"": true},
	}
	t.w = New(Options{Seed: seed, Schedule: ScheduleFor(seed), FS: t.mem, Layers: t.layers, Hooks: actors.Hooks{
		Failed: func(err *actors.PanicError) { t.breach("panics", err) },
	}})
	t.p = NewPlayer(t.w, PlayOptions{Tolerate: t.tolerate, Ended: t.opEnded, Setup: func(p *Player) error {
		p.creating = "x" // by opTable; a failed one leaves it or not
		return nil
	}})
	return t
}

func (t *trial) layers(fs vfs.FS) vfs.FS {
	fs = vfs.Slow(fs, vfs.SlowOptions{Delay: t.delay, Wait: func(_ vfs.Call, d time.Duration) { t.w.Clock().Pass(d) }})
	t.faulty = vfs.Faulty(fs, t.rules...)
	t.rules = nil // a crash leaves a disk that is well
	t.trace = vfs.Trace(t.faulty, vfs.TraceOptions{After: t.called, Keep: true})
	return t.trace
}

// role is who runs now.
func (w *World) role() string {
	switch l := w.loop; {
	case l.delivering != nil:
		_, kind := l.delivering.box.Actor()
		return kind
	case w.store == nil:
		return "opening"
	}
	return "caller"
}

func (t *trial) delay(c vfs.Call) time.Duration {
	if t.slow == nil {
		return 0
	}
	return t.slow(c)
}

// called looks at every call when it is done.
func (t *trial) called(e vfs.Event) {
	site := roleSite{e.Site(), t.w.role()}
	t.seen[site]++
	if e.Op == vfs.OpCreate && e.Err == nil { // another file
		delete(t.spoilt, e.Name)
	}
	if t.spoilt[e.Name] && (e.Op == vfs.OpWrite || e.Op == vfs.OpSync) {
		t.breach("touched", fmt.Errorf("%v: a write or a sync of the file has failed before", e))
	}
	if e.Err != nil && len(t.faulty.Hits()) > 0 && errors.Is(e.Err, t.fault.err()) {
		t.roles[site]++
		if e.Op == vfs.OpWrite || e.Op == vfs.OpSync {
			t.spoilt[e.Name] = true
		}
	}
	if t.after != nil {
		t.after(e)
	}
}

func (t *trial) breach(what string, err error) { t.broken = append(t.broken, breach{what, err}) }

func (t *trial) hit() bool { return len(t.faulty.Hits()) > 0 }

func (t *trial) heal() {
	t.faulty.Heal()
	if t.healed < 0 {
		t.healed = t.w.Clock().Elapsed()
	}
}

// afterEffects is how long a store may refuse after a fault: it tries again every 10 s at the latest.
const afterEffects = 15 * time.Second

// tolerate judges the error of an operation.
func (t *trial) tolerate(op Op, err error) bool {
	t.told++
	t.errs = append(t.errs, fmt.Sprintf("%v after %v: %v", op.Kind, t.w.Clock().Elapsed(), err))
	switch {
	case !t.hit():
		t.breach("false", fmt.Errorf("%v failed before anything did: %w", op, err))
	case t.ended:
		t.breach("unusable", fmt.Errorf("%v failed after the fault was gone: %w", op, err))
	case !t.explained(err):
		t.breach("unnamed", fmt.Errorf("%v does not say what failed (%v): %w", op, t.faulty.Hits()[0], err))
	}
	if t.w.store == nil {
		t.nothingHeld("after a failed opening")
	}
	if op.Kind == Reopen || op.Kind == Check || op.Kind == "create" {
		if t.tries++; t.tries >= 2 { // there is no going on without it
			t.heal()
		}
	}
	return true
}

// explained says whether an error tells what has failed: the call's error, and the file's name; or, of what was refused
// because of an earlier failure, that error and that it may be tried again.
func (t *trial) explained(err error) bool {
	hits := t.faulty.Hits()
	if !errors.Is(err, t.fault.err()) {
		return false
	}
	text := err.Error()
	return errors.Is(err, tablet.ErrBusy) || slices.ContainsFunc(hits, func(c vfs.Call) bool {
		return strings.Contains(text, path.Base(c.Name)) || c.To != "" && strings.Contains(text, path.Base(c.To))
	})
}

// opEnded takes an image at the end of the operation that was hit: what was acknowledged has to be in it whatever failed.
func (t *trial) opEnded(op Op) {
	if !t.hit() && !t.always {
		return
	}
	t.opsHit++
	if t.healAt >= 0 && t.opsHit > t.healAt {
		t.heal()
	}
	if t.verify > 0 && t.w.store != nil {
		t.verify--
		t.verifyImage(fmt.Sprintf("a power cut after %v", op), t.mem.Durable(), false)
		if t.random {
			image := t.mem.Image(vfs.ImageOptions{Mode: vfs.ImageModes()[t.opsHit%len(vfs.ImageModes())], Seed: t.seed + uint64(t.fault.call)})
			t.verifyImage(fmt.Sprintf("a power cut that keeps some, after %v", op), image, false)
		}
	}
}

// snapshot is an image that is held against its moment when the trial is over.
type snapshot struct {
	when   string
	moment Moment
	image  *vfs.MemFS
	killed bool
}

func (t *trial) verifyImage(when string, image *vfs.MemFS, killed bool) {
	m := t.p.Moment()
	m.options.Tolerate = func(Op, error) bool { return false }
	t.images = append(t.images, snapshot{when, m, image, killed})
}

func (t *trial) verifyImages() {
	for _, s := range t.images {
		if err := s.moment.Verify(t.seed, s.image, s.killed); err != nil {
			t.breach("lost", fmt.Errorf("%s: %w", s.when, err))
		}
	}
}

// nothingHeld wants no open file and no lock.
func (t *trial) nothingHeld(when string) {
	if n := t.mem.OpenFiles(); n > 0 {
		t.breach("files", fmt.Errorf("%d files or locks are held %s", n, when))
	}
}

// play does histories, one after the other or several at once, and then sees to it that everything is well again.
func (t *trial) play(all ...History) {
	defer t.verifyImages()
	err := t.begin()
	switch {
	case err != nil:
		err = fmt.Errorf("at the beginning: %w", err)
	case len(all) > 1:
		err = t.p.PlayAtOnce(all...)
	default:
		err = t.playOne(all[0])
	}
	if err != nil {
		t.breach("failed", err)
		return
	}
	t.finish()
}

func (t *trial) playOne(h History) error {
	for _, op := range h {
		if err := t.do(op); err != nil {
			return fmt.Errorf("%v: %w", op, err)
		}
	}
	return nil
}

// begin opens the store, more than once if it has to.
func (t *trial) begin() error {
	err := t.p.Begin()
	for try := 0; err != nil && t.w.store == nil && try < 3 && !errors.Is(err, ErrDeadlock); try++ {
		t.tolerate(Op{Kind: Reopen}, err)
		err = t.p.Begin()
	}
	return err
}

func (t *trial) do(op Op) error {
	t.tries = 0
	told := t.told
	var err error
	switch op.Kind {
	case opProperties:
		t.p.World.Clock().Pass(2 * time.Millisecond)
		err = t.changeProperty(op)
		t.opEnded(op)
	case opTable:
		err = t.makeTable(op)
		t.opEnded(op)
	default:
		err = t.p.Do(op)
	}
	if err == nil && t.told == told && t.w.store != nil {
		t.checkDone(op)
	}
	return err
}

// checkDone wants an operation that has reported success to have done its work.
func (t *trial) checkDone(op Op) {
	if op.Kind != Flush && op.Kind != Full {
		return
	}
	stats, err := t.w.Store().Stats(context.Background(), op.Table)
	if err != nil {
		t.breach("unusable", fmt.Errorf("stats: %w", err))
	}
	for _, s := range stats {
		if s.Err == nil && (s.MemoryEntries > 0 || op.Kind == Full && len(s.Files) > 1) {
			t.breach("undone", fmt.Errorf("%v succeeded, and %v has %d entries in memory and %d files", op, s.Extent, s.MemoryEntries, len(s.Files)))
		}
	}
}

const property = "table.split.threshold"

func (t *trial) changeProperty(op Op) error {
	value := fmt.Sprintf("%dM", 100+op.Pick%1000)
	err := t.w.Store().SetProperties(context.Background(), "t", map[string]string{property: value})
	switch {
	case err == nil:
		t.value = map[string]bool{value: true}
	case Crashed(err) || errors.Is(err, ErrDeadlock):
		return err
	default:
		t.tolerate(op, err)
		t.value[value] = true
	}
	t.checkProperty()
	return t.w.Sleep(time.Second)
}

func (t *trial) checkProperty() {
	all, err := t.w.Store().Properties(context.Background(), "t")
	if err != nil || !t.value[all[property]] {
		t.breach("lost", fmt.Errorf("property %s is %q, not one of %v (%v)", property, all[property], t.value, err))
		return
	}
	t.value = map[string]bool{all[property]: true}
}

// makeTable makes a table with something in a file and something in memory, and takes it away.
func (t *trial) makeTable(op Op) error {
	s, ctx := t.w.Store(), context.Background()
	row := func(name string) []*tablet.Mutation {
		m := tablet.NewMutation([]byte(name))
		m.Put([]byte("f"), []byte("q"), nil, []byte("v"))
		return []*tablet.Mutation{m}
	}
	steps := []func() error{
		func() error { return s.CreateTable(ctx, "x", nil, nil) },
		func() error { return s.Apply(ctx, "x", row("a")) },
		func() error { return s.Flush(ctx, "x") },
		func() error { return s.Apply(ctx, "x", row("b")) },
		func() error { return s.DeleteTable(ctx, "x") },
	}
	for i, step := range steps {
		err := step()
		_, e := s.Tablets("x")
		switch last := i == len(steps)-1; {
		case Crashed(err) || errors.Is(err, ErrDeadlock):
			return err
		case err == nil && (e == nil) == last:
			t.breach("undone", fmt.Errorf("step %d with table x succeeded, and then: %v", i, e))
		case err != nil:
			t.tolerate(op, err)
			if e != nil { // it could not be made
				return nil
			}
		}
	}
	return nil
}

// dropTable deletes what a failed opTable has left.
func (t *trial) dropTable() {
	if _, err := t.w.Store().Tablets("x"); err == nil {
		if err := t.w.Store().DeleteTable(context.Background(), "x"); err != nil {
			t.breach("unusable", fmt.Errorf("delete table x: %w", err))
		}
	}
}

// finish takes the fault away and wants everything to be well: the store works, holds what it should and nothing beside,
// and does so after it was opened again.
func (t *trial) finish() {
	t.atEnd = int(t.trace.Last())
	t.heal()
	if wait := t.healed + afterEffects - t.w.Clock().Elapsed(); wait > 0 {
		if err := t.w.Sleep(wait); err != nil {
			t.breach("failed", fmt.Errorf("after the fault: %w", err))
			return
		}
	}
	t.ended = true
	t.dropTable()
	for _, op := range []Op{{Kind: Check}, t.lastWrite(), {Kind: Flush}, {Kind: Full}, {Kind: opProperties}, {Kind: Check}} {
		op.Table = "t"
		if err := t.do(op); err != nil {
			t.breach("unusable", fmt.Errorf("afterwards, %v: %w", op, err))
			return
		}
	}
	if err := t.w.Sleep(6 * time.Minute); err != nil { // files that cannot be removed are tried again every 5 minutes
		t.breach("failed", err)
		return
	}
	t.noOrphans()
	if err := t.w.CloseStore(); err != nil {
		t.breach("unusable", fmt.Errorf("close: %w", err))
	}
	t.nothingHeld("after a close")
	t.verifyImage("opened again", t.mem.Clone(), true) // which finds no orphan either
}

func (t *trial) lastWrite() Op {
	h := NewHistory(t.seed, HistoryOptions{Ops: 1, First: 900, Weights: map[OpKind]int{Write: 1}, Batches: -1})
	return h[0]
}

// noOrphans wants no data file but those that tablets have, and no lease.
func (t *trial) noOrphans() {
	if _, leases := t.w.Store().OpenFiles(); leases > 0 {
		t.breach("files", fmt.Errorf("%d leases are held by nobody", leases))
	}
	stats, err := t.w.Store().Stats(context.Background(), "")
	if err != nil {
		t.breach("unusable", fmt.Errorf("stats: %w", err))
		return
	}
	named := make(map[string]bool)
	for _, s := range stats {
		for _, f := range s.Files {
			named[f.Name] = true
		}
		if s.Jobs > 0 {
			t.breach("unusable", fmt.Errorf("%v has %d jobs long after everything", s.Extent, s.Jobs))
		}
	}
	there, err := t.mem.List("data")
	if err != nil {
		t.breach("failed", err)
	}
	for _, name := range there {
		if !named["data/"+name] {
			t.breach("orphans", fmt.Errorf("data/%s is nobody's", name))
		}
		delete(named, "data/"+name)
	}
	if len(named) > 0 {
		t.breach("lost", fmt.Errorf("files %v are not there", named))
	}
}

// report says what happened, for a trial that failed.
func (t *trial) report(all ...History) string {
	var b strings.Builder
	for _, one := range t.broken {
		fmt.Fprintf(&b, "%s: %v\n", one.what, one.err)
	}
	hits := t.faulty.Hits()
	fmt.Fprintf(&b, "hit %d calls, the first: %v\n", len(hits), hits[:min(len(hits), 3)])
	fmt.Fprintf(&b, "told:\n  %s\n", strings.Join(t.errs, "\n  "))
	for _, h := range all {
		fmt.Fprintf(&b, "history:\n%v", h)
	}
	b.WriteString(t.w.Report())
	return b.String()
}

// tally adds up trials, of several goroutines.
type tally struct {
	mu      sync.Mutex
	t       testing.TB
	figures map[string]int
	roles   map[roleSite]int
	seen    map[roleSite]int
	told    int
	redone  int
	images  int
	runs    int
	failed  int
}

func newTally(t testing.TB) *tally {
	return &tally{t: t, figures: make(map[string]int), roles: make(map[roleSite]int), seen: make(map[roleSite]int)}
}

// stop says that enough has failed.
func (y *tally) stop() bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.failed >= 8
}

func (y *tally) add(t *trial, all ...History) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.runs++
	y.images += len(t.images)
	if t.hit() && t.told > 0 {
		y.told++
	} else if t.hit() {
		y.redone++
	}
	for s, n := range t.roles {
		y.roles[s] += n
	}
	for s, n := range t.seen {
		y.seen[s] += n
	}
	if len(t.broken) == 0 {
		return
	}
	y.failed++
	for _, b := range t.broken {
		y.figures[b.what]++
	}
	name, _, _ := strings.Cut(y.t.Name(), "/")
	y.t.Errorf("seed %d, fault %v:\n%s\nagain: go test ./sim -run '^%s$' -v -args -seed %d -fault %v", t.seed, t.fault, t.report(all...), name, t.seed, t.fault)
}

// sites lists the sites that were hit, and those that never were.
func (y *tally) sites() (hit, missed []string) {
	for s := range y.seen {
		if y.roles[s] > 0 {
			hit = append(hit, fmt.Sprintf("%v %d", s, y.roles[s]))
		} else {
			missed = append(missed, s.String())
		}
	}
	slices.Sort(hit)
	slices.Sort(missed)
	return hit, missed
}

func (y *tally) zeros(names ...string) (figures []figure) {
	for _, name := range names {
		figures = append(figures, zero(name, y.figures[name]))
		delete(y.figures, name)
	}
	for name, n := range y.figures {
		figures = append(figures, zero(name, n))
	}
	return figures
}

// inParallel runs jobs on as many goroutines as there are processors, until enough has failed.
func inParallel[J any](y *tally, jobs []J, run func(J)) {
	var wait sync.WaitGroup
	next := make(chan J)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for j := range next {
				if !y.stop() {
					run(j)
				}
			}
		})
	}
	for _, j := range jobs {
		next <- j
	}
	close(next)
	wait.Wait()
}

// noGoroutines wants as many goroutines as there were.
func noGoroutines(t testing.TB, before int) int {
	t.Helper()
	left := 0
	for range 100 {
		if left = max(0, runtime.NumGoroutine()-before); left == 0 {
			return 0
		}
		time.Sleep(50 * time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("%d goroutines more than before:\n%s", left, stacks[:runtime.Stack(stacks, true)])
	return left
}

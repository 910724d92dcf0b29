package sim

import (
	"errors"
	"flag"
	"fmt"
	"path"
	"slices"
	"strings"
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

package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors"
	"millrace/internal/vfs"
)

// Options are what a world is made of. The zero value is a quiet one: a file system in memory, no faults, a uniform
// schedule.
type Options struct {
	// Seed begins every random stream: the schedule's, each fault's, the engine's own.
	Seed     uint64
	Schedule Schedule
	Faults   []Fault
	// FS is where the store's files are, without layers. Default: an empty one in memory.
	FS vfs.FS
	// Layers puts layers over the file system: faults, traces, a slow disk. It is called once now, and again for what each
	// crash leaves.
	Layers func(vfs.FS) vfs.FS
	// AnyOrder lets the store sync and remove in any order: of tests that leave syncs out. Else see SyncChecks.
	AnyOrder bool
	// Store are the store's options, beside file system, clock, scheduler, seed and name, which are the world's. The last
	// set of hooks or properties counts, as ever; the world's own hooks see everything beside.
	Store []actors.Option
	// Hooks look on.
	Hooks actors.Hooks
	// PerStep is the virtual time of a step. Default 1 ms, so that the mutations of two steps never get the same timestamp.
	PerStep time.Duration
	// Patience is how much virtual time, and MaxSteps how many steps, one wait may take before it counts as a deadlock.
	// Default 3 h and 5,000,000.
	Patience time.Duration
	MaxSteps uint64
	// Trace gets every event as a line of text, from the step TraceFrom on.
	Trace     io.Writer
	TraceFrom uint64
}

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.Mem()
	}
	if o.PerStep == 0 {
		o.PerStep = time.Millisecond
	}
	if o.Patience == 0 {
		o.Patience = 3 * time.Hour
	}
	if o.MaxSteps == 0 {
		o.MaxSteps = 5_000_000
	}
	return o
}

// World is one store in virtual time, and everything it can see. All of it runs on the goroutine that waits for
// something: nothing happens while nobody does. A world belongs to one goroutine, or to its clients, of which one runs
// at a time.
type World struct {
	options Options
	loop    *loop
	fs      vfs.FS // without layers
	files   vfs.FS // with all of them
	order   syncOrder
	system  *actor.ActorSystem
	store   *actors.Store
	life    *life
	clients []*Client
	opened  uint64
	ticks   int64
	panics  []error // of actors, beside those that faults have made
}

// New makes a world in which no store is open yet.
func New(o Options) *World {
	o = o.withDefaults()
	w := &World{options: o, system: takeSystem()}
	w.setFS(o.FS)
	w.loop = &loop{
		clock: newClock(), log: newEventLog(o.Trace, o.TraceFrom), choose: newChooser(o.Schedule, o.Seed),
		perStep: o.PerStep, most: o.MaxSteps, longest: o.Patience, boxes: make(map[*actors.Mailbox]*task),
	}
	w.loop.faults = newFaults(w, o.Faults, o.Seed)
	return w
}

// systemName names the engine in its actor system, of which each world has one.
const systemName = "sim"

// Open opens the store, or opens it again.
func (w *World) Open() error {
	if w.store != nil {
		return fmt.Errorf("sim: the store is open")
	}
	w.loop.crashed = false
	w.life = &life{loop: w.loop}
	w.opened++
	hooks := w.options.Hooks
	options := append([]actors.Option{}, w.options.Store...)
	options = append(options,
		actors.WithActorSystem(w.system), actors.WithName(systemName), actors.WithHolder(1, systemName), actors.WithClock(w.life),
		actors.WithScheduler(w.life), actors.WithSeed(mix(w.options.Seed+w.opened)|1),
		actors.WithFS(w.files),
		actors.WithHooks(actors.Hooks{
			Received: func(to *actor.PID, msg any) {
				if hooks.Received != nil {
					hooks.Received(to, msg)
				}
				w.received(to, msg)
			},
			Failed:     w.failed,
			DeadLetter: w.deadLetter,
		}))
	s, err := actors.Open(context.Background(), ".", options...)
	if err != nil {
		// What it had started may still be there.
		w.forget()
		w.system = takeSystem()
		return err
	}
	w.store = s
	return nil
}

func (w *World) noteFile(op vfs.Op, name string, a, b int64) {
	w.loop.note(name, string(op), a, b)
}

func (w *World) received(to *actor.PID, msg any) {
	if rt := w.runtime(); rt != nil {
		w.loop.faults.received(rt.KindOf(to.Id), msg)
	}
}

func (w *World) failed(err *actors.PanicError) {
	w.loop.note(err.Actor, "panicked", 0, 0)
	if _, injected := err.Value.(InjectedPanic); !injected && !w.loop.crashed {
		w.panics = append(w.panics, fmt.Errorf("%w\n%s", err, err.Stack))
	}
	if w.options.Hooks.Failed != nil {
		w.options.Hooks.Failed(err)
	}
}

func (w *World) deadLetter(to *actor.PID, msg any) {
	w.loop.note(to.Id, "dead letter: "+w.loop.log.typeName(msg), 0, 0)
	if w.options.Hooks.DeadLetter != nil {
		w.options.Hooks.DeadLetter(to, msg)
	}
}

func (w *World) runtime() *actors.Runtime {
	if w.store == nil {
		return nil
	}
	return w.store.Runtime()
}

// Store is the store, nil while none is open.
func (w *World) Store() *actors.Store { return w.store }

// FS is where its files are, without layers.
func (w *World) FS() vfs.FS { return w.fs }

func (w *World) setFS(fs vfs.FS) {
	w.fs, w.files = fs, fs
	if !w.options.AnyOrder {
		w.files = w.order.over(fs)
	}
	if w.options.Layers != nil {
		w.files = w.options.Layers(w.files)
	}
	w.files = &files{w.files, w.noteFile}
}

// Clock is virtual time. Slow files let it Pass.
func (w *World) Clock() *Clock { return w.loop.clock }

// CloseStore closes the store as a user does. The world can open it again. What the store still holds of a file system in
// memory is an error.
func (w *World) CloseStore() error {
	if w.store == nil {
		return nil
	}
	err := w.store.Close(context.Background())
	if over := w.store.Runtime().Overfilled(); len(over) > 0 && err == nil {
		err = fmt.Errorf("mailboxes were filled beyond their bounds: %+v", over)
	}
	w.forget()
	if m, ok := w.fs.(*vfs.MemFS); ok && err == nil && m.OpenFiles() > 0 {
		err = fmt.Errorf("closed, and %d files or locks are still held", m.OpenFiles())
	}
	return err
}

// Kill crashes the engine: it does not take another step, and every wait, now and until Open, ends with ErrCrashed. It
// may be called from anywhere, a file system's hook included; what the running step still does to files it does to those
// of a dead process, so take the image at the same moment.
func (w *World) Kill() {
	if !w.loop.crashed {
		w.loop.crash()
	}
}

// Crash crashes the engine, if Kill has not, and goes on with what is left of the files. Clients end.
func (w *World) Crash(left vfs.FS) {
	w.Kill()
	w.endClients()
	w.forget()
	w.setFS(left)
}

// forget takes the engine out of its actor system.
func (w *World) forget() {
	if w.store != nil {
		w.store.Runtime().Abandon()
		w.store = nil
	}
	if w.life != nil {
		w.life.over = true
	}
	w.loop.ready = nil
	clear(w.loop.boxes)
}

func (w *World) endClients() {
	for _, c := range w.clients {
		c.end(w.loop)
	}
	w.clients = nil
	w.loop.waiting = nil
}

// End ends the world, whatever state it is in: clients return, an open store is crashed. It closes nothing cleanly; what
// is to be checked at a clean end is checked with CloseStore before.
func (w *World) End() {
	if w.system == nil {
		return
	}
	w.Kill()
	w.endClients()
	w.forget()
	giveSystem(w.system)
	w.system = nil
}

// Settle lets everything happen that can, timers left out.
func (w *World) Settle() error {
	l := w.loop
	for len(l.ready) > 0 || l.anyoneOver() {
		if err := l.once(); err != nil {
			return err
		}
	}
	return nil
}

// anyoneOver says whether a client can go on.
func (l *loop) anyoneOver() bool {
	for _, w := range l.waiting {
		if w.over(l) {
			return true
		}
	}
	return false
}

// Sleep lets virtual time pass, and all that falls due in it happen.
func (w *World) Sleep(d time.Duration) error { return w.sleep(d) }

func (w *World) sleep(d time.Duration) error {
	due := false
	w.loop.clock.AfterFunc(d, func() { due = true })
	return w.loop.Wait(context.Background(), actors.Waiting{On: "the time"}, func() bool { return due })
}

// Steps is how many steps were taken.
func (w *World) Steps() uint64 { return w.loop.step }

// Digest is a fingerprint of everything that has happened: equal for equal seeds and options.
func (w *World) Digest() string { return w.loop.log.digest() }

// Report says who could run, who waits for what, and what happened last.
func (w *World) Report() string { return w.loop.report() }

// Panicked is what actors have panicked with that no fault made them: the engine gets over it, and is wrong all the same.
func (w *World) Panicked() error { return errors.Join(w.panics...) }

// Crashed says that err is because the engine has crashed, and not because of anything it did.
func Crashed(err error) bool { return errors.Is(err, ErrCrashed) }

// Making an actor system takes 5 ms and 3 MiB, so that worlds use those of others again.
var systems struct {
	sync.Mutex
	idle []*actor.ActorSystem
}

func takeSystem() *actor.ActorSystem {
	systems.Lock()
	defer systems.Unlock()
	if n := len(systems.idle); n > 0 {
		s := systems.idle[n-1]
		systems.idle = systems.idle[:n-1]
		return s
	}
	return actors.NewSystem()
}

func giveSystem(s *actor.ActorSystem) {
	systems.Lock()
	defer systems.Unlock()
	systems.idle = append(systems.idle, s)
}

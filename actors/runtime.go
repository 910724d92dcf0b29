package actors

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/eventstream"

	"millrace/actors/protocol"
	"millrace/internal/clock"
	"millrace/tablet"
)

// ErrStopped is the answer to a request whose receiver stopped before it came to it, or was not there.
var ErrStopped = fmt.Errorf("actor stopped: %w", tablet.ErrClosed)

// RuntimeOptions are the outside world of a Runtime. The zero value is a live one of its own.
type RuntimeOptions struct {
	// System is the host's actor system. Nil means one of our own, which Close shuts down.
	System *actor.ActorSystem
	// Name begins the name of every actor; it must be unique in the system. Default "millrace".
	Name string
	// Clock is asked for the time. Default the machine's.
	Clock clock.Clock
	// Seed begins every random stream. 0 draws one.
	Seed uint64
	// Logger gets the engine's own log lines. Default: discard.
	Logger *slog.Logger
	// Scheduler runs the mailboxes instead of goroutines. Default none.
	Scheduler Scheduler
	// Window bounds every window of credits in the protocols, so that tests see what happens when they are small. Default:
	// the windows are as they are.
	Window int
	Hooks  Hooks
}

// Hooks let a test kit or a simulator look on. They run on the actors' goroutines and must not block; any may be nil.
type Hooks struct {
	// Received sees each message before the actor does. A panic in it is the actor's.
	Received func(to *actor.PID, msg any)
	// Failed sees each panic, those that were swallowed in an actor's last messages included.
	Failed func(err *PanicError)
	// DeadLetter sees each of our messages that reached nobody.
	DeadLetter func(to *actor.PID, msg any)
}

// Runtime is everything that an actor may ask of the world. It is safe for concurrent use.
type Runtime struct {
	name     string
	system   *actor.ActorSystem
	owned    bool
	root     *actor.RootContext // private: the library's With… functions change the shared one
	clock    clock.Clock
	seed     uint64
	log      *slog.Logger
	hooks    Hooks
	sched    Scheduler
	most     int // of a window; 0: no bound
	fore     *dispatcher
	bulk     *dispatcher // jobs and scans: they block on files
	timers   *timers
	ports    protocol.Ports
	sub      *eventstream.Subscription
	inboxes  atomic.Uint64
	writers  atomic.Uint64
	closed   atomic.Bool
	deaf     atomic.Bool // it does not hear of dead letters any more
	strategy *stopFailed
	// work ends when the actors shall not begin anything long any more; reads of files go by it.
	work     context.Context
	stopWork context.CancelFunc

	mu    sync.Mutex
	alive map[string]*cell
	open  map[*Inbox]struct{}
	marks marks
}

// cell is what the runtime knows of one actor, over its whole life.
type cell struct {
	id   string
	spec Spec
	box  *Mailbox
	gone chan struct{} // closed when the actor, its children included, is gone
}

// Spec says how an actor is run.
type Spec struct {
	// Kind names it in logs and in the table of supervision.
	Kind string
	// New makes it. It must be free of side effects: the library calls it even when the name turns out to be taken.
	New func() actor.Actor
	// Bulk runs it among the actors that block on files.
	Bulk bool
	// Bound is how many messages its protocol lets wait for it; 0 when nobody has stated it.
	Bound int
	// BoundNow stands for Bound where that grows with what there is. It must not shrink, nor ask the runtime for anything.
	BoundNow func(Census) int
	// Last makes a panic stop the actor itself instead of going to a supervisor: for actors without a parent.
	Last bool
}

// NewRuntime returns a runtime that must be closed.
func NewRuntime(o RuntimeOptions) (*Runtime, error) {
	rt := &Runtime{
		name: o.Name, system: o.System, clock: o.Clock, seed: o.Seed, log: o.Logger, hooks: o.Hooks, sched: o.Scheduler, most: o.Window,
		fore: newDispatcher(), bulk: newDispatcher(), alive: make(map[string]*cell), open: make(map[*Inbox]struct{}),
		marks: newMarks(),
	}
	if rt.name == "" {
		rt.name = "millrace"
	}
	if err := checkName(rt.name); err != nil {
		return nil, err
	}
	if rt.clock == nil {
		rt.clock = clock.Real{}
	}
	if rt.seed == 0 {
		rt.seed = rand.Uint64() | 1
	}
	if rt.log == nil {
		rt.log = slog.New(slog.DiscardHandler)
	}
	if rt.system == nil {
		rt.system, rt.owned = NewSystem(), true
	}
	rt.root = actor.NewRootContext(rt.system, nil)
	rt.strategy = &stopFailed{rt: rt}
	rt.work, rt.stopWork = context.WithCancel(context.Background())
	rt.timers = newTimers(rt.clock, rt.Send)
	rt.sub = rt.system.EventStream.Subscribe(rt.onEvent)
	return rt, nil
}

// NewSystem makes an actor system that prints nothing. Its dead letters are throttled by a goroutine that lives as long as
// the interval, so the interval is short.
func NewSystem() *actor.ActorSystem {
	quiet := slog.New(slog.DiscardHandler)
	return actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return quiet }),
		actor.WithDeadLetterThrottleInterval(time.Millisecond))
}

// Name is the name that all names of the runtime's actors begin with.
func (rt *Runtime) Name() string { return rt.name }

// Clock is the clock that everything in the runtime goes by.
func (rt *Runtime) Clock() clock.Clock { return rt.clock }

// Logger is the engine's logger.
func (rt *Runtime) Logger() *slog.Logger { return rt.log }

// window is how large a window of credits is that is usually so large.
func (rt *Runtime) window(usual int) int {
	if rt.most > 0 {
		return min(rt.most, usual)
	}
	return usual
}

// Rand returns the random stream of a purpose. The streams of different purposes do not shift each other.
func (rt *Runtime) Rand(purpose string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(purpose))
	return rand.New(rand.NewPCG(rt.seed, h.Sum64()))
}

// After sends a message to an actor when d has passed.
func (rt *Runtime) After(d time.Duration, to *actor.PID, msg any) TimerID {
	return rt.timers.after(d, to, msg)
}

// CancelTimer takes a timed message back. It returns false when the message was sent, or taken back before; the
// message may then still wait in the receiver's mailbox.
func (rt *Runtime) CancelTimer(id TimerID) bool { return rt.timers.cancel(id) }

// Spawn starts an actor below the root, under the runtime's name and the given one.
func (rt *Runtime) Spawn(name string, s Spec) (*actor.PID, error) {
	if name != "" {
		name = "/" + name
	}
	return rt.spawn(rt.root, rt.name+name, rt.name+name, s)
}

// SpawnChild starts an actor as the child of the one whose context it is.
func (rt *Runtime) SpawnChild(c actor.Context, name string, s Spec) (*actor.PID, error) {
	return rt.spawn(c, name, c.Self().Id+"/"+name, s)
}

func (rt *Runtime) spawn(parent actor.SpawnerContext, name, id string, s Spec) (*actor.PID, error) {
	if rt.closed.Load() {
		return nil, fmt.Errorf("spawn %s: %w", id, tablet.ErrClosed)
	}
	c := &cell{id: id, spec: s, gone: make(chan struct{})}
	c.box = newMailbox(rt.sched, s.Last, func(msg any) { rt.deadLetter(c, msg) })
	c.box.id, c.box.kind = id, s.Kind
	d := rt.fore
	if s.Bulk {
		d = rt.bulk
	}
	// Props are built for each spawn: the library changes shared ones in place.
	props := actor.PropsFromProducer(
		func() actor.Actor { return &guard{inner: s.New(), rt: rt, cell: c} },
		actor.WithMailbox(func() actor.Mailbox { return c.box }),
		actor.WithDispatcher(d),
		actor.WithSupervisor(rt.strategy))
	rt.mu.Lock()
	if _, taken := rt.alive[id]; taken {
		rt.mu.Unlock()
		return nil, fmt.Errorf("spawn %s: %w", id, actor.ErrNameExists)
	}
	rt.alive[id] = c
	rt.marks.begin(s.Kind)
	rt.mu.Unlock()
	pid, err := parent.SpawnNamed(props, name)
	if err != nil {
		rt.mu.Lock()
		delete(rt.alive, id)
		rt.marks.census.alive[s.Kind]--
		rt.mu.Unlock()
		return nil, fmt.Errorf("spawn %s: %w", id, err)
	}
	return pid, nil
}

// gone is told by the guard that an actor has stopped.
func (rt *Runtime) gone(c *cell) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	delete(rt.alive, c.id)
	close(c.gone)
	rt.marks.end(c)
}

// Alive lists the actors that have not stopped, sorted.
func (rt *Runtime) Alive() []string {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	ids := make([]string, 0, len(rt.alive))
	for id := range rt.alive {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Watch has the watcher told when an actor ends; at once if it is not there.
func (rt *Runtime) Watch(watcher, target *actor.PID) {
	p, _ := rt.system.ProcessRegistry.Get(target)
	p.SendSystemMessage(target, &actor.Watch{Watcher: watcher})
}

// Stop stops an actor of the runtime and waits until it and its children are gone, or for the context's end. One that is
// not there is gone. (Watching it would not do: who begins to watch an actor that is stopping is told its end at once.)
func (rt *Runtime) Stop(ctx context.Context, pid *actor.PID) error {
	rt.mu.Lock()
	c := rt.alive[pid.Id]
	rt.mu.Unlock()
	if c == nil {
		return nil
	}
	rt.root.Stop(pid)
	ctx = rt.settle(ctx, pid.Id, nil, c)
	select {
	case <-c.gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop %s: %w", pid.Id, context.Cause(ctx))
	}
}

// Close ends the runtime's goroutines. All its actors must have stopped; what is still alive is told in the error.
func (rt *Runtime) Close(ctx context.Context) error {
	if !rt.closed.CompareAndSwap(false, true) {
		return nil
	}
	rt.stopWork()
	rt.timers.close()
	var errs []error
	if alive := rt.Alive(); len(alive) > 0 {
		errs = append(errs, fmt.Errorf("close runtime: still alive: %s", strings.Join(alive, ", ")))
	}
	errs = append(errs, rt.fore.Close(ctx), rt.bulk.Close(ctx))
	if rt.owned {
		// The subscription stays: whoever is about to send something is answered by it, or would wait for ever.
		rt.system.Shutdown()
	} else {
		rt.deaf.Store(true) // first: what nobody hears of is then seen by its sender
		rt.system.EventStream.Unsubscribe(rt.sub)
	}
	return errors.Join(errs...)
}

// System is the actor system that the runtime lives in.
func (rt *Runtime) System() *actor.ActorSystem { return rt.system }

package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Fault is one kind of trouble. Every fault draws from a stream of its own, so that one more or less does not shift the
// others.
type Fault struct {
	Kind FaultKind
	// Actor is the kind of actor that is hit: "flush", "compaction", "tablet", "scan", "binner", "scheduler", … as in the
	// table of supervision. Empty: any.
	Actor string
	// At is the message, for Panic, or the step, for the others, at which it happens once, counted from 1. 0: by Chance.
	At uint64
	// Chance is how likely it is each time.
	Chance float64
	// Most bounds how often it happens. 0: any number of times.
	Most int
	// For is how long a Delay lasts at most, and how far a Jump goes at most; either way of a Jump if Back is set.
	For  time.Duration
	Back bool
}

// FaultKind names a kind of trouble.
type FaultKind string

// The kinds of fault.
const (
	Panic  FaultKind = "panic"  // an actor panics on a message
	Stop   FaultKind = "stop"   // an actor is stopped from outside
	Delay  FaultKind = "delay"  // an idle actor is not run for a while, though it has messages
	Jump   FaultKind = "jump"   // somebody sets the clock
	Cancel FaultKind = "cancel" // the context of an operation ends: of those made with World.Context
	Crash  FaultKind = "crash"  // the engine is gone: every wait ends with ErrCrashed
)

func (f Fault) String() string {
	s := string(f.Kind)
	if f.Actor != "" {
		s += " of " + f.Actor
	}
	if f.At > 0 {
		return fmt.Sprintf("%s at %d", s, f.At)
	}
	return fmt.Sprintf("%s with chance %g", s, f.Chance)
}

// InjectedPanic is what a Panic fault panics with.
type InjectedPanic struct{ Fault Fault }

func (p InjectedPanic) String() string { return "injected: " + p.Fault.String() }

// faults are those of one world.
type faults struct {
	all     []*armed
	world   *World
	cancels []*operation // in the order in which they began
	did     map[FaultKind]int
}

type armed struct {
	Fault
	rand *rand.Rand
	seen uint64
	hits int
}

func newFaults(w *World, list []Fault, seed uint64) *faults {
	f := &faults{world: w, did: make(map[FaultKind]int)}
	for _, one := range list {
		f.all = append(f.all, &armed{Fault: one, rand: stream(seed, fmt.Sprint("fault ", one.Kind, one.Actor, one.At))})
	}
	return f
}

// hits says whether the fault happens at this occasion.
func (a *armed) now() bool {
	a.seen++
	hit := a.seen == a.At
	if a.At == 0 {
		hit = a.rand.Float64() < a.Chance
	}
	if !hit || a.Most > 0 && a.hits >= a.Most {
		return false
	}
	a.hits++
	return true
}

// received is the hook before an actor gets a message of its own.
func (f *faults) received(kind string, msg any) {
	switch msg.(type) {
	case *actor.Stopping, *actor.Stopped, *actor.Restarting, *actor.Terminated:
		return // the guard swallows what is panicked there
	}
	for _, a := range f.all {
		if a.Kind == Panic && (a.Actor == "" && kind != "engine" || a.Actor == kind) && a.now() {
			f.hit(a, kind)
			panic(InjectedPanic{a.Fault})
		}
	}
}

// delay is how long an actor that has something to do is kept from doing it.
func (f *faults) delay(kind string) (d time.Duration) {
	for _, a := range f.all {
		if a.Kind == Delay && (a.Actor == "" || a.Actor == kind) && a.now() {
			f.did[Delay]++
			d += time.Duration(a.rand.Int64N(int64(max(a.For, time.Millisecond)))) + 1
		}
	}
	return d
}

// stepped does what happens between two steps.
func (f *faults) stepped(l *loop) {
	for _, a := range f.all {
		switch a.Kind {
		case Stop:
			if a.now() {
				f.stop(a)
			}
		case Jump:
			if a.now() {
				f.jump(a)
			}
		case Cancel:
			if len(f.cancels) > 0 && a.now() {
				f.cancel(a)
			}
		case Crash:
			if !l.crashed && a.now() {
				f.hit(a, "engine")
				f.world.Kill()
			}
		}
	}
}

func (f *faults) stop(a *armed) {
	rt := f.world.runtime()
	if rt == nil {
		return
	}
	ids := slices.DeleteFunc(rt.Alive(), func(id string) bool {
		kind := rt.KindOf(id)
		return kind == "engine" || a.Actor != "" && a.Actor != kind
	})
	if len(ids) == 0 {
		return
	}
	id := ids[a.rand.IntN(len(ids))]
	f.hit(a, id)
	rt.StopLater(id)
}

func (f *faults) jump(a *armed) {
	d := time.Duration(a.rand.Int64N(int64(max(a.For, time.Millisecond)))) + 1
	if a.Back && a.rand.IntN(2) == 0 {
		d = -d
	}
	f.hit(a, "clock")
	f.world.loop.clock.Jump(d)
}

func (f *faults) cancel(a *armed) {
	i := a.rand.IntN(len(f.cancels))
	op := f.cancels[i]
	f.cancels = slices.Delete(f.cancels, i, i+1)
	f.hit(a, "context")
	op.end(context.Canceled)
}

func (f *faults) hit(a *armed, whom string) {
	f.did[a.Kind]++
	f.world.loop.note(whom, "fault: "+string(a.Kind), int64(a.seen), 0)
}

// Hits is how often faults of a kind have happened.
func (w *World) Hits(kind FaultKind) int { return w.loop.faults.did[kind] }

// operation is a context that may be cancelled.
type operation struct{ end context.CancelCauseFunc }

// Context is one that Cancel faults may end. It is for one operation; done says that it is over.
func (w *World) Context() (ctx context.Context, done func()) {
	f := w.loop.faults
	ctx, end := context.WithCancelCause(context.Background())
	op := &operation{end}
	f.cancels = append(f.cancels, op)
	return ctx, func() {
		f.cancels = slices.DeleteFunc(f.cancels, func(o *operation) bool { return o == op })
		end(nil)
	}
}

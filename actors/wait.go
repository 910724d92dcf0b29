package actors

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"
)

// waitable is what a goroutine outside the actors waits for.
type waitable interface{ ready() bool }

// Waiting says who waits for what, for the report of a deadlock.
type Waiting struct {
	On  string // an actor, an inbox, or what else must act
	For any    // the request whose answer is missing; nil for none
}

// settle stands before every wait of a goroutine outside the actors, and it is the only place where a simulation comes in:
// live it does nothing, and the caller blocks on its channel. With a Scheduler of the simulator's it returns once the
// caller's select has something to receive and the context that is returned never ends, or that context has ended.
func (rt *Runtime) settle(ctx context.Context, on string, message any, w waitable) context.Context {
	if rt.sched == nil {
		return ctx
	}
	err := rt.sched.Wait(ctx, Waiting{On: on, For: message}, w.ready)
	if err != nil && !w.ready() { // what came with the last step counts, or the caller's select would draw lots
		ended, end := context.WithCancelCause(context.Background())
		end(err)
		return ended
	}
	return context.Background()
}

// ready implements waitable: the actor is gone.
func (c *cell) ready() bool { return isClosed(c.gone) }

// isClosed says whether a channel that nothing is sent to is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Abandon forgets everything at once, as a crash of the process does: no actor hears of it, none runs again, and whoever
// still holds the runtime gets dead letters. The system may be used again under the same name. It is for simulators, which
// alone can be sure that no actor is running.
func (rt *Runtime) Abandon() {
	open := !rt.closed.Swap(true)
	if open {
		rt.system.EventStream.Unsubscribe(rt.sub) // first: nobody is answered any more
		rt.stopWork()
		rt.timers.close()
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	for id := range rt.alive {
		rt.system.ProcessRegistry.Remove(actor.NewPID(rt.system.Address(), id))
	}
	for in := range rt.open {
		rt.system.ProcessRegistry.Remove(in.pid)
	}
	if open && rt.owned {
		rt.system.Shutdown()
	}
}

// KindOf is the kind of a living actor, empty if there is none of that id.
func (rt *Runtime) KindOf(id string) string {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if c := rt.alive[id]; c != nil {
		return c.spec.Kind
	}
	return ""
}

// StopLater has an actor stop, and does not wait for it.
func (rt *Runtime) StopLater(id string) { rt.root.Stop(actor.NewPID(rt.system.Address(), id)) }

// fileID is a file's random identity. It is drawn from the runtime's seed, so that a simulation writes the same bytes again,
// and from the file's number, so that a store that is opened again with the same seed gives no identity twice.
func (rt *Runtime) fileID(number uint64) (id [16]byte) {
	r := rt.Rand(fmt.Sprint("file ", number))
	binary.LittleEndian.PutUint64(id[:8], r.Uint64())
	binary.LittleEndian.PutUint64(id[8:], r.Uint64())
	return id
}

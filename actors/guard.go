package actors

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/asynkron/protoactor-go/actor"
)

var errGoexit = errors.New("handler left its goroutine (runtime.Goexit)")

// PanicError is a panic in an actor, with what the library would lose: the stack.
type PanicError struct {
	Value   any    // what was panicked with
	Stack   []byte // of the goroutine, from the panic on
	Message string // type of the message that was handled
	Actor   string
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("actor %s panicked on %s: %v", e.Actor, e.Message, e.Value)
}

// Unwrap is the value, if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// guard stands before every actor. A panic fails the request that it came with and goes on to the supervisor, but not
// from an actor's last messages: a panic in Stopping would bring the actor back to life, one in Stopped would keep its
// parent waiting for ever. Once an actor is stopping, its guard refuses all requests in its name.
type guard struct {
	inner   actor.Actor
	rt      *Runtime
	cell    *cell
	closing bool
}

// Receive routes by the actor's state of life.
func (g *guard) Receive(c actor.Context) {
	msg := c.Message()
	switch msg.(type) {
	case *actor.Stopping:
		g.closing = true
		g.handle(c, msg, true)
	case *actor.Stopped:
		g.handle(c, msg, true)
		g.cell.box.close()
		g.rt.gone(g.cell)
	case *actor.Restarting:
		g.handle(c, msg, true)
	case *actor.Terminated:
		g.handle(c, msg, g.closing)
	default:
		if g.closing {
			g.rt.deadLetter(g.cell, msg)
			return
		}
		g.handle(c, msg, false)
	}
}

func (g *guard) handle(c actor.Context, msg any, swallow bool) {
	returned := false
	defer func() {
		if !returned {
			g.failed(c, msg, recover(), swallow)
		}
	}()
	if g.rt.hooks.Received != nil {
		g.rt.hooks.Received(c.Self(), msg)
	}
	g.inner.Receive(c)
	returned = true
}

func (g *guard) failed(c actor.Context, msg, reason any, swallow bool) {
	if reason == nil {
		reason = errGoexit // the panic below passes the mailbox, and the goroutine goes on ending
	}
	err, again := reason.(*PanicError)
	if !again {
		err = &PanicError{Value: reason, Stack: debug.Stack(), Message: fmt.Sprintf("%T", msg), Actor: g.cell.id}
	}
	g.rt.failed(err)
	g.rt.refuse(msg, err)
	switch {
	case swallow:
	case g.cell.spec.Last:
		c.Stop(c.Self())
	default:
		panic(err)
	}
}

// failed records a panic.
func (rt *Runtime) failed(err *PanicError) {
	rt.log.Error("actor panicked", slog.String("actor", err.Actor), slog.String("message", err.Message),
		slog.Any("err", err.Value), slog.String("stack", string(err.Stack)))
	if rt.hooks.Failed != nil {
		rt.hooks.Failed(err)
	}
}

package actors_test

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors"
	"millrace/actors/actortest"
	"millrace/actors/protocol"
	"millrace/tablet"
)

// question is a request from outside, number one between actors, owned owns something.
type (
	question struct {
		protocol.Asked[reply]
		do func(c actor.Context)
	}
	reply  struct{ n int }
	number struct {
		n    int
		from *actor.PID
		do   func(c actor.Context)
	}
	refused struct {
		n   int
		err error
	}
	owned struct{ released *atomic.Int32 }
)

func (m *number) Refusal(err error) (*actor.PID, any) { return m.from, &refused{n: m.n, err: err} }
func (m *owned) Release()                             { m.released.Add(1) }

// echo answers questions and numbers, after doing what they say.
type echo struct{ lifecycle func(c actor.Context) }

func (e *echo) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *question:
		if m.do != nil {
			m.do(c)
		}
		m.Answer(&reply{n: 1})
	case *number:
		if m.do != nil {
			m.do(c)
		}
		c.Send(m.from, &reply{n: m.n})
	case *owned:
		m.released.Add(1)
	default:
		if e.lifecycle != nil {
			e.lifecycle(c)
		}
	}
}

func echoSpec() actors.Spec { return actors.Spec{New: func() actor.Actor { return &echo{} }} }

func TestMessagesArriveInOrder(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		p := k.Probe("client")
		e := k.Spawn("echo", echoSpec())
		for i := range 1000 { // several turns of the mailbox
			p.Send(e, &number{n: i, from: p.PID()})
		}
		for i := range 1000 {
			if got := actortest.Expect[*reply](p, time.Second); got.n != i {
				t.Fatalf("answer %d came at place %d", got.n, i)
			}
		}
	})
}

// The library drops what is queued behind a stop without a word. Here every request is refused and every buffer
// released, whether it was queued at the stop or sent afterwards.
func TestLeftoversAreRefusedAndReleased(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		k.AllowDeadLetters(&question{}, &number{}, &owned{})
		p := k.Probe("client")
		e := k.Spawn("echo", echoSpec())
		var released atomic.Int32
		hold := make(chan struct{})
		p.Send(e, &number{n: 0, from: p.PID(), do: func(c actor.Context) { <-hold; c.Stop(c.Self()) }})
		var waits []func() error
		for range 10 {
			w := actors.AskLater(k.Runtime(), e, &question{})
			waits = append(waits, func() error { _, err := w(k.Context()); return err })
		}
		p.Send(e, &number{n: 7, from: p.PID()})
		p.Send(e, &owned{&released})
		close(hold)
		actortest.Expect[*reply](p, time.Second)
		if got := actortest.Expect[*refused](p, time.Second); got.n != 7 || !errors.Is(got.err, tablet.ErrClosed) {
			t.Errorf("the request between actors was refused with %d, %v", got.n, got.err)
		}
		for i, w := range waits {
			if err := w(); !errors.Is(err, actors.ErrStopped) {
				t.Errorf("request %d queued behind the stop: %v, want ErrStopped", i, err)
			}
		}
		if _, err := actortest.Ask(k, e, &question{}); !errors.Is(err, actors.ErrStopped) {
			t.Errorf("request to a dead actor: %v, want ErrStopped", err)
		}
		p.Send(e, &owned{&released})
		k.Settle()
		if n := released.Load(); n != 2 {
			t.Errorf("%d of 2 owned messages were released", n)
		}
	})
}

// t.Fatal in a handler leaves the goroutine. The library's mailbox is wedged by that; ours has the actor supervised.
func TestGoexitDoesNotWedge(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		k.AllowDeadLetters(&number{})
		p := k.Probe("parent")
		e := p.Spawn("echo", echoSpec())
		if _, err := actortest.Ask(k, e, &question{do: func(actor.Context) { runtime.Goexit() }}); err == nil {
			t.Error("the request whose handler left was answered without an error")
		}
		p.ExpectTerminated(e)
		k.ExpectFailure(e)
	})
}

func TestHighWaterMark(t *testing.T) {
	rt, err := actors.NewRuntime(actors.RuntimeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	hold, held := make(chan struct{}), make(chan struct{})
	s := echoSpec()
	s.Bound, s.Kind = 4, "echo"
	e, err := rt.Spawn("echo", s)
	if err != nil {
		t.Fatal(err)
	}
	in := rt.NewInbox(16)
	rt.Send(e, &number{from: in.PID(), do: func(actor.Context) { close(held); <-hold }})
	<-held
	for range 5 {
		rt.Send(e, &number{from: in.PID()})
	}
	close(hold)
	for range 6 {
		if _, err := in.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	check := func() {
		t.Helper()
		over := rt.Overfilled()
		if len(over) != 1 || over[0] != (actors.Mark{ID: "millrace/echo", Kind: "echo", High: 5, Bound: 4}) {
			t.Errorf("overfilled mailboxes: %+v", over)
		}
	}
	check()
	in.Close()
	if err := rt.Stop(t.Context(), e); err != nil {
		t.Error(err)
	}
	check() // also of an actor that is gone
	if err := rt.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

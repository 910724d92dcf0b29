package actors_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors"
	"millrace/actors/actortest"
)

func TestPanicFailsItsRequestAndKeepsItsStack(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		p := k.Probe("parent")
		e := p.Spawn("echo", echoSpec())
		cause := errors.New("broken")
		_, err := actortest.Ask(k, e, &question{do: func(actor.Context) { panicHere(cause) }})
		var pe *actors.PanicError
		if !errors.As(err, &pe) || !errors.Is(err, cause) {
			t.Fatalf("answer to the request that made its actor panic: %v", err)
		}
		if !strings.Contains(string(pe.Stack), "panicHere") {
			t.Errorf("the stack does not name the culprit:\n%s", pe.Stack)
		}
		p.ExpectTerminated(e)
		if got := k.ExpectFailure(e); got != pe {
			t.Errorf("recorded %v, answered %v", got, pe)
		}
		p.ExpectNone(time.Hour) // the end of a child is told once
	})
}

func panicHere(v any) { panic(v) }

func TestPanicRefusesRequestsBetweenActors(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		p := k.Probe("client")
		e := k.Spawn("echo", echoSpec())
		p.Send(e, &number{n: 3, from: p.PID(), do: func(actor.Context) { panic("no") }})
		if got := actortest.Expect[*refused](p, time.Second); got.n != 3 {
			t.Errorf("refused %d", got.n)
		}
		k.ExpectFailure(e)
	})
}

// In the library a panic in Stopping cancels the stop, and one in Stopped keeps the parent waiting for ever.
func TestPanicDoesNotKeepAnActorFromStopping(t *testing.T) {
	on := func(match func(any) bool) func(c actor.Context) {
		return func(c actor.Context) {
			if match(c.Message()) {
				panic("in its last messages")
			}
		}
	}
	cases := map[string]func(any) bool{
		"Stopping":   func(m any) bool { _, ok := m.(*actor.Stopping); return ok },
		"Stopped":    func(m any) bool { _, ok := m.(*actor.Stopped); return ok },
		"Terminated": func(m any) bool { _, ok := m.(*actor.Terminated); return ok },
	}
	for name, match := range cases {
		t.Run(name, func(t *testing.T) {
			actortest.Run(t, func(k *actortest.Kit) {
				p := k.Probe("parent")
				e := p.Spawn("echo", actors.Spec{New: func() actor.Actor { return &echo{lifecycle: on(match)} }})
				p.Send(e, &number{from: p.PID(), do: func(c actor.Context) {
					if _, err := k.Runtime().SpawnChild(c, "child", echoSpec()); err != nil {
						k.Failf("%v", err)
					}
				}})
				actortest.Expect[*reply](p, time.Second)
				k.Stop(e)
				p.ExpectTerminated(e)
				k.ExpectFailure(e)
				if alive := k.Runtime().Alive(); len(alive) != 2 { // the two probes
					t.Errorf("still alive: %v", alive)
				}
			})
		})
	}
}

// Between Stopping and Stopped, while its children stop, an actor still gets messages; its guard refuses them.
func TestStoppingActorRefuses(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		k.AllowDeadLetters(&question{})
		p := k.Probe("client")
		e := k.Spawn("echo", echoSpec())
		hold := make(chan struct{})
		slow := func(c actor.Context) {
			if _, ok := c.Message().(*actor.Stopping); ok {
				<-hold
			}
		}
		p.Send(e, &number{from: p.PID(), do: func(c actor.Context) {
			spec := actors.Spec{New: func() actor.Actor { return &echo{lifecycle: slow} }}
			if _, err := k.Runtime().SpawnChild(c, "child", spec); err != nil {
				k.Failf("%v", err)
			}
		}})
		actortest.Expect[*reply](p, time.Second)
		stopped := make(chan struct{})
		go func() { defer close(stopped); k.Stop(e) }()
		k.Settle() // e has seen Stopping and waits for its child
		if _, err := actortest.Ask(k, e, &question{}); !errors.Is(err, actors.ErrStopped) {
			t.Errorf("request to a stopping actor: %v, want ErrStopped", err)
		}
		// Who comes to stop it now waits, too.
		again := make(chan struct{})
		go func() { defer close(again); k.Stop(e) }()
		k.Settle()
		select {
		case <-again:
			t.Error("Stop returned although a child is still there")
		default:
		}
		close(hold)
		<-stopped
		<-again
	})
}

func TestKill(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		p := k.Probe("parent")
		e := p.Spawn("echo", echoSpec())
		tap := k.Tap(e)
		p.Send(e, &number{n: 1, from: p.PID()})
		actortest.Expect[*reply](p, time.Second)
		k.Kill(e)
		p.Send(e, &number{n: 2, from: p.PID()})
		actortest.Expect[*refused](p, time.Second)
		p.ExpectTerminated(e)
		for want := 1; want <= 2; want++ {
			if got := actortest.Fish[*number](tap, nil); got.n != want {
				t.Errorf("tapped %d, want %d", got.n, want)
			}
		}
	})
}

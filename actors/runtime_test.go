package actors_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/goleak"

	"millrace/actors"
	"millrace/actors/actortest"
	"millrace/tablet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Several runtimes live in one system of the host's, which stays the host's.
func TestRuntimesShareAHostsSystem(t *testing.T) {
	host := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.DiscardHandler)
	}), actor.WithDeadLetterThrottleInterval(time.Millisecond))
	// A host may have middleware on its root context; ours must not pass through it.
	host.Root.WithSpawnMiddleware(func(next actor.SpawnFunc) actor.SpawnFunc {
		return func(*actor.ActorSystem, string, *actor.Props, actor.SpawnerContext) (*actor.PID, error) {
			t.Error("the host's spawn middleware was called")
			return nil, errors.New("no")
		}
	})
	var rts []*actors.Runtime
	for _, name := range []string{"a", "b"} {
		rt, err := actors.NewRuntime(actors.RuntimeOptions{System: host, Name: name})
		if err != nil {
			t.Fatal(err)
		}
		rts = append(rts, rt)
	}
	for _, rt := range rts {
		e, err := rt.Spawn("echo", echoSpec())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := actors.Ask(t.Context(), rt, e, &question{}); err != nil {
			t.Error(err)
		}
		if err := rt.Close(t.Context()); err == nil {
			t.Error("Close does not tell of an actor that is alive")
		}
		if err := rt.Stop(t.Context(), e); err != nil {
			t.Error(err)
		}
	}
	if host.IsStopped() {
		t.Error("the host's system was shut down")
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"future1", "Remote$x", "a/b", "$1", "a b"} {
		if _, err := actors.NewRuntime(actors.RuntimeOptions{Name: name}); !errors.Is(err, tablet.ErrUsage) {
			t.Errorf("name %q: %v, want ErrUsage", name, err)
		}
	}
	actortest.Run(t, func(k *actortest.Kit) {
		made := 0
		s := actors.Spec{New: func() actor.Actor { made++; return &echo{} }}
		k.Spawn("echo", s)
		if _, err := k.Runtime().Spawn("kit/echo", s); !errors.Is(err, actor.ErrNameExists) {
			t.Errorf("second actor of one name: %v", err)
		}
		if made != 1 {
			t.Errorf("%d actors were made for one name", made)
		}
	})
}

func TestInbox(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		k.AllowDeadLetters(&reply{})
		e := k.Spawn("echo", echoSpec())
		in := k.Runtime().NewInbox(2)
		k.Runtime().Send(e, &number{n: 5, from: in.PID()})
		msg, err := in.Receive(k.Context())
		if r, ok := msg.(*reply); err != nil || !ok || r.n != 5 {
			t.Errorf("received %v, %v", msg, err)
		}
		in.Close()
		k.Runtime().Send(e, &number{n: 6, from: in.PID()})
		k.Settle()
		if _, err := in.Receive(k.Context()); !errors.Is(err, tablet.ErrClosed) {
			t.Errorf("receive from a closed inbox: %v", err)
		}
		// Overrun: what was in time is there, then the broken protocol is told. Nobody panics.
		small := k.Runtime().NewInbox(1)
		defer small.Close()
		for i := range 3 {
			k.Runtime().Send(e, &number{n: i, from: small.PID()})
		}
		k.Settle()
		if msg, err := small.Receive(k.Context()); err != nil {
			t.Errorf("received %v, %v", msg, err)
		}
		if _, err := small.Receive(k.Context()); err == nil || errors.Is(err, tablet.ErrClosed) {
			t.Errorf("receive from an overrun inbox: %v", err)
		}
	})
}

func TestRandStreamsAreApart(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		rt := k.Runtime()
		a, b := rt.Rand("a").Uint64(), rt.Rand("b").Uint64()
		if a != rt.Rand("a").Uint64() || a == b {
			t.Error("a purpose's stream must be its own and repeatable")
		}
	})
}

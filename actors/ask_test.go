package actors_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors"
	"millrace/actors/actortest"
)

// Of two answers the first counts, also when the port has gone on to another question meanwhile.
func TestOneAnswer(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		e := k.Spawn("echo", echoSpec())
		var first *question
		first = &question{do: func(actor.Context) {
			if !first.Answer(&reply{n: 42}) || first.Answer(&reply{n: 43}) {
				k.Failf("of several answers not exactly the first was taken")
			}
		}}
		got, err := actortest.Ask(k, e, first)
		if err != nil || got.n != 42 {
			t.Errorf("answer %v, %v; want 42", got, err)
		}
		for range 100 { // ports are reused now
			got, err := actortest.Ask(k, e, &question{do: func(actor.Context) {
				if first.Answer(&reply{n: 44}) || first.Refuse(errors.New("late")) {
					k.Failf("a late answer was taken")
				}
			}})
			if err != nil || got.n != 1 {
				t.Fatalf("answer %v, %v; want 1", got, err)
			}
		}
	})
}

func TestAskGivesUp(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		e := k.Spawn("echo", echoSpec())
		one, two := actors.AskLater(k.Runtime(), e, &question{}), actors.AskLater(k.Runtime(), e, &question{})
		for _, wait := range []func(context.Context) (*reply, error){one, two} { // so that ports are reused below
			if _, err := wait(k.Context()); err != nil {
				t.Fatal(err)
			}
		}
		hold := make(chan struct{})
		blocker := actors.AskLater(k.Runtime(), e, &question{do: func(actor.Context) { <-hold }})
		ctx, cancel := context.WithTimeout(k.Context(), time.Minute)
		defer cancel()
		q := &question{}
		if _, err := actors.Ask(ctx, k.Runtime(), e, q); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("gave up with %v", err)
		}
		if !q.Abandoned() {
			t.Error("the request does not know that nobody waits")
		}
		close(hold)
		if _, err := blocker(k.Context()); err != nil {
			t.Error(err)
		}
		k.Settle()
		if q.Answer(&reply{}) {
			t.Error("an abandoned request took an answer")
		}
	})
}

func TestAskAllocatesItsMessageOnly(t *testing.T) {
	rt, err := actors.NewRuntime(actors.RuntimeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := rt.Spawn("echo", actors.Spec{New: func() actor.Actor { return &constant{} }})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	n := testing.AllocsPerRun(1000, func() {
		if _, err := actors.Ask(ctx, rt, e, &question{}); err != nil {
			t.Fatal(err)
		}
	})
	if n > 1 && !raceEnabled {
		t.Errorf("%v allocations a request, want 1", n)
	}
	if err := rt.Stop(ctx, e); err != nil {
		t.Error(err)
	}
	if err := rt.Close(ctx); err != nil {
		t.Error(err)
	}
}

type constant struct{ r reply }

func (a *constant) Receive(c actor.Context) {
	if q, ok := c.Message().(*question); ok {
		q.Answer(&a.r)
	}
}

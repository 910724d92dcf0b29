package actors_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors"
	"millrace/actors/protocol"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// hostSystem is an actor system that is not the store's.
func hostSystem() *actor.ActorSystem {
	return actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.DiscardHandler)
	}), actor.WithDeadLetterThrottleInterval(time.Millisecond))
}

// TestSendsAfterCloseAreAnswered: in a host's system nobody listens for a closed store's dead letters. Whoever sends all the
// same, because it was about to, is answered by the send itself, once.
func TestSendsAfterCloseAreAnswered(t *testing.T) {
	s := openStore(t, vfs.Mem(), actors.WithActorSystem(hostSystem()))
	rt := s.Runtime()
	in := rt.NewInbox(4)
	defer in.Close()
	closeStore(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	to := func(name string) *actor.PID { return actor.NewPID(rt.System().Address(), "millrace"+name) }
	if _, err := actors.Ask(ctx, rt, to(""), &protocol.GetStats{}); !errors.Is(err, actors.ErrStopped) {
		t.Errorf("a request: %v", err)
	}
	tickets := &counter{}
	w := &protocol.Write{Table: "t", Mutations: []*tablet.Mutation{put("a")}}
	w.Admit(tickets)
	if _, err := actors.AskLater(rt, to("/bins.1"), w)(ctx); !errors.Is(err, actors.ErrStopped) || tickets.n != 1 {
		t.Errorf("a write: %v, %d tickets given back", err, tickets.n)
	}
	view := &countedView{}
	rt.Send(to("/scans.1"), &protocol.ScanOpen{Client: in.PID(), Scan: 1, View: view})
	msg, err := in.Receive(ctx)
	if end, ok := msg.(*protocol.ScanEnd); !ok || !errors.Is(end.Err, actors.ErrStopped) || !view.released {
		t.Errorf("a scan: %+v, %v; view released: %v", msg, err, view.released)
	}
}

type countedView struct {
	protocol.View
	released bool
}

func (v *countedView) Release() { v.released = true }

// TestCallsRacingCloseEnd has callers go on while a store in a host's system closes. None of them waits for ever.
func TestCallsRacingCloseEnd(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	host := hostSystem()
	for range rounds {
		s := openStore(t, vfs.Mem(), actors.WithActorSystem(host))
		if err := s.CreateTable(t.Context(), "ci", nil, nil); err != nil {
			t.Fatal(err)
		}
		calls := []func(context.Context) error{
			func(ctx context.Context) error { _, err := s.Stats(ctx, ""); return err },
			func(ctx context.Context) error { return s.Apply(ctx, "ci", []*tablet.Mutation{put("a")}) },
			func(ctx context.Context) error { return s.Flush(ctx, "ci") },
			func(ctx context.Context) error {
				sc, err := s.Scan(ctx, "ci", actors.ScanOptions{})
				if err != nil {
					return err
				}
				defer sc.Close()
				for sc.Next() {
				}
				return sc.Err()
			},
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				var err error
				for err == nil || errors.Is(err, tablet.ErrBusy) {
					err = calls[i%len(calls)](ctx)
				}
				if !errors.Is(err, tablet.ErrClosed) {
					t.Errorf("call %d ended with %v", i%len(calls), err)
				}
			})
		}
		time.Sleep(5 * time.Millisecond)
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
		all.Wait()
		cancel()
	}
}

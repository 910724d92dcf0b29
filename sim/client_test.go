package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"millrace/actors"
	"millrace/tablet"
)

// eight runs clients that write, scan, flush and compact at the same time, and returns the order in which operations began
// and ended.
func eight(t *testing.T, seed uint64) (order []string, digest string) {
	t.Helper()
	w := New(Options{Seed: seed, Schedule: ScheduleFor(seed)})
	defer w.End()
	if err := w.Open(); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	s := w.Store()
	if err := s.CreateTable(ctx, "t", [][]byte{[]byte("r2")}, nil); err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		w.Go(fmt.Sprint("client ", i), func(c *Client) {
			for n := range 6 {
				order = append(order, fmt.Sprintf("%d begins %d", i, n))
				var err error
				switch (i + n) % 4 {
				case 0, 1:
					m := tablet.NewMutation(fmt.Appendf(nil, "r%d", n))
					m.Put([]byte("f"), fmt.Append(nil, i), nil, []byte("v"))
					err = s.Apply(ctx, "t", []*tablet.Mutation{m})
				case 2:
					var sc *actors.Scanner
					if sc, err = s.Scan(ctx, "t", actors.ScanOptions{}); err == nil {
						_, err = ReadAll(sc)
					}
				case 3:
					if err = s.Flush(ctx, "t"); err == nil && i%2 == 0 {
						_, err = s.Compact(ctx, "t", actors.CompactOptions{})
					}
				}
				if err == nil {
					err = c.Pause()
				}
				if err != nil {
					t.Errorf("client %d, operation %d: %v", i, n, err)
					return
				}
				order = append(order, fmt.Sprintf("%d ends %d", i, n))
			}
		})
	}
	if err := w.Run(); err != nil {
		t.Fatal(err)
	}
	sc, err := s.Scan(ctx, "t", actors.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := ReadAll(sc)
	if err != nil || len(found) != 24 {
		t.Errorf("%d entries, want 24; %v", len(found), err)
	}
	if err := w.CloseStore(); err != nil {
		t.Error(err)
	}
	return order, w.Digest()
}

func TestClientsInterleaveBySeed(t *testing.T) {
	orders := map[string]bool{}
	for seed := range uint64(12) {
		order, digest := eight(t, seed)
		again, same := eight(t, seed)
		if digest != same || strings.Join(order, ",") != strings.Join(again, ",") {
			t.Errorf("seed %d gave %s and %s", seed, digest, same)
		}
		orders[strings.Join(order, ",")] = true
		most, busy := 0, 0
		for _, o := range order {
			if strings.Contains(o, "begins") {
				busy++
			} else {
				busy--
			}
			most = max(most, busy)
		}
		if most < 4 {
			t.Errorf("seed %d: at most %d operations at once", seed, most)
		}
	}
	if len(orders) < 10 { // first come and last come, twice each, do not look at the seed
		t.Errorf("12 seeds gave %d orders", len(orders))
	}
}

// A crash ends every wait, of clients too.
func TestCrashEndsClients(t *testing.T) {
	w := New(Options{Seed: 1, Faults: []Fault{{Kind: Crash, At: 60}}})
	defer w.End()
	if err := w.Open(); err != nil {
		t.Fatal(err)
	}
	if err := w.Store().CreateTable(context.Background(), "t", nil, nil); err != nil {
		t.Fatal(err)
	}
	ended := 0
	for i := range 4 {
		w.Go(fmt.Sprint("client ", i), func(c *Client) {
			for {
				m := tablet.NewMutation([]byte("r"))
				m.Put([]byte("f"), nil, nil, nil)
				if err := c.w.store.Apply(context.Background(), "t", []*tablet.Mutation{m}); err != nil {
					if !Crashed(err) {
						t.Errorf("client ended with %v", err)
					}
					ended++
					return
				}
			}
		})
	}
	if err := w.Run(); !Crashed(err) {
		t.Errorf("run ended with %v", err)
	}
	w.Crash(Image(Op{Kind: PowerCut}, w.FS()))
	if ended != 4 {
		t.Errorf("%d clients have returned, want 4", ended)
	}
	if w.Steps() != 60 {
		t.Errorf("crashed at step %d, want 60", w.Steps())
	}
}

func TestDeadlockIsReported(t *testing.T) {
	f := func(o Options, want ...string) {
		t.Helper()
		w := New(o)
		defer w.End()
		w.Go("one", func(c *Client) {
			c.w.loop.Wait(context.Background(), actors.Waiting{On: "Godot"}, func() bool { return false })
		})
		err := w.Run()
		if !errors.Is(err, ErrDeadlock) {
			t.Fatalf("got %v", err)
		}
		for _, s := range want {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("the report does not say %q:\n%v", s, err)
			}
		}
	}
	f(Options{}, "deadlock", "one waits for Godot since step 1", "main waits for the clients")
}

// A wait that takes too long is a deadlock although timers go on.
func TestPatience(t *testing.T) {
	w := New(Options{Patience: time.Minute})
	defer w.End()
	var tick func()
	tick = func() { w.Clock().AfterFunc(time.Second, tick) }
	tick()
	err := w.loop.Wait(context.Background(), actors.Waiting{On: "Godot"}, func() bool { return false })
	if !errors.Is(err, ErrDeadlock) || !strings.Contains(err.Error(), "main waits for Godot") {
		t.Errorf("got %v", err)
	}
	if e := w.Clock().Elapsed(); e < time.Minute || e > 2*time.Minute {
		t.Errorf("it took %v", e)
	}
}

// An actor that waits for another stands in the way of everything; the loop says so at once.
func TestNoWaitInsideAnActor(t *testing.T) {
	w := New(Options{})
	defer w.End()
	if err := w.Open(); err != nil {
		t.Fatal(err)
	}
	w.loop.delivering = &task{name: "x"}
	defer func() {
		w.loop.delivering = nil
		if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "x waits for sim inside an actor") {
			t.Errorf("recovered %v", p)
		}
	}()
	w.Store().Stats(context.Background(), "")
}

package actors_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// A split at a row that is no place to split at changes nothing, and the tablet goes on: it takes writes, is flushed,
// compacted, and split elsewhere.
func TestSplitOfOneRow(t *testing.T) {
	runStore(t, vfs.Mem(), func(t *testing.T, s *actors.Store, _ *killer) {
		ctx := t.Context()
		for i := range 3 {
			mustApply(t, s, []*tablet.Mutation{put("5")})
			for _, row := range []string{"8", "5", "5"} { // the tablet's end; its only row; that again
				if err := s.AddSplits(ctx, "ci", [][]byte{[]byte(row)}); err != nil {
					t.Errorf("split at %s: %v", row, err)
				}
			}
			mustApply(t, s, []*tablet.Mutation{put("5")})
			if err := s.Flush(ctx, "ci"); err != nil {
				t.Error(err)
			}
			if _, err := s.Compact(ctx, "ci", actors.CompactOptions{}); err != nil {
				t.Error(err)
			}
			if err := s.AddSplits(ctx, "ci", [][]byte{fmt.Appendf(nil, "6%d", i)}); err != nil {
				t.Error(err)
			}
		}
		if extents, err := s.Tablets("ci"); err != nil || len(extents) != 6 {
			t.Errorf("%v, %v", extents, err)
		}
		checkRows(t, s, []string{"5"})
	})
}

// Tablets that are split at the same time, while each is written to, never wait for each other.
func TestTwoTabletsSplitAndAreWritten(t *testing.T) {
	runStore(t, vfs.Mem(), func(t *testing.T, s *actors.Store, _ *killer) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // of virtual time
		defer cancel()
		if err := s.CreateTable(ctx, "other", nil, plain); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for _, table := range []string{"ci", "other"} {
			for w := range 2 {
				wg.Go(func() {
					for i := range 60 {
						m := []*tablet.Mutation{put(fmt.Sprintf("1%02d%d", i, w)), put(fmt.Sprintf("9%02d%d", i, w))}
						if err := s.Apply(ctx, table, m); err != nil {
							t.Errorf("write: %v", err)
							return
						}
					}
				})
			}
			wg.Go(func() {
				for i := range 20 {
					if err := s.AddSplits(ctx, table, [][]byte{fmt.Appendf(nil, "1%02d", 3*i), fmt.Appendf(nil, "9%02d", 3*i)}); err != nil {
						t.Errorf("split: %v", err)
						return
					}
				}
			})
		}
		wg.Wait()
		if rows := scanRows(t, s, actors.ScanOptions{}); len(rows) != 240 {
			t.Errorf("%d rows, want 240", len(rows))
		}
	})
}

// panicker fails at every message.
type panicker struct{}

func (panicker) Receive(c actor.Context) {
	if _, ok := c.Message().(string); ok {
		panic("again")
	}
}

// parent starts a child anew whenever it has ended.
type parent struct {
	rt   *actors.Runtime
	left int
	done chan struct{}
}

func (p *parent) Receive(c actor.Context) {
	switch c.Message().(type) {
	case *actor.Started, *actor.Terminated:
		if p.left--; p.left < 0 {
			close(p.done)
			return
		}
		pid, err := p.rt.SpawnChild(c, fmt.Sprint("child", p.left), actors.Spec{Kind: "flush", Bound: 1, New: func() actor.Actor { return panicker{} }})
		if err != nil {
			panic(err)
		}
		c.Send(pid, "die")
	}
}

// Failures of children leave nothing behind.
func TestFailuresLeaveNothing(t *testing.T) {
	rt, err := actors.NewRuntime(actors.RuntimeOptions{Name: "heap"})
	if err != nil {
		t.Fatal(err)
	}
	fail := func(n int) uint64 {
		p := &parent{rt: rt, left: n, done: make(chan struct{})}
		pid, err := rt.Spawn("parent", actors.Spec{Kind: "tablet", Last: true, New: func() actor.Actor { return p }})
		if err != nil {
			t.Fatal(err)
		}
		<-p.done
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if err := rt.Stop(t.Context(), pid); err != nil {
			t.Fatal(err)
		}
		return m.HeapAlloc
	}
	n := 100_000
	if testing.Short() || raceEnabled {
		n = 50_000
	}
	before := fail(n) // until the library's maps of names have their size
	if after := fail(n); after > before+1<<20 {
		t.Errorf("heap %d after %d failures, %d after as many again", before, n, after)
	}
	if err := rt.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Under load, a Close ends first what gives work to others: the binner has nothing left before tablets stop, tablets
// before the log and the manifest do, and these before the files are closed.
func TestCloseEndsInOrder(t *testing.T) {
	rounds := 30
	if testing.Short() || raceEnabled {
		rounds = 5
	}
	for round := range rounds {
		var mu sync.Mutex
		var ends []string
		fs := vfs.Mem()
		s := openStore(t, fs, actors.WithHooks(actors.Hooks{Received: func(to *actor.PID, msg any) {
			what := fmt.Sprintf("%T", msg)
			if !strings.HasSuffix(what, ".Drain") && !strings.HasSuffix(what, ".Stopping") {
				return
			}
			name := strings.TrimPrefix(to.Id, "millrace/")
			name, _, _ = strings.Cut(name, ".")
			if strings.Contains(to.Id, "/t.") || strings.Contains(to.Id, "/t/") {
				name = "tablet"
			}
			mu.Lock()
			defer mu.Unlock()
			ends = append(ends, name+" "+what[strings.LastIndex(what, ".")+1:])
		}}))
		mustCreate(t, s, [][]byte{[]byte("5")}, plain)
		var acked []string
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := 0; ; i++ {
					row := fmt.Sprintf("%d-%d-%d", i%10, w, i)
					d := []tablet.Durability{tablet.DurabilityNone, tablet.DurabilityLog, tablet.DurabilityFlush, tablet.DurabilitySync}[w]
					if err := s.Apply(context.Background(), "ci", []*tablet.Mutation{put(row)}, actors.WithDurability(d)); err != nil {
						if !errors.Is(err, tablet.ErrClosed) {
							t.Error(err)
						}
						return
					}
					mu.Lock()
					acked = append(acked, row)
					mu.Unlock()
				}
			})
		}
		time.Sleep(time.Duration(round%5+1) * time.Millisecond)
		closeStore(t, s)
		wg.Wait()
		at := func(what string) int {
			i := slices.Index(ends, what)
			if i < 0 {
				t.Fatalf("no %q in %v", what, ends)
			}
			return i
		}
		order := []int{at("bins Drain"), at("tablet Stopping"), at("log Drain"), at("manifest Drain"), at("files Drain"), at("files Stopping")}
		if !slices.IsSorted(order) {
			t.Fatalf("the order is %v", ends)
		}
		for i, e := range ends {
			if e == "tablet Stopping" && i > at("log Drain") {
				t.Fatalf("a tablet stops behind the log: %v", ends)
			}
		}
		s = openStore(t, fs)
		checkRows(t, s, acked)
		closeStore(t, s)
	}
}

// A panic in an actor's last message keeps neither the store from closing nor anything from being there.
func TestStorePanicsWhileItStops(t *testing.T) {
	for _, victim := range []string{"/t.", "/log.", "/manifest.", "/bins.", "/sched.", "/files.", "/scans."} {
		fs := vfs.Mem()
		hit := false
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			s := openStore(t, fs, actors.WithHooks(actors.Hooks{Received: func(to *actor.PID, msg any) {
				if _, last := msg.(*actor.Stopping); last && strings.Contains(to.Id+"/", victim) {
					mu.Lock()
					hit = true
					mu.Unlock()
					panic("at the end")
				}
			}}))
			mustCreate(t, s, [][]byte{[]byte("5")}, plain)
			mustApply(t, s, []*tablet.Mutation{put("1"), put("7")})
			mustApply(t, s, []*tablet.Mutation{put("2")}, atNone)
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			if err := s.Close(ctx); err != nil {
				t.Errorf("%s: close: %v", victim, err)
			}
			time.Sleep(2 * time.Second)
		})
		if !hit {
			t.Errorf("%s never stopped", victim)
		}
		s := openStore(t, fs)
		checkRows(t, s, []string{"1", "2", "7"})
		closeStore(t, s)
	}
}

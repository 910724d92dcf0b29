package sim

import (
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors"
)

type ball struct{ to *actor.PID }

// BenchmarkStep is the cost of one step: one message from one actor to another, digest included.
func BenchmarkStep(b *testing.B) {
	w := New(Options{PerStep: time.Microsecond, MaxSteps: 1 << 60, Patience: 1 << 62})
	defer w.End()
	w.life = &life{loop: w.loop}
	rt, err := actors.NewRuntime(actors.RuntimeOptions{System: w.system, Name: systemName, Clock: w.life, Scheduler: w.life, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer rt.Abandon()
	var pids []*actor.PID
	for _, name := range []string{"a", "b", "c", "d"} {
		pid, err := rt.Spawn(name, actors.Spec{Kind: "player", Last: true, New: func() actor.Actor {
			return actor.ReceiveFunc(func(c actor.Context) {
				if m, ok := c.Message().(*ball); ok {
					c.Send(m.to, &ball{c.Self()})
				}
			})
		}})
		if err != nil {
			b.Fatal(err)
		}
		pids = append(pids, pid)
	}
	for i := range pids {
		rt.Send(pids[i], &ball{pids[(i+1)%len(pids)]})
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if err := w.loop.once(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(w.Steps()), "ns/step")
}

// BenchmarkRun is a whole history of 60 operations, its checks and its faults.
func BenchmarkRun(b *testing.B) {
	steps := uint64(0)
	for i := range b.N {
		r := Run(uint64(i), troubled(uint64(i)))
		if r.Err != nil {
			b.Fatal(r)
		}
		steps += r.Steps
	}
	b.ReportMetric(float64(b.Elapsed())/float64(steps), "ns/step")
}

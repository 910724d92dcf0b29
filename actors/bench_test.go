package actors_test

import (
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors"
	"millrace/actors/protocol"
)

// tick is passed on by relays; the last message of a benchmark closes done.
type tick struct{}

func benchRuntime(b *testing.B, f func(rt *actors.Runtime)) {
	rt, err := actors.NewRuntime(actors.RuntimeOptions{})
	if err != nil {
		b.Fatal(err)
	}
	f(rt)
	for _, id := range rt.Alive() {
		if err := rt.Stop(b.Context(), actor.NewPID(rt.System().Address(), id)); err != nil {
			b.Error(err)
		}
	}
	if err := rt.Close(b.Context()); err != nil {
		b.Error(err)
	}
}

// BenchmarkTell: one goroutine floods one actor.
func BenchmarkTell(b *testing.B) {
	benchRuntime(b, func(rt *actors.Runtime) {
		done := make(chan struct{})
		n := 0
		sink, err := rt.Spawn("sink", actors.Spec{New: func() actor.Actor {
			return actor.ReceiveFunc(func(c actor.Context) {
				if _, ok := c.Message().(*tick); ok {
					if n++; n == b.N {
						close(done)
					}
				}
			})
		}})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		b.ResetTimer()
		m := &tick{}
		for range b.N {
			rt.Send(sink, m)
		}
		<-done
	})
}

// BenchmarkHop: a message goes round two actors that are idle whenever it reaches them.
func BenchmarkHop(b *testing.B) {
	benchRuntime(b, func(rt *actors.Runtime) {
		done := make(chan struct{})
		left := b.N
		var pids [2]*actor.PID
		for i := range pids {
			pid, err := rt.Spawn([]string{"a", "b"}[i], actors.Spec{New: func() actor.Actor {
				return actor.ReceiveFunc(func(c actor.Context) {
					m, ok := c.Message().(*tick)
					switch {
					case !ok:
					case left == 0:
						close(done)
					default:
						left--
						c.Send(pids[1-i], m)
					}
				})
			}})
			if err != nil {
				b.Fatal(err)
			}
			pids[i] = pid
		}
		b.ReportAllocs()
		b.ResetTimer()
		rt.Send(pids[0], &tick{})
		<-done
	})
}

// BenchmarkContinue: an actor keeps itself going, as jobs do between their steps.
func BenchmarkContinue(b *testing.B) {
	benchRuntime(b, func(rt *actors.Runtime) {
		done := make(chan struct{})
		left := b.N
		job, err := rt.Spawn("job", actors.Spec{New: func() actor.Actor {
			return actor.ReceiveFunc(func(c actor.Context) {
				m, ok := c.Message().(*tick)
				switch {
				case !ok:
				case left == 0:
					close(done)
				default:
					left--
					c.Send(c.Self(), m)
				}
			})
		}})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		b.ResetTimer()
		rt.Send(job, &tick{})
		<-done
	})
}

// BenchmarkAsk: request and answer between a goroutine and an idle actor.
func BenchmarkAsk(b *testing.B) {
	benchRuntime(b, func(rt *actors.Runtime) {
		e, err := rt.Spawn("echo", actors.Spec{New: func() actor.Actor { return &constant{} }})
		if err != nil {
			b.Fatal(err)
		}
		ctx := b.Context()
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			if _, err := actors.Ask(ctx, rt, e, &question{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkSpawn: an actor's whole life.
func BenchmarkSpawn(b *testing.B) {
	benchRuntime(b, func(rt *actors.Runtime) {
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			e, err := rt.Spawn("echo", echoSpec())
			if err != nil {
				b.Fatal(err)
			}
			if err := rt.Stop(b.Context(), e); err != nil {
				b.Fatal(err)
			}
		}
	})
}

var _ protocol.Request[reply] = (*question)(nil)

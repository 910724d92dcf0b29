package actortest

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors"
)

// recorder stands in for a test that is expected to fail.
type recorder struct {
	testing.TB
	errs     []string
	cleanups []func()
}

func (r *recorder) Helper()                   {}
func (r *recorder) Cleanup(f func())          { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(f string, a ...any) { r.errs = append(r.errs, fmt.Sprintf(f, a...)) }
func (r *recorder) Fatal(a ...any)            { r.Fatalf("%s", fmt.Sprint(a...)) }
func (r *recorder) Fatalf(f string, a ...any) { r.Errorf(f, a...); panic(r) }
func (r *recorder) end() {
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
}

type ping struct{}

type pong struct{}

// ponger answers its sender, or does what it is told.
func ponger(c actor.Context) {
	switch m := c.Message().(type) {
	case *ping:
		c.Respond(&pong{})
	case func(actor.Context):
		m(c)
	}
}

func pongerSpec() actors.Spec {
	return actors.Spec{Kind: "ponger", Bound: 2, New: func() actor.Actor { return actor.ReceiveFunc(ponger) }}
}

// Each of these tests breaks one rule of the kit, and the kit must say so.
func TestKitFindsWhatIsLeft(t *testing.T) {
	f := func(want string, test func(k *Kit)) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			r := &recorder{TB: t}
			func() {
				defer func() {
					if p := recover(); p != nil && p != any(r) {
						panic(p)
					}
				}()
				test(New(r))
			}()
			r.end()
			if len(r.errs) == 0 && want != "" || len(r.errs) > 0 && (want == "" || !strings.Contains(r.errs[0], want)) {
				t.Errorf("the kit said %q, want %q", r.errs, want)
			}
		})
	}
	f("", func(k *Kit) {
		p := k.Probe("p")
		p.Send(k.Spawn("a", pongerSpec()), &ping{})
		Expect[*pong](p, time.Second)
	})
	f("", func(k *Kit) {
		k.Runtime().Send(k.Spawn("a", pongerSpec()), func(*actor.Context) {})
	})
	f("unexpected panic", func(k *Kit) {
		k.Runtime().Send(k.Spawn("a", pongerSpec()), func(actor.Context) { panic("no") })
	})
	f("unexpected dead letter: *actortest.ping to test/kit/a", func(k *Kit) {
		a := k.Spawn("a", pongerSpec())
		k.Stop(a)
		k.Runtime().Send(a, &ping{})
	})
	f("", func(k *Kit) {
		k.AllowDeadLetters(&ping{})
		a := k.Spawn("a", pongerSpec())
		k.Stop(a)
		k.Runtime().Send(a, &ping{})
	})
	f("held 3 messages, its bound is 2", func(k *Kit) {
		a := k.Spawn("a", pongerSpec())
		k.Runtime().Send(a, func(actor.Context) { time.Sleep(time.Second) })
		k.Settle()
		for range 3 {
			k.Runtime().Send(a, func(actor.Context) {})
		}
		k.Advance(time.Minute)
	})
	f("logged as an error: bad x=1", func(k *Kit) { k.Runtime().Logger().With("x", 1).Error("bad") })
	f("from inside", func(k *Kit) {
		k.Runtime().Send(k.Spawn("a", pongerSpec()), func(actor.Context) { k.Failf("from inside") })
		<-k.Context().Done()
	})
	f("p: no *actortest.pong within 1s", func(k *Kit) { Expect[*pong](k.Probe("p"), time.Second) })
	f("p: got *actortest.ping &{}, want a *actortest.pong", func(k *Kit) {
		p := k.Probe("p")
		k.Runtime().Send(p.PID(), &ping{})
		Expect[*pong](p, time.Second)
	})
	f("p: got *actortest.ping &{}, want nothing", func(k *Kit) {
		p := k.Probe("p")
		k.Runtime().After(time.Minute, p.PID(), &ping{})
		p.ExpectNone(59 * time.Second)
		p.ExpectNone(time.Second)
	})
	f("the last message had no sender", func(k *Kit) {
		p := k.Probe("p")
		k.Runtime().Send(p.PID(), &ping{})
		Expect[*ping](p, time.Second)
		p.Reply(&pong{})
	})
	f("has not panicked", func(k *Kit) { k.ExpectFailure(k.Spawn("a", pongerSpec())) })
}

func TestReply(t *testing.T) {
	Run(t, func(k *Kit) {
		a, b := k.Probe("a"), k.Probe("b")
		a.Send(b.PID(), &ping{})
		Expect[*ping](b, time.Second)
		b.Reply(&pong{})
		Expect[*pong](a, time.Second)
	})
}

func TestProbeAsParent(t *testing.T) {
	Run(t, func(k *Kit) {
		p := k.Probe("parent")
		child := p.Spawn("child", pongerSpec())
		k.Runtime().Send(child, func(c actor.Context) { c.Send(c.Parent(), &ping{}) })
		Expect[*ping](p, time.Second)
		k.Kill(child)
		p.Send(child, &ping{})
		p.ExpectTerminated(child)
		p.ExpectNone(time.Hour)
		stranger := k.Spawn("stranger", pongerSpec())
		p.Send(stranger, func(c actor.Context) { c.Stop(c.Self()) })
		p.ExpectTerminated(stranger)
	})
}

package actortest

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors"
	"millrace/actors/protocol"
	"millrace/internal/clock"
)

// patience bounds every wait of a test, in virtual time.
const patience = 24 * time.Hour

// Kit runs one test of actors. Make it with Run, or with New inside a bubble.
type Kit struct {
	t      testing.TB
	rt     *actors.Runtime
	ctx    context.Context
	cancel context.CancelFunc
	root   *Probe // parent of what Spawn starts
	tops   []*actor.PID

	mu          sync.Mutex
	doomed      map[string]bool // killed at their next message
	taps        map[string][]*Tap
	failures    []*actors.PanicError
	deadLetters []string // types
	allowedDead map[string]bool
	allDead     bool
	logged      []string // lines at Error and above
}

// Run runs f as a test of actors in a bubble of virtual time.
func Run(t *testing.T, f func(k *Kit)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(New(t)) })
}

// New returns a kit for a test that runs inside a synctest bubble. It ends with the test.
func New(t testing.TB) *Kit {
	t.Helper()
	k := &Kit{t: t, doomed: make(map[string]bool), taps: make(map[string][]*Tap), allowedDead: make(map[string]bool)}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	rt, err := actors.NewRuntime(actors.RuntimeOptions{
		Name: "test", Seed: 1, Clock: clock.Real{}, Logger: k.logger(),
		Hooks: actors.Hooks{Received: k.onReceived, Failed: k.onFailed, DeadLetter: k.onDeadLetter},
	})
	if err != nil {
		t.Fatal(err)
	}
	k.rt = rt
	k.root = k.Probe("kit")
	t.Cleanup(k.finish)
	return k
}

// Runtime is what the actors under test run in.
func (k *Kit) Runtime() *actors.Runtime { return k.rt }

// Context ends with the test, or with the first Failf.
func (k *Kit) Context() context.Context { return k.ctx }

// Spawn starts an actor. Its parent is the kit's own; use Probe.Spawn to watch what it tells its parent.
func (k *Kit) Spawn(name string, s actors.Spec) *actor.PID {
	k.t.Helper()
	return k.root.Spawn(name, s)
}

// Stop stops an actor and waits for its end.
func (k *Kit) Stop(pid *actor.PID) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := k.rt.Stop(ctx, pid); err != nil {
		k.t.Fatal(err)
	}
}

// Settle returns when every mailbox is empty and every actor idle, timers aside.
func (k *Kit) Settle() { synctest.Wait() }

// Advance lets virtual time pass, and all that falls due in it happen.
func (k *Kit) Advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Kill makes an actor panic at its next message.
func (k *Kit) Kill(pid *actor.PID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.doomed[pid.Id] = true
}

// AllowDeadLetters announces that messages of the samples' types may reach nobody; without a sample, any message.
func (k *Kit) AllowDeadLetters(samples ...any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.allDead = k.allDead || len(samples) == 0
	for _, s := range samples {
		k.allowedDead[reflect.TypeOf(s).String()] = true
	}
}

// ExpectFailure takes the first panic of an actor that was not expected yet. It settles first.
func (k *Kit) ExpectFailure(pid *actor.PID) *actors.PanicError {
	k.t.Helper()
	k.Settle()
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, f := range k.failures {
		if f.Actor == pid.Id {
			k.failures = append(k.failures[:i], k.failures[i+1:]...)
			return f
		}
	}
	k.t.Fatalf("actor %s has not panicked; panics: %v", pid.Id, k.failures)
	return nil
}

// Failf fails the test from any goroutine and ends Context. Inside Receive it stands for t.Fatal, which would take the
// actor's goroutine away.
func (k *Kit) Failf(format string, args ...any) {
	k.t.Errorf(format, args...)
	k.cancel()
}

// Ask sends a request and waits for its answer in virtual time.
func Ask[T any](k *Kit, to *actor.PID, q protocol.Request[T]) (*T, error) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.ctx, patience)
	defer cancel()
	return actors.Ask(ctx, k.rt, to, q)
}

func (k *Kit) onReceived(to *actor.PID, msg any) {
	k.mu.Lock()
	doomed := k.doomed[to.Id]
	delete(k.doomed, to.Id)
	taps := k.taps[to.Id]
	k.mu.Unlock()
	for _, t := range taps {
		t.put(msg, nil)
	}
	if doomed {
		panic(killed{})
	}
}

type killed struct{}

func (killed) String() string { return "killed by the test" }

func (k *Kit) onFailed(err *actors.PanicError) {
	if _, on := err.Value.(killed); on {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failures = append(k.failures, err)
}

func (k *Kit) onDeadLetter(to *actor.PID, msg any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t := reflect.TypeOf(msg).String(); !k.allDead && !k.allowedDead[t] {
		k.deadLetters = append(k.deadLetters, fmt.Sprintf("%s to %s", t, to.Id))
	}
}

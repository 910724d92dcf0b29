package actortest

import (
	"context"
	"log/slog"
	"strings"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// finish stops everything and says what is left. The last started stops first; dead letters that stopping makes are
// not counted, because a test ends where it ends.
func (k *Kit) finish() {
	k.cancel()
	synctest.Wait()
	k.report()
	k.AllowDeadLetters()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for i := len(k.tops) - 1; i >= 0; i-- {
		if err := k.rt.Stop(ctx, k.tops[i]); err != nil {
			k.t.Errorf("end of test: %v; alive: %v", err, k.rt.Alive())
		}
	}
	time.Sleep(2 * time.Second) // the library throttles dead letters on a goroutine that lives for a while
	synctest.Wait()
	if left := k.registered(); len(left) > 0 {
		k.t.Errorf("end of test: still registered: %s", strings.Join(left, ", "))
	}
	if err := k.rt.Close(ctx); err != nil {
		k.t.Errorf("end of test: %v", err)
	}
	synctest.Wait() // goroutines that Close ended
}

func (k *Kit) report() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range k.failures {
		k.t.Errorf("unexpected panic: %v\n%s", f, f.Stack)
	}
	for _, d := range k.deadLetters {
		k.t.Errorf("unexpected dead letter: %s", d)
	}
	for _, l := range k.logged {
		k.t.Errorf("logged as an error: %s", l)
	}
	for _, m := range k.rt.Overfilled() {
		k.t.Errorf("mailbox of %s (%s) held %d messages, its bound is %d", m.ID, m.Kind, m.High, m.Bound)
	}
}

// registered lists what the library still knows under the kit's name.
func (k *Kit) registered() []string {
	var left []string
	for _, shard := range k.rt.System().ProcessRegistry.LocalPIDs.LocalPIDs {
		for _, id := range shard.Keys() {
			if id == k.rt.Name() || strings.HasPrefix(id, k.rt.Name()+"/") {
				left = append(left, id)
			}
		}
	}
	return left
}

// logger records what is logged as an error. Panics are looked at apart.
func (k *Kit) logger() *slog.Logger { return slog.New(logHandler{k: k}) }

type logHandler struct {
	k     *Kit
	attrs string
}

func (h logHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }

func (h logHandler) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "actor panicked" {
		return nil
	}
	line := r.Message + h.attrs
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	h.k.mu.Lock()
	defer h.k.mu.Unlock()
	h.k.logged = append(h.k.logged, line)
	return nil
}

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		h.attrs += " " + a.String()
	}
	return h
}

func (h logHandler) WithGroup(string) slog.Handler { return h }

// System is the actor system of the test, for actors that are spawned without the kit.
func (k *Kit) System() *actor.ActorSystem { return k.rt.System() }

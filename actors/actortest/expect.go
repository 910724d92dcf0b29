package actortest

import (
	"reflect"
	"testing/synctest"
	"time"
)

// Expect takes the next message, which must be a T and come within the given virtual time.
func Expect[T any](from Source, within time.Duration) T {
	in := from.source()
	in.t.Helper()
	r, ok := in.take(within)
	if !ok {
		in.t.Fatalf("%s: no %s within %v", in.name, typeOf[T](), within)
	}
	m, ok := r.msg.(T)
	if !ok {
		in.t.Fatalf("%s: got %v, want a %s", in.name, r, typeOf[T]())
	}
	return m
}

// Fish takes messages until one is a T that satisfies the predicate, nil for any T. The others are thrown away.
func Fish[T any](from Source, want func(T) bool) T {
	in := from.source()
	in.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		r, ok := in.take(time.Until(deadline))
		if !ok {
			in.t.Fatalf("%s: no %s that fits", in.name, typeOf[T]())
		}
		if m, is := r.msg.(T); is && (want == nil || want(m)) {
			return m
		}
	}
}

// ExpectNone lets d pass and wants no message in it, nor one left over from before.
func (in *inlet) ExpectNone(d time.Duration) {
	in.t.Helper()
	time.Sleep(d)
	synctest.Wait()
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.queue) > 0 {
		in.t.Fatalf("%s: got %v, want nothing", in.name, in.queue[0])
	}
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

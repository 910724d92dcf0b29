package invariant

import (
	"errors"
	"testing"
)

// violation runs f and returns what it panicked with.
func violation(t *testing.T, f func()) (v *Violation) {
	t.Helper()
	defer func() {
		t.Helper()
		if r := recover(); r != nil {
			err, ok := r.(error)
			if !ok || !errors.As(err, &v) {
				t.Fatalf("panicked with %v (%T), want *Violation", r, r)
			}
		}
	}()
	f()
	return nil
}

type somethingOdd struct{ secret string }

func TestViolations(t *testing.T) {
	f := func(want string, run func()) {
		t.Helper()
		v := violation(t, run)
		if want == "" {
			if v != nil {
				t.Errorf("panicked: %v", v)
			}
			return
		}
		if v == nil || v.Error() != want {
			t.Errorf("got %v, want %q", v, want)
		}
	}
	f("", func() { Check(true, "%d", 1) })
	f("", func() { That(true, "x") })
	f("invariant violated: 3 files, want 4", func() { Check(false, "%d files, want %d", 3, 4) })
	f("invariant violated: 100% wrong", func() { That(false, "100% wrong") })
	f("invariant violated: age 7 twice", func() { Fail("age %d twice", 7) })
	f("invariant violated: actor job got an unexpected message of type *invariant.somethingOdd",
		func() { Unexpected("job", &somethingOdd{secret: "s"}) })
	f("invariant violated: actor job got an unexpected message of type <nil>", func() { Unexpected("job", nil) })
}

var sink int

func TestHotPathsDoNotAllocate(t *testing.T) {
	x, name := 1234, "some name"
	got := testing.AllocsPerRun(100, func() {
		That(x > 0, "x must be positive")
		if x < 0 {
			Fail("x is %d in %s", x, name)
		}
		sink += x
	})
	if got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}

func BenchmarkThat(b *testing.B) {
	b.ReportAllocs()
	x := 1
	for b.Loop() {
		That(x > 0, "x must be positive")
	}
}

func BenchmarkCheck(b *testing.B) {
	b.ReportAllocs()
	x := 1234
	for b.Loop() {
		Check(x > 0, "x is %d", x)
		x = 1234 + x&1
	}
}

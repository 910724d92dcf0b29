package hosted

import (
	"testing"

	"millrace/tablet"
)

// TestMutationSize refuses what no file could hold, and nothing smaller. The bound is lowered, so that the test need not
// make two gigabytes.
func TestMutationSize(t *testing.T) {
	h, err := New(State{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if h.checker.maxBytes != maxMutationBytes {
		t.Fatalf("the bound is %d", h.checker.maxBytes)
	}
	m := tablet.NewMutation([]byte("row"))
	m.Put([]byte("f"), []byte("q"), nil, make([]byte, 100))
	f := func(bound int, want string) {
		t.Helper()
		h.checker.maxBytes = bound
		got := ""
		for _, r := range h.checker.check(nil, 0, m) {
			got += r.Constraint
		}
		if got != want {
			t.Errorf("with a bound of %d, a mutation of %d bytes: refused by %q, want %q", bound, m.NumBytes(), got, want)
		}
	}
	f(m.NumBytes(), "")
	f(m.NumBytes()-1, ConstraintSize)
}

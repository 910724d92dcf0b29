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

// TestUpdateChecks refuses labels that do not parse and keys that are too long, wherever in a mutation they are.
func TestUpdateChecks(t *testing.T) {
	h, err := New(State{}, Options{MaxKeyBytes: 12})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	f := func(want string, updates ...tablet.Update) {
		t.Helper()
		m := tablet.NewMutation([]byte("row"))
		for _, u := range updates {
			m.Add(u)
		}
		got := ""
		p, rejects := h.Prepare([]*tablet.Mutation{m}, 1)
		for _, r := range rejects {
			got += r.Constraint
		}
		if got != want || (p == nil) != (want != "") {
			t.Errorf("refused by %q, want %q; %v is left", got, want, p)
		}
		if p != nil {
			h.Commit(p)
		}
	}
	plain := tablet.Update{Family: []byte("f"), Value: make([]byte, 100)}
	longest := tablet.Update{Family: []byte("family"), Qualifier: []byte("qua")}
	longer := tablet.Update{Family: []byte("family"), Qualifier: []byte("qual")}
	label := tablet.Update{Visibility: []byte("A&B")}
	bad := tablet.Update{Visibility: []byte("A&")}
	f("", plain)
	f("", plain, longest, label)
	f(ConstraintKeySize, longer)
	f(ConstraintKeySize, plain, longer)
	f(ConstraintVisibility, bad)
	f(ConstraintVisibility, plain, label, bad)
	f(ConstraintKeySize+ConstraintVisibility, longer, bad)
}

package actors

import (
	"slices"
	"testing"
	"time"
)

// TestEveryKindHasABound: the table of supervision names all kinds of actors; those that are spawned by the engine have their
// sum in the table of bounds, the others are given theirs where they are spawned.
func TestEveryKindHasABound(t *testing.T) {
	elsewhere := []string{"flush", "compaction", "writer", "scan"}
	for _, r := range supervision {
		if _, ok := bounds[r.kind]; ok == slices.Contains(elsewhere, r.kind) {
			t.Errorf("kind %s: in the table of bounds: %v", r.kind, ok)
		}
	}
	for kind := range bounds {
		if _, ok := ruleOf(kind); !ok {
			t.Errorf("bound of kind %s, which there is not", kind)
		}
	}
}

// A disk that has space now and then is told of once until the files actor has looked.
func TestFullDiskIsToldOnce(t *testing.T) {
	var g diskGate
	f := func(do func() bool, want bool) {
		t.Helper()
		if got := do(); got != want {
			t.Errorf("told %v, want %v", got, want)
		}
	}
	fail := func() bool { return g.failed(time.Time{}) }
	f(fail, true)
	f(fail, false)
	g.ok()
	f(fail, false) // it was told, and has not looked
	g.heard()
	f(fail, false)
	g.ok()
	f(fail, true)
}

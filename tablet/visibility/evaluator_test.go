package visibility

import (
	"fmt"
	"testing"
)

func TestEvaluatorRemembers(t *testing.T) {
	e := NewEvaluator(auths(t, "yes"))
	label := func(i int) []byte { return fmt.Appendf(nil, "t%d|yes", i) }
	for i := range 5000 {
		if ok, err := e.Visible(label(i)); !ok || err != nil {
			t.Fatalf("%s: %v, %v", label(i), ok, err)
		}
		if n := e.cached(); n > maxCached {
			t.Fatalf("%d labels remembered", n)
		}
		e.Visible([]byte("yes")) // met all the time, so never forgotten
		if i%100 == 0 {
			e.Visible([]byte("bad&"))
		}
	}
	if n := e.cached(); n < maxCached/2 {
		t.Errorf("only %d labels remembered", n)
	}
	f := func(label string, want bool) {
		t.Helper()
		_, recent := e.recent[label]
		_, old := e.old[label]
		if (recent || old) != want {
			t.Errorf("%s remembered: %v", label, !want)
		}
	}
	f("yes", true)
	f("bad&", true)
	f("t4999|yes", true)
	f("t4600|yes", true)
	f("t0|yes", false)
}

func TestEvaluatorForgetsLongLabels(t *testing.T) {
	e := NewEvaluator(auths(t, "yes"))
	long := make([]byte, maxCachedBytes+1)
	for i := range long {
		long[i] = 'a'
	}
	for range 2 {
		if ok, err := e.Visible(long); ok || err != nil {
			t.Errorf("%v, %v", ok, err)
		}
	}
	if n := e.cached(); n != 0 || e.last != nil {
		t.Errorf("%d labels remembered", n)
	}
	e.Visible(long[:maxCachedBytes])
	if n := e.cached(); n != 1 {
		t.Errorf("%d labels remembered, want 1", n)
	}
}

// TestEvaluatorKeepsNothingOfTheSlice changes the label after the call.
func TestEvaluatorKeepsNothingOfTheSlice(t *testing.T) {
	e := NewEvaluator(auths(t, "yes"))
	buf := []byte("yes")
	f := func(label string, want bool) {
		t.Helper()
		copy(buf, label)
		if ok, err := e.Visible(buf); ok != want || err != nil {
			t.Errorf("%s: %v, %v", label, ok, err)
		}
	}
	f("yes", true)
	f("noo", false)
	f("yes", true)
	f("yez", false)
}

func TestCacheHitsDoNotAllocate(t *testing.T) {
	e := NewEvaluator(auths(t, "a"), auths(t, "a", "b"))
	var labels [][]byte
	for i := range 300 {
		labels = append(labels, fmt.Appendf(nil, "(a&b)|c%d", i))
	}
	labels = append(labels, []byte("wrong&"), nil)
	pass := func() {
		for _, label := range labels {
			e.Visible(label)
			e.Visible(label)
		}
	}
	pass()
	if n := testing.AllocsPerRun(20, pass); n != 0 {
		t.Errorf("%v allocations for %d labels that are remembered", n, len(labels))
	}
	// A hit that moves a label from the old generation to the recent one is free too.
	for i := range maxCached / 2 {
		e.Visible(fmt.Appendf(nil, "x%d", i))
	}
	if n := testing.AllocsPerRun(1, func() { e.Visible(labels[299]) }); n != 0 {
		t.Errorf("%v allocations for a label of the old generation", n)
	}
}

package actors

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// The example of Accumulo's rules with 1000 bytes.
func TestMemoryManagerExample(t *testing.T) {
	m := newMemoryManager(1000, 4)
	tick := func(flushing map[string]int64, active map[string]int64, threshold float64, want ...string) {
		t.Helper()
		for id := range active {
			m.report(id, tabletMemory{active[id], flushing[id]})
		}
		if got := m.tick(); !slices.Equal(got, want) || math.Abs(m.threshold-threshold) > 1e-9 {
			t.Errorf("flushes %v at threshold %v, want %v at %v", got, m.threshold, want, threshold)
		}
	}
	tick(nil, map[string]int64{"a": 150, "b": 120, "c": 50, "d": 30}, 0.5, "a")
	tick(nil, map[string]int64{"a": 200, "b": 160, "c": 70, "d": 40}, 0.5, "a")
	tick(map[string]int64{"a": 200}, map[string]int64{"a": 20, "b": 210, "c": 70, "d": 40}, 0.55)
	tick(nil, map[string]int64{"a": 60, "b": 210, "c": 90, "d": 60}, 0.55)
}

func TestMemoryManagerHolds(t *testing.T) {
	m := newMemoryManager(1000, 4)
	report := func(id string, t tabletMemory) bool {
		m.report(id, t)
		return m.held
	}
	if report("a", tabletMemory{active: 950}) {
		t.Error("held at 95 percent")
	}
	if !report("b", tabletMemory{flushing: 1}) {
		t.Error("not held above 95 percent")
	}
	m.prevIngest = 5000 // as if memory were being freed: who is held must still be helped
	if got := m.tick(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("flushes %v while writers wait", got)
	}
	if report("a", tabletMemory{}) || m.idle() {
		t.Error("held with 1 byte in memory, or idle")
	}
	m.report("b", tabletMemory{})
	if !m.idle() {
		t.Error("not idle without memory")
	}
}

func TestMemoryManagerUrgent(t *testing.T) {
	m := newMemoryManager(1000, 4)
	m.report("a", tabletMemory{active: 300})
	m.report("b", tabletMemory{active: 200})
	if got := m.urgent(); got != nil {
		t.Errorf("flushes %v at the threshold", got)
	}
	m.report("a", tabletMemory{active: 301})
	if got := m.urgent(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("flushes %v above the threshold", got)
	}
}

func TestMemoryManagerLimitsFlushes(t *testing.T) {
	m := newMemoryManager(1000, 1)
	for i := range 50 {
		m.report(fmt.Sprintf("t%02d", i), tabletMemory{active: 20})
	}
	if got := m.tick(); !slices.Equal(got, []string{"t00", "t01"}) {
		t.Errorf("flushes %v, want two: twice what runs at once", got)
	}
}

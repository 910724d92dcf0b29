package actors

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestReplacementsBackOff(t *testing.T) {
	p := newReplacements("flush", rand.New(rand.NewPCG(1, 2)))
	now := time.Unix(0, 0)
	want := p.rule.first
	for i := range p.rule.limit {
		got, ok := p.next(now)
		if !ok || got < want || got > want+want/4 {
			t.Fatalf("end %d: wait %v, %v; want %v and up to a quarter more", i, got, ok, want)
		}
		want = min(2*want, p.rule.most)
	}
	if _, ok := p.next(now); ok {
		t.Error("one end too many was replaced")
	}
	if d, ok := p.next(now.Add(p.rule.window + time.Second)); !ok || d > 2*p.rule.first {
		t.Errorf("after a quiet window: wait %v, %v; want a fresh start", d, ok)
	}
}

func TestSupervisionTableIsWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range supervision {
		if seen[r.kind] {
			t.Errorf("%s stands twice", r.kind)
		}
		seen[r.kind] = true
		if r.repairer == "" || r.from == "" {
			t.Errorf("%s: no repairer or source", r.kind)
		}
		if r.limit > 0 && (r.window <= 0 || r.first <= 0 || r.most < r.first) {
			t.Errorf("%s: limit without sensible times", r.kind)
		}
	}
}

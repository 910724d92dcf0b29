package sim

import (
	"errors"
	"testing"
)

// mortal are the kinds of actor that may die without the store losing anything.
var mortal = []string{"flush", "compaction", "scan", "scans", "scheduler", "binner", "files"}

// TestActors has an actor panic at its k-th message, for many k and every kind of actor, each under another schedule. Every
// operation must come to an end, and what was acknowledged must be there.
func TestActors(t *testing.T) {
	n := runs(100)
	hits, unanswered, wrong := 0, 0, 0
	byKind := map[string]int{}
	for i := range n {
		seed := firstSeed() + uint64(i)
		kind := mortal[seed%uint64(len(mortal))]
		f := Fault{Kind: Panic, Actor: kind, At: 1 + seed/uint64(len(mortal))%25}
		r := Run(seed, RunOptions{
			World:   Options{Schedule: ScheduleFor(seed), Faults: []Fault{f}},
			History: HistoryOptions{Ops: 40},
		})
		hits += r.Hits[Panic]
		byKind[kind] += r.Hits[Panic]
		switch {
		case errors.Is(r.Err, ErrDeadlock):
			unanswered++
		case r.Err != nil:
			wrong++
		}
		if r.Err != nil {
			t.Errorf("%v: %v\n%s\n%s", f, r, r.Report, repeat(t, seed))
		}
	}
	if n >= 100 {
		for _, kind := range mortal {
			if byKind[kind] == 0 {
				t.Errorf("no %s has panicked", kind)
			}
		}
	}
	lastLine(t, "R5A", count("panics", hits), count("runs", n), zero("unanswered", unanswered), zero("wrong", wrong))
}

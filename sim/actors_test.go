package sim

import (
	"errors"
	"testing"

	"millrace/actors"
)

// mortal are the kinds of actor that may die without the store losing anything.
var mortal = []string{"flush", "compaction", "scan", "scans", "scheduler", "binner", "files", "log", "manifest", "tablet"}

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
		o := RunOptions{World: Options{Schedule: ScheduleFor(seed), Faults: []Fault{f}}, History: HistoryOptions{Ops: 40}}
		r := Run(seed, o)
		hits += r.Hits[Panic]
		byKind[kind] += r.Hits[Panic]
		switch {
		case errors.Is(r.Err, ErrDeadlock):
			unanswered++
		case r.Err != nil:
			wrong++
		}
		if r.Err != nil {
			explain(t, r, o)
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

// TestSmallestWindows runs many schedules with every window of credits at 1, and several writers: nothing may wait for ever.
// Nothing is deleted: writes that wait in the binner together reach a tablet together and get one timestamp, so that a
// delete among them would hide puts that came after it. The model gives every mutation a timestamp of its own.
func TestSmallestWindows(t *testing.T) {
	n := runs(60)
	deadlocks, wrong := 0, 0
	for i := range n {
		seed := firstSeed() + uint64(i)
		w := New(Options{Seed: seed, Schedule: ScheduleFor(seed), Store: []actors.Option{actors.WithWindow(1)}})
		p := NewPlayer(w, PlayOptions{})
		var all []History
		for writer := range 4 {
			all = append(all, NewHistory(seed*10+uint64(writer), HistoryOptions{
				Ops: 8, First: 1 + 100*writer, Deletes: -1, Weights: map[OpKind]int{Write: 8, Flush: 1, Full: 1, Split: 1},
			}))
		}
		err := p.Begin()
		if err == nil {
			err = p.PlayAtOnce(all...)
		}
		if err == nil {
			err = w.CloseStore()
		}
		w.End()
		switch {
		case errors.Is(err, ErrDeadlock):
			deadlocks++
		case err != nil:
			wrong++
		}
		if err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, repeat(t, seed))
		}
	}
	lastLine(t, "R5A", count("schedules", n), zero("deadlocks", deadlocks), zero("wrong", wrong))
}

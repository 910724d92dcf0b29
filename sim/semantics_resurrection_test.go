package sim

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
)

// resurrectionWeights are of small tables that are deleted from and compacted in part.
var resurrectionWeights = map[OpKind]int{Write: 10, Flush: 5, Partial: 5, Full: 1, Split: 1, PowerCut: 1, Killed: 1}

// TestNoResurrection plays many small histories of deletes and old timestamps on few cells, with compactions of any set of
// files and crashes, between operations and within them, and looks after every operation for what should be hidden.
func TestNoResurrection(t *testing.T) {
	n := runs(400)
	var did [4]atomic.Int64
	kinds := [4]OpKind{Partial, Full, PowerCut, Split}
	failed := overSeeds(t, n, func(seed uint64) error {
		d, err := resurrect(seed)
		for i, k := range kinds {
			did[i].Add(int64(d[k]))
		}
		return err
	})
	if n >= 400 {
		for i, k := range kinds {
			if did[i].Load() == 0 {
				t.Errorf("no %s in any history", k)
			}
		}
	}
	lastLine(t, "R38", count("histories", n), count("partial", int(did[0].Load())), count("full", int(did[1].Load())),
		count("crashes", int(did[2].Load())), count("splits", int(did[3].Load())), zero("resurrected", failed))
}

func resurrect(seed uint64) (did map[OpKind]int, err error) {
	h := NewHistory(seed, HistoryOptions{
		Ops: 16, Rows: 2, Qualifiers: 1, Labels: []string{""}, Deletes: 45, Explicit: 85, Batches: -1, Weights: resurrectionWeights,
	})
	o := Options{Seed: seed, Schedule: ScheduleFor(seed)}
	if seed%4 == 0 { // within an operation
		o.Faults = []Fault{{Kind: Crash, At: 30 + stream(seed, "crash").Uint64N(300)}}
	}
	w := New(o)
	defer w.End()
	p := NewPlayer(w, PlayOptions{Versions: 1 + int(seed%3), Tolerate: func(Op, error) bool { return false }})
	if err := p.Begin(); err != nil {
		return p.Did, err
	}
	for i, op := range h {
		err := p.doOr(op, nil)
		if err == nil {
			err = p.Check()
		}
		if Crashed(err) {
			err = p.crash(op)
		}
		if err != nil && !errors.Is(err, errSkipped) {
			return p.Did, fmt.Errorf("operation %v: %w\nhistory:\n%v", op, err, h[:i+1])
		}
	}
	return p.Did, nil
}

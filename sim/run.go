package sim

import (
	"errors"
	"fmt"
	"slices"
)

// RunOptions are what one seeded run is made of.
type RunOptions struct {
	World   Options        // its Seed is the run's
	History HistoryOptions // how to draw the history
	Play    PlayOptions
	// Ops is a history to play instead of one drawn from the seed.
	Ops History
}

func (o *RunOptions) history(seed uint64) History {
	if o.Ops != nil {
		return o.Ops
	}
	return NewHistory(seed, o.History)
}

// Result is how a run ended.
type Result struct {
	Seed   uint64
	Digest string
	Steps  uint64
	Did    map[OpKind]int
	Hits   map[FaultKind]int
	// Named and Removed are how many files were checked when the manifest first named them, and when they were removed.
	Named, Removed int
	Err            error
	Report         string // on a failure: who could run, who waited for what, and the last events
}

func (r Result) String() string {
	s := fmt.Sprintf("seed=%d digest=%s steps=%d", r.Seed, r.Digest, r.Steps)
	if r.Err != nil {
		s += fmt.Sprintf(" failed: %v", r.Err)
	}
	return s
}

// Run plays one history from its beginning to a clean close, in a world of its own. Equal seeds and options give equal
// results.
func Run(seed uint64, o RunOptions) Result {
	o.World.Seed = seed
	o.Ops = o.history(seed)
	w := New(o.World)
	defer w.End()
	p := NewPlayer(w, o.Play)
	err := p.Begin()
	if err == nil {
		err = p.Play(o.Ops)
	}
	if err == nil {
		if err = w.CloseStore(); err != nil && (Crashed(err) || p.tolerate(Op{Kind: Reopen}, err)) {
			err = nil
		} else if err != nil {
			err = fmt.Errorf("close: %w", err)
		}
	}
	named, removed, violated := w.SyncChecks()
	err = errors.Join(err, violated)
	if err == nil {
		err = w.Panicked()
	}
	r := Result{Named: named, Removed: removed, Seed: seed, Digest: w.Digest(), Steps: w.Steps(), Did: p.Did, Hits: w.loop.faults.did, Err: err}
	if err != nil {
		r.Report = w.Report()
	}
	return r
}

// Shrink looks for a smaller run that still fails: a shorter history, fewer faults, a simpler schedule. It tries runs one
// after the other, at most so many, and returns the smallest that failed, the given one at worst.
func Shrink(seed uint64, o RunOptions, tries int) RunOptions {
	o.Ops = o.history(seed)
	fails := func(o RunOptions) bool {
		tries--
		return tries >= 0 && Run(seed, o).Err != nil
	}
	for again := true; again && tries > 0; {
		again = false
		for i := range o.World.Faults {
			less := o
			less.World.Faults = slices.Delete(slices.Clone(o.World.Faults), i, i+1)
			if fails(less) {
				o, again = less, true
				break
			}
		}
		if simple := o; o.World.Schedule != (Schedule{Kind: FIFO}) {
			if simple.World.Schedule = (Schedule{Kind: FIFO}); fails(simple) {
				o, again = simple, true
			}
		}
		for size := len(o.Ops) / 2; size > 0; size /= 2 {
			for at := 0; at < len(o.Ops); {
				less := o
				less.Ops = slices.Delete(slices.Clone(o.Ops), at, min(at+size, len(o.Ops)))
				if fails(less) {
					o, again = less, true
				} else {
					at += size
				}
			}
		}
	}
	return o
}

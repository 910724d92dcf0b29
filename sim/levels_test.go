package sim

import (
	"maps"
	"testing"

	"millrace/tablet"
)

// TestLevels crashes stores at every level of durability, processes and power alike, and wants the prefixes that each level
// promises.
func TestLevels(t *testing.T) {
	n := runs(40)
	failed, crashes := 0, 0
	for i := range n {
		seed := firstSeed() + uint64(i)
		level := tablet.DurabilityNone + tablet.Durability(seed%4)
		properties := maps.Clone(QuietTable)
		properties["table.durability"] = level.String()
		o := RunOptions{
			World:   Options{Schedule: ScheduleFor(seed / 4)},
			History: HistoryOptions{Ops: 60, Weights: CrashWeights},
			Play:    PlayOptions{Properties: properties},
		}
		r := Run(seed, o)
		crashes += r.Did[PowerCut] + r.Did[Killed]
		if r.Err != nil {
			failed++
			t.Errorf("level %v", level)
			explain(t, r, o)
		}
	}
	lastLine(t, "levels", count("runs", n), count("crashes", crashes), zero("failed", failed))
}

// TestPlayAtOnceAndCrash crashes three writers at a drawn step, and looks at what is left.
func TestPlayAtOnceAndCrash(t *testing.T) {
	for i := range runs(60) {
		seed := firstSeed() + uint64(i)
		w := New(Options{Seed: seed, Schedule: ScheduleFor(seed), Faults: []Fault{{Kind: Crash, At: 40 + stream(seed, "crash").Uint64N(150)}}})
		p := NewPlayer(w, PlayOptions{})
		var all []History
		for n := range 3 {
			all = append(all, NewHistory(seed*10+uint64(n), HistoryOptions{
				Ops: 15, First: 1 + 100*n, Rows: 3, Weights: map[OpKind]int{Write: 8, Flush: 1, Full: 1, Split: 1},
			}))
		}
		err := p.Begin()
		if err == nil {
			if err = p.PlayAtOnce(all...); Crashed(err) {
				killed := seed%2 == 0
				op := Op{Kind: PowerCut, Pick: seed}
				if killed {
					op.Kind = Killed
				}
				err = p.Recover(Image(op, w.FS()), killed)
			}
		}
		if err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, repeat(t, seed))
		}
		w.End()
	}
}

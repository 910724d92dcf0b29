package sim

import (
	"flag"
	"fmt"
	"sync/atomic"
	"testing"
)

var setsFlag = flag.Int("sets", 8, "under how many settings, beside the plain one, TestMetamorphic plays each list of operations")

// metamorphicOps is the length of one list.
const metamorphicOps = 250

// TestMetamorphic plays lists of operations under many settings and wants every check of a list to see the same under all
// of them. In every other list updates carry the number of their operation for a timestamp, so that it makes no difference
// when something is compacted. In the others timestamps are few and in no order, so that equal keys lie in several files,
// and nothing is compacted but by the list, which compacts everything. The settings take turns: over some lists all of
// them are used.
func TestMetamorphic(t *testing.T) {
	const random = 20
	settings := allSettings(random)
	if fixed := len(settings) - random; fixed < 20 {
		t.Fatalf("only %d fixed settings", fixed)
	}
	lists := max(1, runs(1000)/metamorphicOps)
	sets := min(*setsFlag, len(settings))
	var sights, runsMade, compactions atomic.Int64
	failed := overSeeds(t, lists, func(seed uint64) error {
		o := HistoryOptions{Ops: metamorphicOps, Numbered: seed%2 == 0, Explicit: 100, Rows: 12, Weights: metamorphicWeights}
		if !o.Numbered {
			o.Weights = merged(o.Weights, map[OpKind]int{Partial: 0})
		}
		h := NewHistory(seed, o)
		want, err := play(setting{}.world(seed), setting{}.play(), h, nil)
		if err != nil {
			return fmt.Errorf("plain: %w", err)
		}
		sights.Add(int64(len(want.sights)))
		for i := range sets {
			s := settings[(int(seed-1)*sets+i)%len(settings)]
			po := s.play()
			if !o.Numbered {
				po.Properties = merged(po.Properties, QuietTable)
			}
			got, err := play(s.world(seed), po, h, nil)
			if err == nil {
				err = compareSights(want.sights, got.sights)
			}
			if err != nil {
				return fmt.Errorf("under %v: %w", s, err)
			}
			runsMade.Add(1)
			compactions.Add(int64(got.did[Full] + got.did[Partial]))
		}
		return nil
	})
	if sights.Load() == 0 || compactions.Load() == 0 {
		t.Error("nothing was compared, or nothing was compacted")
	}
	lastLine(t, "R31", count("operations", lists*metamorphicOps), count("sets", sets), count("settings", len(settings)),
		count("runs", int(runsMade.Load())), count("checks", int(sights.Load())), zero("different", failed))
}

// metamorphicWeights check often, as the model is asked only then.
var metamorphicWeights = map[OpKind]int{Write: 60, Flush: 8, Partial: 5, Full: 3, Split: 2, Reopen: 1, Check: 10, Pause: 3}

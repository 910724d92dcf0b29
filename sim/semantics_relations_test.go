package sim

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"millrace/tablet"
)

// relation is one thing that must make no difference: it changes a history, or the setting under which it is played.
type relation struct {
	name    string
	change  func(r *rand.Rand, h History) History
	setting func(r *rand.Rand) setting
	must    OpKind // what must have happened somewhere for the relation to have been tried
}

var relations = []relation{
	{name: "with flushes", change: inserted(Flush), must: Flush},
	{name: "with partial compactions", change: inserted(strictPartial, Flush), must: Partial},
	{name: "with splits", change: inserted(Split), must: Split},
	{name: "reopened", change: inserted(Reopen), must: Reopen},
	{name: "crashed", change: inserted(PowerCut, Killed), must: PowerCut},
	{name: "other codec", setting: oneOf("none", "lz4", "snappy", "zstd")},
	{name: "other block size", setting: func(r *rand.Rand) setting { return blockSetting(1+r.IntN(400), 1+r.IntN(100)) }},
	// No block is kept in memory; the one cache is of open files, which of two lets in all that a scan reads.
	{name: "other cache", setting: func(r *rand.Rand) setting {
		return serverSetting("tserver.scan.files.open.max", fmt.Sprint(2+r.IntN(4)))
	}},
	{name: "other page size", setting: func(r *rand.Rand) setting { return setting{page: 1 + r.IntN(5)} }},
	{name: "single writes for batches", change: func(_ *rand.Rand, h History) History { return singly(h) }, must: Write},
	{name: "writes of different columns exchanged", change: exchanged, must: Write},
	{name: "full compactions twice", change: func(_ *rand.Rand, h History) History { return twice(h) }, must: Full},
}

func oneOf(codecs ...string) func(r *rand.Rand) setting {
	return func(r *rand.Rand) setting {
		return tableSetting("table.file.compress.type", codecs[r.IntN(len(codecs))])
	}
}

// inserted puts operations of some kinds between others, about one to every three.
func inserted(kinds ...OpKind) func(r *rand.Rand, h History) History {
	return func(r *rand.Rand, h History) (with History) {
		for _, op := range h {
			for r.IntN(3) == 0 {
				kind := kinds[r.IntN(len(kinds))]
				with = append(with, Op{Kind: kind, Table: op.Table, Number: op.Number, Pick: r.Uint64(), Row: fmt.Appendf(nil, "r%02d", r.IntN(8))})
			}
			with = append(with, op)
		}
		return with
	}
}

// singly writes each mutation in a call of its own.
func singly(h History) (all History) {
	for _, op := range h {
		if op.Kind != Write {
			all = append(all, op)
			continue
		}
		for _, m := range op.Mutations {
			one := op
			one.Mutations = []*tablet.Mutation{m}
			all = append(all, one)
		}
	}
	return all
}

// exchanged has writes change places with the next operation, if that is a write of none of the same cells.
func exchanged(r *rand.Rand, h History) History {
	h = slices.Clone(h)
	for i := range h[:len(h)-1] {
		if h[i].Kind == Write && h[i+1].Kind == Write && !meeting(h[i], h[i+1]) && r.IntN(4) > 0 {
			h[i], h[i+1] = h[i+1], h[i]
		}
	}
	return h
}

func meeting(a, b Op) bool {
	for _, m := range a.Mutations {
		for _, n := range b.Mutations {
			for u := range m.All() {
				for v := range n.All() {
					if bytes.Equal(m.Row(), n.Row()) && bytes.Equal(u.Family, v.Family) && bytes.Equal(u.Qualifier, v.Qualifier) {
						return true
					}
				}
			}
		}
	}
	return false
}

func twice(h History) (all History) {
	for _, op := range h {
		all = append(all, op)
		if op.Kind == Full {
			all = append(all, op)
		}
	}
	return all
}

// relationWeights leave out compactions of some files: which there are differs between two runs that are compared.
var relationWeights = map[OpKind]int{Write: 60, Flush: 12, Full: 5, Split: 2, Reopen: 2, Check: 12, Pause: 2}

// relationHistory has by turns rising timestamps, any order of them, and a mixture of given and assigned ones.
func relationHistory(seed uint64) History {
	o := HistoryOptions{Ops: 40, Weights: relationWeights}
	switch seed % 3 {
	case 0:
		o.Numbered = true
	case 1:
		o.Explicit = 100
	}
	return NewHistory(seed, o)
}

// TestRelations plays histories twice, with one thing changed that must make no difference, and wants all checks to see the
// same; each of the relations by itself.
func TestRelations(t *testing.T) {
	n := runs(15)
	failed, checks := 0, atomic.Int64{}
	did := make([]atomic.Int64, len(relations))
	seeds := overSeeds(t, n, func(seed uint64) error {
		h := relationHistory(seed)
		want, err := play(Options{Seed: seed, Schedule: ScheduleFor(seed)}, PlayOptions{}, h, nil)
		if err != nil {
			return fmt.Errorf("plain: %w", err)
		}
		checks.Add(int64(len(want.sights)))
		for i, rel := range relations {
			r := stream(seed, rel.name)
			changed, s := h, setting{}
			if rel.change != nil {
				changed = rel.change(r, h)
			}
			if rel.setting != nil {
				s = rel.setting(r)
			}
			o := s.world(seed)
			o.Schedule = ScheduleFor(seed + uint64(i))
			got, err := play(o, s.play(), changed, nil)
			if err == nil {
				err = compareSights(want.sights, got.sights)
			}
			if err != nil {
				return fmt.Errorf("%s: %w\nhistory:\n%v", rel.name, err, changed)
			}
			if rel.must == "" || got.did[rel.must] > want.did[rel.must] || rel.must == Write {
				did[i].Add(1)
			}
		}
		return nil
	})
	failed += seeds
	for i := range did {
		if did[i].Load() == 0 && n >= 10 {
			t.Errorf("relation %q was never tried", relations[i].name)
		}
	}
	lastLine(t, "R33", count("relations", len(relations)), count("seeds", n), count("checks", int(checks.Load())), zero("broken", failed))
}

package sim

import (
	"context"
	"os"
	"strings"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// spoil writes something behind the player's back when a certain operation begins.
func spoil(number int) RunOptions {
	o := RunOptions{History: HistoryOptions{Ops: 40}, World: Options{Schedule: Schedule{Kind: PCT}, Faults: []Fault{{Kind: Delay, Chance: 0.01}}}}
	var w *World
	o.World.Layers = func(fs vfs.FS) vfs.FS { return fs }
	o.Play.Tolerate = func(Op, error) bool { return false }
	o.Play.Setup = func(p *Player) error { w = p.World; return nil }
	o.Play.Began = func(op Op) {
		if op.Number != number {
			return
		}
		m := tablet.NewMutation([]byte("r00"))
		m.Add(tablet.Update{Family: []byte("f"), Qualifier: []byte("q9"), Value: Value([]byte("r00"), []byte("f"), []byte("q9"), 1)})
		if err := w.Store().Apply(context.Background(), "t", []*tablet.Mutation{m}); err != nil {
			panic(err)
		}
	}
	return o
}

func TestPlayerFindsAPhantom(t *testing.T) {
	r := Run(3, spoil(17))
	if r.Err == nil || !strings.Contains(r.Err.Error(), `row "r00" is`) {
		t.Fatalf("the phantom was not found: %v", r.Err)
	}
	if !strings.Contains(r.Report, "goes on") {
		t.Errorf("the report does not show what happened: %s", r.Report)
	}
	small := Shrink(3, spoil(17), 200)
	if len(small.Ops) != 1 || small.Ops[0].Number != 17 || len(small.World.Faults) != 0 || small.World.Schedule.Kind != FIFO {
		t.Errorf("shrunk to %v with %v and %v", small.Ops, small.World.Faults, small.World.Schedule)
	}
}

func TestHistoryIsDrawnFromItsSeed(t *testing.T) {
	a, b, c := NewHistory(1, HistoryOptions{}), NewHistory(1, HistoryOptions{Ops: 80}), NewHistory(2, HistoryOptions{})
	if a.String() != History(b[:40]).String() {
		t.Error("a longer history begins otherwise than a shorter one")
	}
	if a.String() == c.String() {
		t.Error("two seeds give one history")
	}
	kinds := map[OpKind]int{}
	for _, op := range NewHistory(1, HistoryOptions{Ops: 2000, Weights: CrashWeights}) {
		kinds[op.Kind]++
	}
	for _, k := range opKinds {
		if kinds[k] == 0 {
			t.Errorf("no %s among 2000", k)
		}
	}
}

func TestCheckValue(t *testing.T) {
	e := func(family string, value []byte) *tablet.Entry {
		return &tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: []byte("r"), Family: []byte(family), Qualifier: []byte("q")}), Value: value}
	}
	good := Value([]byte("r"), []byte("f"), []byte("q"), 7)
	if err := CheckValue(e("f", good)); err != nil {
		t.Error(err)
	}
	if CheckValue(e("g", good)) == nil {
		t.Error("a value in another cell is not found")
	}
	mixed := append(append([]byte{}, good[:6]...), Value([]byte("r"), []byte("f"), []byte("q"), 8)[6:]...)
	mixed[len("r:f:q#")] = '9'
	if CheckValue(e("f", mixed)) == nil {
		t.Error("a mixture is not found")
	}
}

// TestReplay plays one seed of the troubled histories again and prints what happens, from the step that -trace gives on.
func TestReplay(t *testing.T) {
	o := troubled(firstSeed())
	if *traceFlag > 0 {
		o.World.Trace, o.World.TraceFrom = os.Stdout, *traceFlag
	}
	if r := Run(firstSeed(), o); r.Err != nil {
		explain(t, r, troubled(firstSeed()))
	}
}

// Three writers at once, while one of them flushes and compacts: whatever order their operations took effect in, the
// result is one that the model knows.
func TestPlayAtOnce(t *testing.T) {
	for i := range runs(30) {
		seed := firstSeed() + uint64(i)
		w := New(Options{Seed: seed, Schedule: ScheduleFor(seed)})
		p := NewPlayer(w, PlayOptions{})
		var all []History
		for n := range 3 {
			all = append(all, NewHistory(seed*10+uint64(n), HistoryOptions{
				Ops: 15, First: 1 + 100*n, Rows: 3, Weights: map[OpKind]int{Write: 8, Flush: 1, Full: 1},
			}))
		}
		err := p.Begin()
		if err == nil {
			err = p.PlayAtOnce(all...)
		}
		if err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, repeat(t, seed))
		}
		if most := p.Models["t"].Possible(); most > 50 {
			t.Errorf("seed %d: %d states of a row are possible after a check", seed, most)
		}
		w.End()
	}
}

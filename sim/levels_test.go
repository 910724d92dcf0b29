package sim

import (
	"context"
	"sync"
	"testing"

	"millrace/tablet"
)

// levels are those a table or a write may have.
var levels = []tablet.Durability{tablet.DurabilityNone, tablet.DurabilityLog, tablet.DurabilityFlush, tablet.DurabilitySync}

// leveled are the tables of a run, one of each level to begin with; now and then one is switched to another.
type leveled struct {
	player  *Player
	level   map[string]tablet.Durability
	changed int
}

var leveledTables = []string{"none", "log", "flush", "sync"}

func newLeveled() *leveled {
	l := &leveled{level: map[string]tablet.Durability{}}
	for i, table := range leveledTables {
		l.level[table] = levels[i]
	}
	return l
}

func (l *leveled) options() PlayOptions {
	return PlayOptions{
		Tables: leveledTables,
		PropertiesOf: func(table string) map[string]string {
			return map[string]string{"table.durability": l.level[table].String()}
		},
		Setup:    func(p *Player) error { l.player = p; return nil },
		Began:    l.maybeSwitch,
		Tolerate: func(Op, error) bool { return false },
	}
}

// maybeSwitch sets the level of an operation's table. While it is not known which one holds, the lower is promised.
func (l *leveled) maybeSwitch(op Op) {
	store := l.player.World.Store()
	if op.Kind != Write || op.Pick%6 > 0 || store == nil {
		return
	}
	next := levels[op.Pick/6%uint64(len(levels))]
	l.level[op.Table] = min(next, l.level[op.Table])
	if store.SetProperties(context.Background(), op.Table, map[string]string{"table.durability": next.String()}) == nil {
		l.level[op.Table] = next
		l.changed++
	}
}

// levelHistory writes at the tables' levels and at others.
func levelHistory(ops int, weights map[OpKind]int) HistoryOptions {
	var mixed []tablet.Durability
	for range 2 * len(levels) {
		mixed = append(mixed, tablet.DurabilityDefault)
	}
	return HistoryOptions{Ops: ops, Tables: leveledTables, Rows: 5, Durabilities: append(mixed, levels...), Weights: weights}
}

// TestDurabilityLevels mixes all levels of durability over tables and over writes, switches tables while it goes, and
// crashes: between operations and at any step, the process and the power. Of every table as much is left as its writes'
// levels promise, the rest a prefix for each tablet, and the store opens. Every fourth seed crashes at calls of the file
// system instead, and takes several images of each. Tables without a log beside others are among them.
func TestDurabilityLevels(t *testing.T) {
	n := runs(40)
	var mu sync.Mutex
	failed, crashes, switched := 0, 0, 0
	var atCalls crashTotals
	onEveryProcessor(func(i int) bool {
		if i >= n {
			return false
		}
		seed := firstSeed() + uint64(i)
		l := newLeveled()
		world := Options{Schedule: ScheduleFor(seed / 4), Store: smallSegments(seed / 4)}
		if seed%4 == 3 {
			r := CrashEverywhere(seed, CrashOptions{
				Run: RunOptions{World: world, History: levelHistory(24, levelWeights), Play: l.options()},
				Only: func(at Point) bool {
					return at.Number == *pointFlag || *pointFlag == 0 && (at.Number+int(seed))%7 == 0
				},
			})
			atCalls.add(t, r)
		} else {
			if seed%4 == 2 {
				world.Faults = []Fault{{Kind: Crash, Chance: 0.004}}
			}
			o := RunOptions{World: world, History: levelHistory(60, CrashWeights), Play: l.options()}
			r := Run(seed, o)
			mu.Lock()
			if crashes += r.Did[PowerCut] + r.Did[Killed] + r.Hits[Crash]; r.Err != nil {
				failed++
				explain(t, r, o)
			}
			mu.Unlock()
		}
		mu.Lock()
		defer mu.Unlock()
		switched += l.changed
		return true
	})
	lastLine(t, "R08", append([]figure{count("seeds", n), count("crashes", crashes), zero("failed", failed), count("switched", switched)}, atCalls.figures()...)...)
}

// levelWeights leave out what crashes: that comes at the calls.
var levelWeights = map[OpKind]int{Write: 60, Flush: 6, Partial: 4, Full: 3, Split: 3, Reopen: 2, Pause: 2}

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

package sim

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// troubles are faults of every kind.
var troubles = []Fault{
	{Kind: Panic, Actor: "flush", Chance: 0.02},
	{Kind: Panic, Actor: "compaction", Chance: 0.02},
	{Kind: Panic, Actor: "scan", Chance: 0.005},
	{Kind: Panic, Actor: "scheduler", Chance: 0.002, Most: 2},
	{Kind: Panic, Actor: "binner", Chance: 0.002, Most: 2},
	{Kind: Panic, Actor: "log", Chance: 0.003, Most: 2},
	{Kind: Panic, Actor: "manifest", Chance: 0.01, Most: 2},
	{Kind: Panic, Actor: "tablet", Chance: 0.001, Most: 2},
	{Kind: Stop, Actor: "scans", Chance: 0.0005, Most: 2},
	{Kind: Crash, Chance: 0.001},
	{Kind: Delay, Chance: 0.02, For: 20 * time.Millisecond},
	{Kind: Jump, Chance: 0.001, For: time.Minute},
	{Kind: Cancel, Chance: 0.002},
}

func troubled(seed uint64) RunOptions {
	return RunOptions{
		World:   Options{Schedule: ScheduleFor(seed), Faults: troubles},
		History: HistoryOptions{Ops: 60, Weights: CrashWeights},
	}
}

// TestSameSeedSameLog runs each seed four times, twice with one processor and twice with all, and wants one digest; and
// another for every other seed.
func TestSameSeedSameLog(t *testing.T) {
	procs := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(procs)
	n := runs(20)
	same := 0
	digests := map[string]uint64{}
	did, hits := map[OpKind]int{}, map[FaultKind]int{}
	for i := range n {
		seed := firstSeed() + uint64(i)
		runtime.GOMAXPROCS(1)
		r := Run(seed, troubled(seed))
		agree := true
		for _, p := range []int{max(2, procs), 1, max(2, procs)} {
			runtime.GOMAXPROCS(p)
			if again := Run(seed, troubled(seed)); again.Digest != r.Digest {
				agree = false
				t.Errorf("seed %d: digest %s, and with GOMAXPROCS %d %s; %s", seed, r.Digest, p, again.Digest, repeat(t, seed))
			}
		}
		if agree {
			same++
		}
		if r.Err != nil {
			t.Errorf("%v\n%s\n%s", r, r.Report, repeat(t, seed))
		}
		if other, ok := digests[r.Digest]; ok {
			t.Errorf("seeds %d and %d have the same digest", other, seed)
		}
		digests[r.Digest] = seed
		for k, v := range r.Did {
			did[k] += v
		}
		for k, v := range r.Hits {
			hits[k] += v
		}
		fmt.Fprintf(os.Stdout, "seed=%d digest=%s steps=%d\n", seed, r.Digest, r.Steps)
	}
	t.Log("operations:", did, "faults:", hits)
	if n >= 20 {
		for _, k := range []OpKind{Write, Flush, Full, Split, Reopen, PowerCut, Killed} {
			if did[k] == 0 {
				t.Errorf("no %s in any run", k)
			}
		}
		for _, k := range []FaultKind{Panic, Stop, Delay, Jump, Cancel, Crash} {
			if hits[k] == 0 {
				t.Errorf("no %s in any run", k)
			}
		}
	}
	lastLine(t, "R5B", count("seeds", n), count("same", same))
}

package sim

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

// The flags of all tests of this package, after -args.
var (
	seedFlag   = flag.Uint64("seed", 1, "first seed of a test that runs many")
	nFlag      = flag.Int("n", 0, "how many runs, or points, a test makes; 0: its own small number")
	shrinkFlag = flag.Int("shrink", 0, "how many runs to spend on making a failing one smaller")
	traceFlag  = flag.Uint64("trace", 0, "print every event from this step on, of a test that runs one seed; 0: none")
)

// runs is how many runs a test makes: -n, or else what it takes in a second or two.
func runs(usual int) int {
	if *nFlag > 0 {
		return *nFlag
	}
	return usual
}

// firstSeed is where a test's seeds begin.
func firstSeed() uint64 { return *seedFlag }

// figure is one of the numbers of a test's last line.
type figure struct {
	name  string
	value int64
	bad   bool // any but 0 fails the test
}

func count(name string, value int) figure { return figure{name, int64(value), false} }

// zero is a count that has to be 0.
func zero(name string, value int) figure { return figure{name, int64(value), true} }

// lastLine prints a target's figures in the form "R01 points=10312 lost=0", and fails the test when a count that has to
// be 0 is not. It is called once, at the end, failed or not.
func lastLine(t testing.TB, target string, figures ...figure) {
	t.Helper()
	var b strings.Builder
	b.WriteString(target)
	for _, f := range figures {
		fmt.Fprintf(&b, " %s=%d", f.name, f.value)
		if f.bad && f.value != 0 {
			t.Errorf("%s: %d %s", target, f.value, f.name)
		}
	}
	fmt.Fprintln(os.Stdout, b.String())
}

// explain says everything about a run that failed: how to repeat it, what it did, what happened last, and with -shrink a
// smaller one that fails too.
func explain(t testing.TB, r Result, o RunOptions) {
	t.Helper()
	t.Errorf("%v\n%s\nschedule %v, faults %v, history:\n%v%s", r, repeat(t, r.Seed), o.World.Schedule, o.World.Faults, o.history(r.Seed), r.Report)
	if *shrinkFlag == 0 {
		return
	}
	small := Shrink(r.Seed, o, *shrinkFlag)
	again := Run(r.Seed, small)
	t.Errorf("smaller: %v\nschedule %v, faults %v, history:\n%v%s", again.Err, small.World.Schedule, small.World.Faults, small.Ops, again.Report)
}

// repeat is the command that runs one seed of a test again.
func repeat(t testing.TB, seed uint64) string {
	name, _, _ := strings.Cut(t.Name(), "/")
	return fmt.Sprintf("go test ./sim -run '^%s$' -v -args -seed %d -n 1", name, seed)
}

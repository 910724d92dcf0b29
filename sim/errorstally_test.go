package sim

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// tally adds up trials, of several goroutines.
type tally struct {
	mu      sync.Mutex
	t       testing.TB
	figures map[string]int
	roles   map[roleSite]int
	seen    map[roleSite]int
	told    int
	redone  int
	images  int
	runs    int
	failed  int
}

func newTally(t testing.TB) *tally {
	return &tally{t: t, figures: make(map[string]int), roles: make(map[roleSite]int), seen: make(map[roleSite]int)}
}

// stop says that enough has failed.
func (y *tally) stop() bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.failed >= 8
}

func (y *tally) add(t *trial, all ...History) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.runs++
	y.images += len(t.images)
	if t.hit() && t.told > 0 {
		y.told++
	} else if t.hit() {
		y.redone++
	}
	for s, n := range t.roles {
		y.roles[s] += n
	}
	for s, n := range t.seen {
		y.seen[s] += n
	}
	if len(t.broken) == 0 {
		return
	}
	y.failed++
	for _, b := range t.broken {
		y.figures[b.what]++
	}
	name, _, _ := strings.Cut(y.t.Name(), "/")
	y.t.Errorf("seed %d, fault %v:\n%s\nagain: go test ./sim -run '^%s$' -v -args -seed %d -fault %v", t.seed, t.fault, t.report(all...), name, t.seed, t.fault)
}

// sites lists the sites that were hit, and those that never were.
func (y *tally) sites() (hit, missed []string) {
	for s := range y.seen {
		if y.roles[s] > 0 {
			hit = append(hit, fmt.Sprintf("%v %d", s, y.roles[s]))
		} else {
			missed = append(missed, s.String())
		}
	}
	slices.Sort(hit)
	slices.Sort(missed)
	return hit, missed
}

func (y *tally) zeros(names ...string) (figures []figure) {
	for _, name := range names {
		figures = append(figures, zero(name, y.figures[name]))
		delete(y.figures, name)
	}
	for name, n := range y.figures {
		figures = append(figures, zero(name, n))
	}
	return figures
}

// inParallel runs jobs on as many goroutines as there are processors, until enough has failed.
func inParallel[J any](y *tally, jobs []J, run func(J)) {
	var wait sync.WaitGroup
	next := make(chan J)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for j := range next {
				if !y.stop() {
					run(j)
				}
			}
		})
	}
	for _, j := range jobs {
		next <- j
	}
	close(next)
	wait.Wait()
}

// noGoroutines wants as many goroutines as there were.
func noGoroutines(t testing.TB, before int) int {
	t.Helper()
	left := 0
	for range 100 {
		if left = max(0, runtime.NumGoroutine()-before); left == 0 {
			return 0
		}
		time.Sleep(50 * time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("%d goroutines more than before:\n%s", left, stacks[:runtime.Stack(stacks, true)])
	return left
}

package sim

import (
	"flag"
	"maps"
	"runtime"
	"sync"
	"testing"

	"millrace/actors"
	"millrace/internal/vfs"
)

var pointFlag = flag.Int("point", 0, "crash at this point of a run alone; 0: at all")

// crashTotals adds up what crashes of several runs have come to.
type crashTotals struct {
	mu                                  sync.Mutex
	runs, calls, points, images, opened int
	did                                 map[OpKind]int
	modes                               map[vfs.ImageMode]int
	harms                               map[Harm]int
}

// add enters one run, and tells of its failures.
func (c *crashTotals) add(t *testing.T, r CrashReport) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.did == nil {
		c.did, c.modes, c.harms = map[OpKind]int{}, map[vfs.ImageMode]int{}, map[Harm]int{}
	}
	c.runs++
	c.calls += r.Calls
	c.points += r.Points
	c.images += r.Images
	c.opened += r.Opened
	for k, n := range r.Did {
		c.did[k] += n
	}
	for m, n := range r.ByMode {
		c.modes[m] += n
	}
	for _, f := range r.Failures {
		c.harms[f.Err.Harm]++
		t.Errorf("%v\n%s -point %d", f, repeat(t, f.Seed), f.At.Number)
	}
	if r.Err != nil {
		t.Errorf("seed %d: %v\n%s", r.Seed, r.Err, repeat(t, r.Seed))
	}
}

func (c *crashTotals) figures() []figure {
	f := append([]figure{count("points", c.points), count("images", c.images)}, c.harmed()...)
	return append(f, count("opened", c.opened), count("runs", c.runs), count("calls", c.calls))
}

// harmed are the figures that have to be 0.
func (c *crashTotals) harmed() (f []figure) {
	for _, h := range Harms {
		f = append(f, zero(string(h), c.harms[h]))
	}
	return f
}

// enough says that so many points have been visited.
func (c *crashTotals) enough(points int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.points >= points
}

// onEveryProcessor calls f with the numbers from 0 on, until it says that it is enough. Each call is alone in its world,
// so that several run at a time.
func onEveryProcessor(f func(n int) (more bool)) {
	var mu sync.Mutex
	next, over := 0, false
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1, !over
	}
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				n, ok := take()
				if !ok {
					return
				}
				if !f(n) {
					mu.Lock()
					over = true
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
}

// onlyPoint is what -point leaves of all points.
func onlyPoint(at Point) bool { return *pointFlag == 0 || at.Number == *pointFlag }

// matrix is one run of the crash matrix. Seeds differ in schedule, codec, size of log segments, and every fourth has three
// writers at once.
func matrix(seed uint64) CrashOptions {
	weights := map[OpKind]int{Write: 45, Flush: 12, Partial: 8, Full: 6, Split: 4, Reopen: 4, Pause: 2}
	properties := maps.Clone(QuietTable)
	properties["table.file.compress.type"] = [...]string{"none", "gz", "lz4", "snappy"}[seed/2%4]
	o := CrashOptions{
		Run: RunOptions{
			World:   Options{Schedule: ScheduleFor(seed), Store: smallSegments(seed)},
			History: HistoryOptions{Ops: 14, Weights: weights},
			Play:    PlayOptions{Properties: properties},
		},
		Only: onlyPoint, More: AfterCrash("t"), MoreEvery: 10,
	}
	if seed%4 == 3 {
		delete(weights, Reopen)
		for n := range 3 {
			o.Histories = append(o.Histories, NewHistory(seed*10+uint64(n), HistoryOptions{
				Ops: 5, First: 1 + 100*n, Rows: 3, Weights: weights,
			}))
		}
	}
	return o
}

// smallSegments has two seeds of three begin a segment of the log after a few writes, and flush what keeps old ones.
func smallSegments(seed uint64) []actors.Option {
	if seed%3 == 0 {
		return nil
	}
	return []actors.Option{actors.WithProperties(map[string]string{
		"tserver.wal.max.size": [...]string{"300", "1K"}[seed%3-1], "tserver.wal.max.referenced": "2",
	})}
}

// TestCrashMatrix crashes random histories at every call, and opens what may be left. It stands for the field cases of
// files that a manifest names and that are missing, shorter, or hold something else: the store's own check
// runs over each image before it is opened.
func TestCrashMatrix(t *testing.T) {
	n := runs(1000)
	var all crashTotals
	onEveryProcessor(func(i int) bool {
		seed := firstSeed() + uint64(i)
		all.add(t, CrashEverywhere(seed, matrix(seed)))
		return !all.enough(n) && !t.Failed()
	})
	t.Log("operations:", all.did, "images:", all.modes)
	if n >= 1000 && *pointFlag == 0 {
		for _, k := range []OpKind{Write, Flush, Partial, Full, Split, Reopen} {
			if all.did[k] == 0 {
				t.Errorf("no %s in any run", k)
			}
		}
	}
	lastLine(t, "R01", all.figures()...)
}

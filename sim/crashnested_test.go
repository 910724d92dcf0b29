package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"millrace/internal/vfs"
)

// nestedDepth is how often the recovery of a chain is crashed.
const nestedDepth = 3

// chain is one crash, and crashes of the recoveries that follow it.
type chain struct {
	rand   *rand.Rand
	moment Moment
	killed bool // at the first crash; later ones take nothing that was recovered
	left   *vfs.MemFS
	images []vfs.ImageOptions // one each crash
	calls  []vfs.Event
}

// newChain runs a history and keeps what one of its points leaves, each with the same chance.
func newChain(seed uint64) (*chain, error) {
	c := &chain{rand: stream(seed, "chain")}
	x := &explorer{CrashOptions: matrix(seed), seed: seed}
	x.Only = nil
	points := 0
	x.Images = func(_ uint64, at Point, fs *vfs.MemFS) []vfs.ImageOptions {
		if points++; c.rand.IntN(points) == 0 {
			c.take(fs, at.Call, true)
			c.moment = x.player.Moment()
		}
		return nil
	}
	x.play()
	return c, x.report.Err
}

// take keeps an image of a file system at a call, in place of one kept at this depth before.
func (c *chain) take(fs *vfs.MemFS, at vfs.Event, first bool) {
	modes := vfs.ImageModes()
	o := vfs.ImageOptions{Mode: modes[c.rand.IntN(len(modes))], P: [3]float64{0.1, 0.5, 0.9}[c.rand.IntN(3)], Seed: c.rand.Uint64()}
	c.left = fs.Image(o)
	if first {
		c.killed = o.Mode == vfs.ImageAll
		c.images, c.calls = nil, nil
	}
	c.images, c.calls = append(c.images, o), append(c.calls, at)
}

// recover opens what is left, lets everything happen that follows for a while, flushes of idle tablets and the removal of
// what is obsolete among it, and keeps what one of the points of all that leaves.
func (c *chain) recover(seed uint64) error {
	files := c.left
	images, calls := c.images, c.calls
	points := 0
	visit := func(e vfs.Event) {
		if !changes(e.Op) {
			return
		}
		if points++; c.rand.IntN(points) == 0 {
			c.images, c.calls = images[:len(images):len(images)], calls[:len(calls):len(calls)]
			c.take(files, e, false)
		}
	}
	w := New(Options{
		Seed: seed, Schedule: ScheduleFor(seed), FS: files, Store: c.moment.store,
		Layers: func(fs vfs.FS) vfs.FS {
			return vfs.Trace(fs, vfs.TraceOptions{Before: visit, Within: visit, After: visit, Seed: seed})
		},
	})
	defer w.End()
	err := w.Open()
	if err == nil {
		err = w.Settle()
	}
	if err == nil {
		err = w.Sleep(time.Duration(c.rand.IntN(2)) * 10 * time.Minute)
	}
	if _, _, violated := w.SyncChecks(); err == nil {
		err = violated
	}
	return err
}

// run crashes recoveries to the depth, and verifies what is left in the end.
func (c *chain) run(seed uint64) error {
	for range nestedDepth {
		if err := c.recover(seed); err != nil {
			return broken(Unopened, err)
		}
	}
	return c.moment.VerifyAnd(seed, c.left, c.killed, AfterCrash("t"))
}

// TestCrashNested crashes a history, the recovery after it, the recovery after that and the one after that, each at any
// call, and wants everything in the end. It stands for a crash between a new log and a new manifest.
func TestCrashNested(t *testing.T) {
	n := runs(50)
	var all crashTotals
	onEveryProcessor(func(i int) bool {
		if i >= n {
			return false
		}
		seed := firstSeed() + uint64(i)
		c, err := newChain(seed)
		r := CrashReport{Seed: seed, Err: err, Points: 1 + nestedDepth, ByMode: map[vfs.ImageMode]int{}}
		if err == nil {
			err = c.run(seed)
		}
		for _, o := range c.images {
			r.Images++
			r.ByMode[o.Mode]++
		}
		var b *Broken
		if errors.As(err, &b) {
			b = &Broken{b.Harm, fmt.Errorf("crashes at %v: %w", c.calls, b.Err)}
			r.Failures = []CrashFailure{{seed, Point{}, c.images[len(c.images)-1], b}}
		} else if r.Err == nil {
			r.Err = err
		}
		all.add(t, r)
		return true
	})
	t.Log("images:", all.modes)
	lastLine(t, "R03", append([]figure{count("chains", all.runs), count("deep", nestedDepth), count("crashes", all.points)}, all.harmed()...)...)
}

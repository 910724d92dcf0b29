package storage

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet/manifest"
	"millrace/tablet/wal"
)

// crasher looks at what crashes leave while a store is used.
type crasher struct {
	t      *testing.T
	seed   uint64
	rng    *rand.Rand
	points int
	images int
	reopen int
	// want are the outcomes that a crash may have: files named, and entries of the log beyond them.
	want map[string]bool
}

func (c *crasher) expect(outcomes ...string) {
	c.want = map[string]bool{}
	for _, o := range outcomes {
		c.want[o] = true
	}
}

// outcome is what a store holds.
func outcome(s *manifest.State, entries int64) string {
	var names []string
	for f := range s.Files() {
		names = append(names, f.Name)
	}
	return fmt.Sprintf("tables=%d files=%v log=%d", tables(s), names, entries)
}

func tables(s *manifest.State) int { return len(slices.Collect(s.Tables())) }

// watch calls at for each point of a crash.
func watch(mem *vfs.MemFS, seed uint64, at func(call string)) vfs.FS {
	hook := func(when string) func(vfs.Event) {
		return func(e vfs.Event) {
			switch e.Op {
			case vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpSyncDir, vfs.OpRemove, vfs.OpMkdir, vfs.OpLock:
				at(when + " " + e.String())
			}
		}
	}
	return vfs.Trace(mem, vfs.TraceOptions{Before: hook("before"), Within: hook("within"), After: hook("after"), Seed: seed})
}

// crash takes images of this moment. Every one loads, names no file that is missing, has no damage, and is one of the
// outcomes expected; some are opened and crashed again.
func (c *crasher) crash(mem *vfs.MemFS, call string, deep int) {
	if c.points++; c.points%thin > 0 {
		return
	}
	for _, mode := range vfs.ImageModes() {
		how := vfs.ImageOptions{Mode: mode, Seed: c.rng.Uint64(), P: []float64{0.1, 0.5, 0.9}[c.rng.IntN(3)]}
		what := fmt.Sprintf("seed %d, %s, %v", c.seed, call, how)
		c.look(what, mem.Image(how))
		// After a crash of the process alone, what was recorded and not synced is read: it must not be acted on before it is
		// on stable storage.
		unsynced := mode == vfs.ImageAll && strings.HasPrefix(call, "after") && strings.Contains(call, "write") && strings.Contains(call, manifest.Dir)
		if deep > 0 && (unsynced || c.rng.IntN(100) == 0) {
			c.again(what, mem.Image(how), deep-1)
		}
	}
}

// look loads an image and checks it.
func (c *crasher) look(what string, image *vfs.MemFS) string {
	c.t.Helper()
	c.images++
	l, err := Load(c.t.Context(), image)
	if err != nil {
		c.t.Fatalf("%s: %v", what, err)
	}
	report, err := l.Replay(c.t.Context(), func(*wal.Entry) error { return nil })
	if err != nil {
		c.t.Fatalf("%s: %v", what, err)
	}
	got := outcome(l.State, report.Entries)
	if !c.want[got] {
		c.t.Fatalf("%s: got %s, want one of %v", what, got, c.want)
	}
	if c.images%5 == 0 {
		r, err := Check(c.t.Context(), image, CheckOptions{Deep: true})
		if err != nil || r.Err() != nil {
			c.t.Fatalf("%s: %v %v", what, err, r)
		}
	}
	return got
}

// again opens an image, with crashes on the way, and once more after that: it holds the same.
func (c *crasher) again(what string, image *vfs.MemFS, deep int) {
	c.reopen++
	in := &crasher{t: c.t, seed: c.seed, rng: c.rng, want: c.want}
	s := open(c.t, watch(image, c.seed, func(call string) { in.crash(image, what+", then "+call, deep) }))
	in.expect(outcome(s.w.State(), int64(s.acknowledged)))
	in.look(what+", opened", image.Durable())
	in.look(what+", opened", image.Clone())
	if left, err := Load(c.t.Context(), image); err != nil || len(left.Orphans) > 0 {
		c.t.Fatalf("%s: %v, orphans %v", what, err, left.Orphans)
	}
	c.images += in.images
	c.points += in.points
}

// TestCrash uses a store and crashes it at every call.
func TestCrash(t *testing.T) {
	points, images, reopened := 0, 0, 0
	for n := range cases(3) {
		seed := *seedFlag + uint64(n)
		c := &crasher{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 3))}
		mem := vfs.Mem()
		c.expect("tables=0 files=[] log=0", "tables=1 files=[] log=0")
		fsys := watch(mem, seed, func(call string) { c.crash(mem, call, 2) })
		for range 2 {
			s := open(t, fsys)
			was := outcome(s.w.State(), int64(s.acknowledged))
			c.expect(was)
			for step := range 8 {
				c.step(s, step, was)
				was = outcome(s.w.State(), int64(s.acknowledged))
				c.expect(was)
			}
			s.close()
		}
		points, images, reopened = points+c.points, images+c.images, reopened+c.reopen
	}
	fmt.Printf("store-crash points=%d images=%d reopened=%d lost=0 missing=0 openfail=0 seed=%d\n", points, images, reopened, *seedFlag)
}

// step does one thing, before which the outcome was was.
func (c *crasher) step(s *store, step int, was string) {
	files := len(s.tablet().Files)
	switch k := c.rng.IntN(4); {
	case k < 2 || step == 0:
		n := 1 + c.rng.IntN(3)
		for i := range n + 1 { // a group is written at once, and some of it may be there
			c.want[outcome(s.w.State(), int64(s.acknowledged+i))] = true
		}
		s.put(rows("p", n)...)
	case k == 2 || files < 2:
		next := s.next
		c.want[outcomeWith(s, nil, next, 0)] = true
		s.flush(rows(fmt.Sprint("f", step), 3)...)
	default:
		var gone []string
		for _, f := range s.tablet().Files {
			gone = append(gone, f.Name)
		}
		c.want[outcomeWith(s, gone, s.next, int64(s.acknowledged))] = true
		s.compact(rows("c", 5)...)
	}
}

// outcomeWith is the outcome once some files are gone and one of a number is there.
func outcomeWith(s *store, gone []string, number uint64, entries int64) string {
	var names []string
	for f := range s.w.State().Files() {
		if !slices.Contains(gone, f.Name) {
			names = append(names, f.Name)
		}
	}
	return fmt.Sprintf("tables=1 files=%v log=%d", append(names, manifest.FileName("F", number)), entries)
}

// TestOpenFaults lets each call of an opening fail: the caller is told, nothing is lost, and the next opening goes through.
func TestOpenFaults(t *testing.T) {
	mem := vfs.Mem()
	aStore(t, mem)
	put(t, mem, manifest.FileName("X", 77), []byte("left"))
	for n := 1; ; n++ {
		image := mem.Clone()
		faulty := vfs.Faulty(image, vfs.Rule{N: n, Err: syscall.EIO})
		err := openOnce(t, faulty)
		if len(faulty.Hits()) == 0 {
			check(t, err)
			fmt.Printf("store-open-faults runs=%d lost=0\n", n)
			return
		}
		// A removal may fail without harm, and the log tries again by itself.
		hit := faulty.Hits()[0]
		if err == nil && hit.Op != vfs.OpRemove && hit.Op != vfs.OpClose && !strings.HasPrefix(hit.Name, wal.Dir) {
			t.Errorf("call %d, %v: not told", n, hit)
		}
		s := open(t, image)
		if s.w.State().FileCount() != 2 || s.acknowledged != 4 {
			t.Errorf("call %d, %v: then %v with %d in the log", n, faulty.Hits(), s.w.State(), s.acknowledged)
		}
		s.close()
	}
}

// openOnce opens and closes as a store does, and returns the first error.
func openOnce(t *testing.T, fsys vfs.FS) (err error) {
	lock, err := TakeLock(fsys, self)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := Make(fsys); err != nil {
		return err
	}
	l, err := Load(t.Context(), fsys)
	if err != nil {
		return err
	}
	report, err := l.Replay(t.Context(), func(*wal.Entry) error { return nil })
	if err != nil {
		return err
	}
	next := l.NextNumber
	give := func() uint64 { next++; return next - 1 }
	w, err := manifest.NewWriter(fsys, l.State, manifest.Options{NextNumber: give, NextLSN: report.NextLSN})
	if err != nil {
		return err
	}
	log, err := wal.New(fsys, wal.Options{NextNumber: give, Recovered: &report})
	if err != nil {
		return err
	}
	if _, err := Sweep(fsys, l, w); err != nil {
		return err
	}
	if err := log.Close(now); err != nil {
		return err
	}
	return w.Close()
}

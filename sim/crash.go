package sim

import (
	"errors"
	"fmt"
	"strings"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// When is where in a call of the file system a crash comes.
type When string

// The places.
const (
	BeforeCall When = "before"
	WithinCall When = "within" // a write of which some bytes were handed over
	AfterCall  When = "after"
	Between    When = "between" // two calls: an operation has just been answered
)

// Point is one place of a run at which it may crash.
type Point struct {
	Number int // in the run, from 1
	When   When
	Call   vfs.Event // not for Between
	Op     Op        // the last one that has begun
}

func (p Point) String() string {
	if p.When == Between {
		return fmt.Sprintf("point %d, between two calls, behind operation %v", p.Number, p.Op)
	}
	return fmt.Sprintf("point %d, %s call %v, operation %v", p.Number, p.When, p.Call, p.Op)
}

// CrashOptions say how CrashEverywhere works.
type CrashOptions struct {
	Run RunOptions
	// Histories are played by a client each, at the same time, instead of the run's one history.
	Histories []History
	// Images chooses what a crash may leave at a point. Default FiveImages.
	Images func(seed uint64, at Point, fs *vfs.MemFS) []vfs.ImageOptions
	// Only leaves points out. Default: none.
	Only func(Point) bool
	// More is played in what has been opened, every MoreEvery-th time. Default: never.
	More      History
	MoreEvery int
}

// CrashReport is what came of crashing one run at every call.
type CrashReport struct {
	Seed     uint64
	Calls    int // of the file system, reads too
	Points   int
	Images   int
	Opened   int // images that no other of the same moment equals
	ByMode   map[vfs.ImageMode]int
	Did      map[OpKind]int
	Failures []CrashFailure
	// Err is how the run itself failed.
	Err error
}

// CrashFailure is a crash after which a promise was broken. Seed, point and image say all that is needed to see it again.
type CrashFailure struct {
	Seed  uint64
	At    Point
	Image vfs.ImageOptions
	Err   *Broken
}

func (f CrashFailure) String() string {
	return fmt.Sprintf("seed %d, %v, image %v: %v", f.Seed, f.At, f.Image, f.Err)
}

// FiveImages are what the process alone leaves, what a power cut leaves at the worst, and three of what it may leave,
// other ones at each point.
func FiveImages(seed uint64, at Point, _ *vfs.MemFS) []vfs.ImageOptions {
	drawn := []vfs.ImageMode{vfs.ImageRandom, vfs.ImageReorder, vfs.ImageTorn, vfs.ImageJunk, vfs.ImagePrefix}
	images := []vfs.ImageOptions{{Mode: vfs.ImageStrict}, {Mode: vfs.ImageAll}}
	for i := range 3 {
		images = append(images, vfs.ImageOptions{
			Mode: drawn[(at.Number*3+i)%len(drawn)], P: [3]float64{0.1, 0.5, 0.9}[(at.Number/5+i)%3],
			Seed: mix(seed<<20 + uint64(at.Number)*3 + uint64(i)),
		})
	}
	return images
}

// CrashEverywhere plays one run and, at every call that changes a file, before it, within it if it is a write, and after
// it, and after each operation, takes images of the files and holds them against what may be there at that moment. The run
// goes on untouched. It looks no further after a failure. Calls that change nothing leave what the call before has left,
// so they are no points.
func CrashEverywhere(seed uint64, o CrashOptions) CrashReport {
	if o.Images == nil {
		o.Images = FiveImages
	}
	x := &explorer{CrashOptions: o, seed: seed}
	x.report = CrashReport{Seed: seed, ByMode: make(map[vfs.ImageMode]int)}
	x.play()
	return x.report
}

// explorer crashes one run.
type explorer struct {
	CrashOptions
	seed   uint64
	world  *World
	player *Player
	op     Op
	number int // of the last point
	report CrashReport
	// Images that were opened since the models have changed last, and those that wait until the engine is between two
	// steps: what goes wrong with them must not look like a failure of the actor that was calling.
	opened map[openedImage]bool
	queue  []queuedImage
}

type queuedImage struct {
	at     Point
	moment Moment
	image  *vfs.MemFS
	o      vfs.ImageOptions
}

type openedImage struct {
	sum    uint64
	killed bool
}

func (x *explorer) play() {
	o := x.Run
	o.World.Seed = x.seed
	o.World.Layers = x.layer
	began, ended := o.Play.Began, o.Play.Ended
	o.Play.Began = func(op Op) {
		x.drain()
		x.op, x.opened = op, nil
		if began != nil {
			began(op)
		}
	}
	o.Play.Ended = func(op Op) {
		x.drain()
		x.op, x.opened = op, nil
		x.visit(Between, vfs.Event{})
		if ended != nil {
			ended(op)
		}
	}
	w := New(o.World)
	defer w.End()
	x.world = w
	x.player = NewPlayer(w, o.Play)
	err := x.player.Begin()
	switch {
	case err != nil:
	case x.Histories != nil:
		err = x.player.PlayAtOnce(x.Histories...)
	default:
		err = x.player.Play(o.history(x.seed))
	}
	if x.op = (Op{Kind: "close"}); err == nil {
		err = w.CloseStore()
	}
	if _, _, violated := w.SyncChecks(); err == nil {
		err = violated
	}
	x.drain()
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, w.Report())
	}
	x.report.Err, x.report.Did = err, x.player.Did
}

func (x *explorer) layer(fs vfs.FS) vfs.FS {
	at := func(when When) func(vfs.Event) {
		return func(e vfs.Event) {
			if when == BeforeCall {
				x.report.Calls++
			}
			if changes(e.Op) {
				x.visit(when, e)
			}
		}
	}
	return vfs.Trace(fs, vfs.TraceOptions{Before: at(BeforeCall), Within: at(WithinCall), After: at(AfterCall), Seed: x.seed})
}

// changes says whether a call changes what a crash may leave.
func changes(op vfs.Op) bool {
	switch op {
	case vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpSyncDir, vfs.OpRename, vfs.OpRemove, vfs.OpLink, vfs.OpMkdir, vfs.OpLock:
		return true
	}
	return false
}

// visit takes the images of one point.
func (x *explorer) visit(when When, e vfs.Event) {
	x.number++
	at := Point{Number: x.number, When: when, Call: e, Op: x.op}
	if len(x.report.Failures) > 0 || x.Only != nil && !x.Only(at) {
		return
	}
	x.report.Points++
	fs := x.world.FS().(*vfs.MemFS)
	moment := x.player.Moment()
	if x.opened == nil || at.Op.Kind == Reopen { // which changes the models in between
		x.opened = make(map[openedImage]bool)
	}
	for _, o := range x.Images(x.seed, at, fs) {
		x.report.Images++
		x.report.ByMode[o.Mode]++
		image := fs.Image(o)
		key := openedImage{image.Sum(), o.Mode == vfs.ImageAll}
		if x.opened[key] {
			continue
		}
		x.opened[key] = true
		x.queue = append(x.queue, queuedImage{at, moment, image, o})
	}
}

// drain verifies the images that wait, up to the first that breaks a promise.
func (x *explorer) drain() {
	for _, q := range x.queue {
		if len(x.report.Failures) > 0 {
			break
		}
		if err := x.open(q); err != nil {
			x.report.Failures = append(x.report.Failures, CrashFailure{x.seed, q.at, q.o, err})
		}
	}
	x.queue = nil
}

// open verifies one image.
func (x *explorer) open(q queuedImage) *Broken {
	x.report.Opened++
	var more History
	if x.MoreEvery > 0 && x.report.Opened%x.MoreEvery == 0 {
		more = x.More
	}
	var b *Broken
	if err := q.moment.VerifyAnd(x.seed, q.image, q.o.Mode == vfs.ImageAll, more); err != nil && !errors.As(err, &b) {
		b = &Broken{Unopened, err}
	}
	return b
}

// AfterCrash is what tells that a store which has opened works: writes to every cell that histories of few rows use, which
// must be the newest there, a delete, a flush and a compaction of all there is, and an opening.
func AfterCrash(table string) History {
	const first = 1_000_000
	write, remove := Op{Kind: Write}, Op{Kind: Write}
	for _, row := range strings.Fields("r00 r01 r02 r03 r04 r05 r06 r07 r0 r1 r2 r3 a b c d e") {
		m := tablet.NewMutation([]byte(row))
		for _, column := range []string{"f:q", "f:s", "f:q0", "f:q1", "g:q0", "g:q1"} {
			family, qualifier, _ := strings.Cut(column, ":")
			m.Put([]byte(family), []byte(qualifier), nil, Value(m.Row(), []byte(family), []byte(qualifier), first))
		}
		write.Mutations = append(write.Mutations, m)
	}
	gone := tablet.NewMutation([]byte("r01"))
	gone.Delete([]byte("f"), []byte("q0"), nil)
	remove.Mutations = []*tablet.Mutation{gone}
	h := History{write, {Kind: Check}, remove, {Kind: Flush}, {Kind: Full}, {Kind: Check}, {Kind: Reopen}}
	for i := range h {
		h[i].Number, h[i].Table = first+i, table
	}
	return h
}

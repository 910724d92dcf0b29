package sim

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// cancelStore is a store whose jobs and scans take several steps: two tablets with some files each. Something in memory comes
// with each run.
type cancelStore struct {
	image  *vfs.MemFS
	rows   int
	stored map[string]bool
	spans  map[string]span // by kind of operation, of a run that is not cancelled
}

// span is how much there is to be cancelled at.
type span struct{ calls, messages int }

const cancelPart = 5000 // rows that are flushed at once; a job's step is 4096 entries

func cancelRows(from, to int) (all []*tablet.Mutation) {
	for i := from; i < to; i++ {
		m := tablet.NewMutation(fmt.Appendf(nil, "r%06d", i*7919%100_000))
		m.Put([]byte("f"), []byte("a"), nil, fmt.Appendf(nil, "%d", i))
		m.Put([]byte("f"), []byte("b"), nil, fmt.Appendf(nil, "%d", i))
		all = append(all, m)
	}
	return all
}

func newCancelStore() (*cancelStore, error) {
	mem, ctx := vfs.Mem(), context.Background()
	w := New(Options{FS: mem})
	defer w.End()
	if err := w.Open(); err != nil {
		return nil, err
	}
	s := &cancelStore{spans: make(map[string]span)}
	properties := map[string]string{"table.compaction.major.ratio": "1000000", "table.file.max": "1000000", "table.file.compress.type": "none",
		"table.compaction.minor.idle": "0"}
	if err := w.Store().CreateTable(ctx, "t", [][]byte{[]byte("r050000")}, properties); err != nil {
		return nil, err
	}
	for range 2 {
		if err := w.Store().Apply(ctx, "t", cancelRows(s.rows, s.rows+cancelPart), actors.WithDurability(tablet.DurabilityLog)); err != nil {
			return nil, err
		}
		s.rows += cancelPart
		if err := w.Store().Flush(ctx, "t"); err != nil {
			return nil, err
		}
	}
	if err := w.CloseStore(); err != nil {
		return nil, err
	}
	s.image, s.stored = mem.Clone(), make(map[string]bool)
	for _, m := range cancelRows(0, s.rows) {
		s.stored[string(m.Row())] = true
	}
	return s, nil
}

// cancelled is a run in which one operation is cancelled.
type cancelled struct {
	*cancelStore
	seed      uint64
	kind      string
	atCall    int // of the files, counted from the operation's beginning; 0: at a message
	atMessage int // -1: before the operation begins

	mem             *vfs.MemFS
	w               *World
	ctx             context.Context
	cancel          context.CancelFunc
	calls, messages int
	armed, over     bool            // the operation has begun, has come back
	jobs            int64           // that were cancelled with it
	at, returned    time.Duration   // when it was cancelled, when it came back; -1: not
	next            int             // row that is written next
	sure            map[string]bool // of each row that was written: it is there, or may be, but then whole
	broken          []breach
}

var cancelKinds = []string{"scan", "snapshot", "iterate", "seek", "flush", "full", "partial", "scratch", "write", "async", "split"}

func (c cancelled) String() string { return fmt.Sprintf("%s/%d/%d", c.kind, c.atCall, c.atMessage) }

func (c *cancelled) breach(what string, err error) { c.broken = append(c.broken, breach{what, err}) }

// cancelStep is the virtual time of a step.
const cancelStep = 50 * time.Microsecond

func (c *cancelled) open() error {
	c.mem, c.at, c.returned, c.next, c.sure = c.image.Clone(), -1, -1, c.rows, maps.Clone(c.stored)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	schedules := []ScheduleKind{Uniform, FIFO, PCT, Burst}
	c.w = New(Options{
		Seed: c.seed, Schedule: Schedule{Kind: schedules[c.seed%4]}, FS: c.mem, PerStep: cancelStep, AnyOrder: c.seed%8 > 0,
		Hooks: actors.Hooks{
			Received: func(*actor.PID, any) { c.met(&c.messages, c.atMessage) },
			Failed:   func(err *actors.PanicError) { c.breach("panics", err) },
		},
		Layers: func(fs vfs.FS) vfs.FS {
			fs = vfs.Slow(fs, vfs.SlowOptions{Delay: c.delay, Wait: func(_ vfs.Call, d time.Duration) { c.w.Clock().Pass(d) }})
			return vfs.Trace(fs, vfs.TraceOptions{Before: func(vfs.Event) { c.met(&c.calls, c.atCall) }})
		},
	})
	if err := c.w.Open(); err != nil {
		return err
	}
	more := cancelRows(c.next, c.next+cancelPart)
	for _, m := range more {
		c.sure[string(m.Row())] = true
	}
	c.next += cancelPart
	return c.w.Store().Apply(context.Background(), "t", more)
}

// delay has data files read and written slowly. One thing happens at a time here: what two tablets do adds up.
func (c *cancelled) delay(call vfs.Call) time.Duration {
	if c.armed && call.Class() == vfs.ClassData && (call.Op == vfs.OpRead || call.Op == vfs.OpWrite) {
		return 2 * time.Millisecond
	}
	return 0
}

// met counts a call, or a message, and cancels at one.
func (c *cancelled) met(count *int, at int) {
	if !c.armed || c.over {
		return
	}
	if *count++; *count == at {
		c.now()
	}
}

func (c *cancelled) now() {
	if c.at < 0 {
		c.at = c.w.Clock().Elapsed()
		c.cancel()
	}
}

// TestCancel cancels operations at drawn calls of the file system and at drawn messages: they end at once, leave nothing,
// and the next one is right.
func TestCancel(t *testing.T) {
	y := newTally(t)
	s, err := newCancelStore()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range cancelKinds {
		c := cancelled{cancelStore: s, kind: kind}
		c.run()
		if len(c.broken) > 0 {
			t.Fatalf("%s, not cancelled: %s: %v", kind, c.broken[0].what, c.broken[0].err)
		}
		s.spans[kind] = span{c.calls, c.messages}
	}
	var jobs []*cancelled
	for i := range runs(100) {
		c := &cancelled{cancelStore: s, seed: firstSeed() + uint64(i)}
		r := stream(c.seed, "cancel")
		c.kind = cancelKinds[c.seed%uint64(len(cancelKinds))]
		switch n, of := r.IntN(20), s.spans[c.kind]; {
		case n == 0:
			c.atMessage = -1
		case n < 10 && of.calls > 0 || of.messages == 0:
			c.atCall = 1 + r.IntN(of.calls)
		default:
			c.atMessage = 1 + r.IntN(of.messages)
		}
		jobs = append(jobs, c)
	}
	hit, compactions, ended, latest := 0, 0, 0, time.Duration(0)
	inParallel(y, jobs, func(c *cancelled) {
		c.run()
		y.mu.Lock()
		defer y.mu.Unlock()
		y.runs++
		if c.at >= 0 {
			hit++
			latest = max(latest, c.returned-c.at)
		}
		if c.compacts() {
			compactions++
			ended += int(bit(c.jobs > 0))
		}
		for i, b := range c.broken {
			if y.figures[b.what]++; i == 0 {
				y.failed++
			}
			t.Errorf("seed %d, %v: %s: %v\n%s", c.seed, c, b.what, b.err, repeat(t, c.seed))
		}
	})
	t.Logf("calls and messages to be cancelled at: %v; the latest came back after %v", s.spans, latest)
	if ended*10 < compactions {
		t.Errorf("of %d cancelled compactions only %d have had jobs that ended with them", compactions, ended)
	}
	lastLine(t, "R58", append([]figure{count("runs", y.runs), count("cancelled", hit), count("compactions", compactions), count("jobs_ended", ended), count("latest_us", int(latest.Microseconds()))},
		y.zeros("late", "leftovers", "wrong", "unusable", "panics")...)...)
}

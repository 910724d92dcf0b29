package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"

	"github.com/asynkron/protoactor-go/actor"
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

// do does the operation once. What it read, or wrote, is checked.
func (c *cancelled) do(ctx context.Context) error {
	s := c.w.Store()
	switch c.kind {
	case "scan", "snapshot":
		return c.scan(ctx, c.kind == "snapshot")
	case "iterate", "seek":
		return c.iterate(ctx)
	case "flush":
		return s.Flush(ctx, "t")
	case "full", "scratch":
		_, err := s.Compact(ctx, "t", actors.CompactOptions{Scratch: c.kind == "scratch", NoFlush: true})
		return err
	case "partial":
		stats, err := s.Stats(context.Background(), "t")
		if err != nil {
			return err
		}
		_, err = s.Compact(ctx, "t", actors.CompactOptions{Files: []uint64{stats[0].Files[0].Number}, NoFlush: true})
		return err
	case "write", "async":
		return c.write(ctx)
	case "split":
		return s.AddSplits(ctx, "t", [][]byte{[]byte("r020000"), []byte("r070000")})
	}
	panic(c.kind)
}

// scan reads everything, and wants it to be right as far as it goes.
func (c *cancelled) scan(ctx context.Context, snapshot bool) error {
	sc, err := c.w.Store().Scan(ctx, "t", actors.ScanOptions{Snapshot: snapshot, PageEntries: 700})
	if err != nil {
		return err
	}
	defer sc.Close()
	return c.check(sc.Next, func() tablet.Entry { return sc.Entry() }, sc.Err)
}

func (c *cancelled) iterate(ctx context.Context) error {
	it, err := c.w.Store().Iterator("t", actors.IteratorOptions{})
	if err != nil {
		return err
	}
	defer it.Close()
	if c.kind == "seek" {
		for i := range 200 {
			row := cancelRows(i*37%c.rows, i*37%c.rows+1)[0].Row()
			if err := it.Seek(ctx, tablet.ExactRow(row)); err != nil {
				return err
			}
			if e, ok := it.Top(); !ok || string(e.Key.Row()) != string(row) {
				c.breach("wrong", fmt.Errorf("row %s was not found", row))
			}
		}
		return nil
	}
	err = it.Seek(ctx, tablet.Range{})
	first := true
	return c.check(func() bool {
		if !first && err == nil {
			err = it.Next(ctx)
		}
		first = false
		_, ok := it.Top()
		return ok && err == nil
	}, func() tablet.Entry { e, _ := it.Top(); return e }, func() error { return err })
}

// check holds what is read against the rows that are there: all of them, in order, each whole, or, with an error, the first.
func (c *cancelled) check(next func() bool, entry func() tablet.Entry, end func() error) error {
	names := slices.Sorted(maps.Keys(c.sure))
	at, half := -1, false
	for next() {
		e := entry()
		row := string(e.Key.Row())
		if half {
			if half = false; row != names[at] || string(e.Key.Qualifier()) != "b" {
				c.breach("wrong", fmt.Errorf("half of row %s, then row %s", names[at], row))
				return nil
			}
			continue
		}
		for at++; at < len(names) && names[at] != row && !c.sure[names[at]]; at++ {
		}
		if at >= len(names) || names[at] != row || string(e.Key.Qualifier()) != "a" {
			c.breach("wrong", fmt.Errorf("row %q, number %d, qualifier %s is not what comes next", row, at, e.Key.Qualifier()))
			return nil
		}
		half = true
	}
	if err := end(); err != nil {
		return err
	}
	for at++; at < len(names) && !c.sure[names[at]]; at++ {
	}
	if half || at < len(names) {
		c.breach("wrong", fmt.Errorf("the end comes at row %d of %d, without an error", at, len(names)))
	}
	return nil
}

const cancelWrite = 2500 // mutations, which go in three pieces

func (c *cancelled) write(ctx context.Context) error {
	all := cancelRows(c.next, c.next+cancelWrite)
	c.next += cancelWrite
	var err error
	if c.kind == "write" {
		err = c.w.Store().Apply(ctx, "t", all)
	} else {
		ack, e := c.w.Store().ApplyAsync(ctx, "t", all)
		if err = e; ack != nil {
			err = errors.Join(err, ack.Wait(ctx))
		}
	}
	for _, m := range all {
		c.sure[string(m.Row())] = err == nil
	}
	return err
}

// run cancels the operation, looks at what is left of it, and does it once more.
func (c *cancelled) run() {
	defer func() { c.w.End() }()
	if err := c.open(); err != nil {
		c.breach("failed", err)
		return
	}
	defer c.cancel()
	if c.armed = true; c.atMessage < 0 {
		c.now()
	}
	err := c.do(c.ctx)
	c.returned, c.over = c.w.Clock().Elapsed(), true
	switch {
	case err != nil && (c.at < 0 || !errors.Is(err, context.Canceled)):
		c.breach("wrong", fmt.Errorf("cancelled at %v: %w", c.at, err))
	case c.at >= 0 && c.returned-c.at > 100*time.Millisecond:
		c.breach("late", fmt.Errorf("came back %v after it was cancelled", c.returned-c.at))
	}
	if c.at >= 0 {
		if err := c.w.Sleep(c.at + 100*time.Millisecond - c.w.Clock().Elapsed()); err != nil {
			c.breach("failed", err)
		}
	}
	if c.at >= 0 && c.kind != "flush" && c.kind != "split" { // these go on, though nobody waits for them any more
		c.leftovers()
	}
	c.armed = false
	c.countJobs()
	if err := c.w.Settle(); err != nil {
		c.breach("failed", err)
	}
	c.leftovers()
	if err := c.do(context.Background()); err != nil {
		c.breach("unusable", fmt.Errorf("the same again: %w", err))
	}
	kind := c.kind
	c.kind = "scan"
	if err := c.do(context.Background()); err != nil {
		c.breach("unusable", fmt.Errorf("a scan afterwards: %w", err))
	}
	c.kind = kind
	if err := c.w.Settle(); err != nil {
		c.breach("failed", err)
	}
	c.leftovers()
	if err := c.w.CloseStore(); err != nil {
		c.breach("leftovers", fmt.Errorf("close: %w", err))
	}
	if err := checkStore(c.mem, true); err != nil {
		c.breach("leftovers", err)
	}
}

// compacts says that it is a compaction, whose jobs end with it if they hear of it in time: they are not long.
func (c *cancelled) compacts() bool {
	return c.at >= 0 && (c.kind == "full" || c.kind == "scratch" || c.kind == "partial")
}

func (c *cancelled) countJobs() {
	stats, err := c.w.Store().Stats(context.Background(), "t")
	if err != nil {
		c.breach("failed", err)
	}
	for _, s := range stats {
		c.jobs += s.Counts.JobsCancelled
	}
}

// leftovers wants no job, no lease and no file that belongs to no tablet.
func (c *cancelled) leftovers() {
	if _, leases := c.w.Store().OpenFiles(); leases > 0 {
		c.breach("leftovers", fmt.Errorf("%d leases 100 ms after", leases))
	}
	stats, err := c.w.Store().Stats(context.Background(), "t")
	if err != nil {
		c.breach("failed", err)
	}
	files := 0
	for _, s := range stats {
		files += len(s.Files)
		if s.Jobs > 0 {
			c.breach("leftovers", fmt.Errorf("%v has %d jobs 100 ms after", s.Extent, s.Jobs))
		}
	}
	names, err := c.mem.List("data")
	shared := c.kind == "split" // halves have the same files
	if err != nil || len(names) > files || len(names) < files && !shared {
		c.breach("leftovers", fmt.Errorf("files %v, of which tablets have %d (%v)", names, files, err))
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

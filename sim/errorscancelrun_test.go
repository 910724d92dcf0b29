package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"millrace/actors"
	"millrace/tablet"
)

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

package job

import (
	"context"
	"fmt"

	"millrace/internal/invariant"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/rfile"
)

// copier moves one group from the inputs to the writer. Below is the merge; above it, unless everything is kept, the
// stack; above that the user iterators, if there are any.
type copier struct {
	merge  *iter.Merge
	stack  *iter.Stack
	top    iter.Iterator
	limits tablet.Range
	audit  *audit // nil but in checking builds

	cursors []*rfile.Cursor // of the sources that are files, by rank; nil if no block is to be taken over as it is stored

	runs    []iter.Run // drawn and not yet written; a part of in
	written int64
	in      [64]iter.Run
}

func (c *copier) seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	switch {
	case c.top != nil:
		return c.guard(func() error { return c.top.Seek(ctx, r, f) })
	case c.stack != nil:
		return c.stack.Seek(ctx, r, f)
	}
	return c.merge.Seek(ctx, r, f)
}

// copy works on at most limit entries, and says how many it were and whether there are more.
func (c *copier) copy(ctx context.Context, w *rfile.Writer, limit int) (used int, more bool, err error) {
	if c.top != nil {
		err = c.guard(func() error {
			used, more, err = c.copyEntries(ctx, w, limit)
			return err
		})
		return used, more, err
	}
	for used < limit {
		if len(c.runs) == 0 {
			dropped, more, err := c.draw(ctx)
			if err != nil || !more {
				return used + dropped, false, err
			}
			used += dropped
			continue
		}
		n, err := c.writeRun(w, limit-used)
		used += n
		if err != nil {
			return used, true, err
		}
	}
	return used, true, nil
}

// draw gets the next runs, and says how many entries were dropped meanwhile. Though there are more there may be none yet.
func (c *copier) draw(ctx context.Context) (dropped int, more bool, err error) {
	if c.stack == nil {
		n, err := c.merge.Fill(ctx, c.in[:])
		c.runs = c.in[:n]
		return 0, n > 0, err
	}
	before := c.stack.Books()
	n, more, err := c.stack.FillSome(ctx, c.in[:])
	c.runs = c.in[:n]
	after := c.stack.Books()
	return int(after.Dropped() - before.Dropped()), more, err
}

// writeRun writes the first of the runs drawn, as far as the limit allows.
func (c *copier) writeRun(w *rfile.Writer, limit int) (int, error) {
	run := &c.runs[0]
	b := c.merge.Batch(run.Src)
	n := min(run.Len(), limit)
	hi := run.Lo + uint32(n)
	if run.Lo == 0 && c.cursors != nil {
		c.pass(w, run.Src, b)
	}
	if err := w.AppendRun(b, run.Code, int(run.Lo), int(hi)); err != nil {
		return 0, err
	}
	c.audit.wrote(b, run.Lo, hi)
	c.written += int64(n)
	if hi == run.Hi {
		c.runs = c.runs[1:]
		return n, nil
	}
	run.Code, run.Lo = b.Codes[hi], hi
	return n, nil
}

// cursorsOf are the cursors among sources, or below them.
func cursorsOf(sources []iter.Source) []*rfile.Cursor {
	cursors := make([]*rfile.Cursor, len(sources))
	for i, s := range sources {
		cursors[i], _ = iter.Unwrap(s).(*rfile.Cursor)
	}
	return cursors
}

// pass tells the writer of a block that begins with a batch, if nothing of another source comes between its entries.
func (c *copier) pass(w *rfile.Writer, src uint16, b *tablet.Batch) {
	from := c.cursors[src]
	if from != nil && b.Facts.FirstOf && b.Facts.Contiguous && c.merge.Alone(src) {
		w.Pass(from)
	}
}

// copyEntries is copy above user iterators. Their output has no codes, so the writer compares keys.
func (c *copier) copyEntries(ctx context.Context, w *rfile.Writer, limit int) (used int, more bool, err error) {
	for used < limit {
		if err := ctx.Err(); err != nil {
			return used, true, err
		}
		e, ok := c.top.Top()
		if !ok || c.limits.AfterEnd(&e.Key) {
			return used, false, nil
		}
		if c.limits.BeforeStart(&e.Key) {
			return used, true, fmt.Errorf("an iterator made %v, outside %v: %w", e.Key, c.limits, tablet.ErrUsage)
		}
		if err := w.Append(&e.Key, e.Value); err != nil {
			return used, true, err
		}
		c.written++
		used++
		if err := c.top.Next(ctx); err != nil {
			return used, true, err
		}
	}
	return used, true, nil
}

// guard turns a panic of a user iterator into an error. What we found to be our own fault goes on.
func (c *copier) guard(f func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *invariant.Violation:
			panic(p)
		default:
			err = fmt.Errorf("an iterator panicked: %v", p)
		}
	}()
	return f()
}

// books are what became of the entries read so far.
func (c *copier) books() iter.Books {
	if c.stack == nil {
		return iter.Books{Read: c.merge.Stats().Entries, Written: c.written}
	}
	b := c.stack.Books()
	if c.top == nil {
		return b
	}
	switch {
	case c.written < b.Written:
		b.Reduced = b.Written - c.written
	case c.written > b.Written:
		b.Added = c.written - b.Written
	}
	b.Written = c.written
	return b
}

// closeBooks holds them against the audit's, at the end of a group.
func (c *copier) closeBooks() {
	if c.audit == nil {
		return
	}
	below := c.books()
	if c.stack != nil {
		below = c.stack.Books()
	}
	c.audit.close(below, c.top != nil)
}

func (c *copier) close() error {
	c.runs, c.cursors = nil, nil
	return c.merge.Close()
}

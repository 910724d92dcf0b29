package scan

import (
	"context"
	"fmt"

	"millrace/tablet"
	"millrace/tablet/iter"
)

// Cursor reads one tablet entry by entry and can be sought any number of times. It is not safe for concurrent use.
type Cursor struct {
	families tablet.Families
	stack    *iter.Stack
	top      iter.Iterator // the user iterators, or the adapter below them
	rng      tablet.Range
	clips    bool // user iterators need not stop at the end of the range
}

// OpenCursor builds the stack over sources, the newest first, and takes them over: Close closes them. The spec's Range and
// Skip do not count. The pool belongs to the caller's goroutine.
func OpenCursor(pool *iter.Pool, sources []iter.Source, spec Spec) (*Cursor, error) {
	stack, top, err := build(pool, sources, &spec)
	if err != nil {
		return nil, fmt.Errorf("open cursor: %w", err)
	}
	c := &Cursor{families: spec.Columns.Families(), stack: stack, top: top, clips: top != nil}
	if top == nil {
		c.top = iter.NewEntries(stack)
	}
	return c, nil
}

// Seek moves to the first entry in the range. Errors last until the next Seek.
func (c *Cursor) Seek(ctx context.Context, r tablet.Range) error {
	c.rng = r
	return c.top.Seek(ctx, r, c.families)
}

// Next moves to the next entry. Without a present one it is an error that wraps tablet.ErrUsage.
func (c *Cursor) Next(ctx context.Context) error { return c.top.Next(ctx) }

// Top is the present entry, a view until the next call of Seek, Next or Close; false when there is none.
func (c *Cursor) Top() (tablet.Entry, bool) {
	e, ok := c.top.Top()
	if ok && c.clips && c.rng.AfterEnd(&e.Key) {
		return tablet.Entry{}, false
	}
	return e, ok
}

// Close closes the sources. The cursor must not be used afterwards.
func (c *Cursor) Close() error { return c.stack.Close() }

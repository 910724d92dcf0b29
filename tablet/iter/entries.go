package iter

import (
	"context"
	"fmt"

	"millrace/internal/invariant"
	"millrace/tablet"
)

// Entries reads runs entry by entry: the lowest Iterator.
type Entries struct {
	below      RunSource
	clone      func() (RunSource, error)
	generation uint32

	runs  []Run // not yet used up, the first being read; a part of in
	batch *tablet.Batch
	at    uint32
	in    [stackRuns]Run
}

// generational is a run source that can tell that it was closed and serves another.
type generational interface{ Generation() uint32 }

// NewEntries returns an iterator over s, which it does not close and which must not be read beside it.
func NewEntries(s RunSource) *Entries {
	e := &Entries{below: s}
	if g, ok := s.(generational); ok {
		e.generation = g.Generation()
	}
	return e
}

// OnClone tells how Clone gets another reader of the same data. Whoever made it also closes what it hands out. Without
// it, Clone is refused.
func (e *Entries) OnClone(open func() (RunSource, error)) *Entries {
	e.clone = open
	return e
}

// Init does nothing: an Entries is made with its source.
func (e *Entries) Init(map[string]string, Env) error { return nil }

// Seek is as in Iterator.
func (e *Entries) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	e.check()
	e.runs, e.batch = nil, nil
	if err := e.below.Seek(ctx, r, f); err != nil {
		return err
	}
	return e.fill(ctx)
}

// Next is as in Iterator.
func (e *Entries) Next(ctx context.Context) error {
	if len(e.runs) == 0 {
		return errNoTop
	}
	e.at++
	if e.at < e.runs[0].Hi {
		return nil
	}
	e.runs = e.runs[1:]
	if len(e.runs) > 0 {
		e.enter()
		return nil
	}
	return e.fill(ctx)
}

// Top is as in Iterator.
func (e *Entries) Top() (tablet.Entry, bool) {
	if len(e.runs) == 0 {
		return tablet.Entry{}, false
	}
	return e.batch.Entry(int(e.at)), true
}

// Clone is as in Iterator, but takes its source from OnClone.
func (e *Entries) Clone(Env) (Iterator, error) {
	if e.clone == nil {
		return nil, fmt.Errorf("clone the reader of files and memtables: %w", tablet.ErrUnsupported)
	}
	s, err := e.clone()
	if err != nil {
		return nil, err
	}
	return NewEntries(s).OnClone(e.clone), nil
}

// fill draws the next runs.
func (e *Entries) fill(ctx context.Context) error {
	e.check()
	e.runs, e.batch = nil, nil
	n, err := e.below.Fill(ctx, e.in[:])
	if err != nil {
		return err
	}
	if n > 0 {
		e.runs = e.in[:n]
		e.enter()
	}
	return nil
}

// enter goes to the start of the first run.
func (e *Entries) enter() {
	e.batch, e.at = e.below.Batch(e.runs[0].Src), e.runs[0].Lo
}

// check guards against a source that went back to its pool and serves another.
func (e *Entries) check() {
	if !invariant.Enabled {
		return
	}
	if g, ok := e.below.(generational); ok {
		invariant.That(g.Generation() == e.generation, "entries read from a merge after its close")
	}
}

package experiment

import (
	"context"
	"sync"

	"millrace/tablet"
	"millrace/tablet/iter"
)

// poolVariants are the ways to come by a merge. Each opens one get and close for one goroutine; a nested one gets a merge of
// as many sources as one of the sources.
var poolVariants = []struct {
	name   string
	pooled bool
	open   func(g *getter) func()
}{
	// A new object each time.
	{"fresh", false, func(g *getter) func() {
		return func() { g.once(nil) }
	}},
	// The engine's own: a list that belongs to an actor, as the ticket's belongs to a thread.
	{"freelist", true, func(g *getter) func() {
		pool := iter.NewPool()
		return func() { g.once(pool) }
	}},
	// What anybody may take from and give to, and the collector empties.
	{"syncpool", true, func(g *getter) func() {
		return func() {
			pool := sharedPools.Get().(*iter.Pool)
			g.once(pool)
			sharedPools.Put(pool)
		}
	}},
	// One list for all.
	{"mutex", true, func(g *getter) func() {
		return func() { g.onceLocked(&lockedPool) }
	}},
	// No merge at all: a single source that needs none.
	{"direct", true, func(g *getter) func() {
		return func() { _ = theOnly(g.sources).Close() }
	}},
}

const (
	directVariant = "direct"
	clockVariant  = "clock"
)

// PoolVariants are their names.
func PoolVariants() (names []string) {
	for _, v := range poolVariants {
		names = append(names, v.name)
	}
	return names
}

var sharedPools = sync.Pool{New: func() any { return iter.NewPool() }}

var lockedPool = ownedPool{pool: iter.NewPool()}

type ownedPool struct {
	sync.Mutex
	pool *iter.Pool
}

// getter is what one goroutine gets merges of: sources of its own, that are never read.
type getter struct {
	sources []iter.Source
	outer   []iter.Source // of a nested merge: the same, the last of them a merge
	inner   *mergeSource  // that last one; nil if not nested
}

func newGetter(sources int, nested bool) *getter {
	g := &getter{sources: make([]iter.Source, sources)}
	for i := range g.sources {
		g.sources[i] = iter.FromBatches(nil)
	}
	if nested {
		g.inner = &mergeSource{}
		g.outer = append(g.outer, g.sources...)
		g.outer[sources-1] = g.inner
	}
	return g
}

// once gets a merge and closes it. What is not nested takes no further call on the way: the merge is what is measured.
func (g *getter) once(pool *iter.Pool) {
	if g.inner == nil {
		_ = getMerge(pool, g.sources).Close()
		return
	}
	_ = g.get(pool).Close()
}

func (g *getter) get(pool *iter.Pool) merged {
	if g.inner == nil {
		return getMerge(pool, g.sources)
	}
	g.inner.below = getMerge(pool, g.sources)
	return getMerge(pool, g.outer)
}

// onceLocked does the same with a pool that has other users.
func (g *getter) onceLocked(p *ownedPool) {
	p.Lock()
	m := g.get(p.pool)
	p.Unlock()
	p.Lock()
	_ = m.Close()
	p.Unlock()
}

// merged is a merge as its user sees it.
type merged interface {
	iter.RunSource
	Close() error
}

// getMerge returns the merge through an interface, or escape analysis might leave a fresh one on the stack.
//
//go:noinline
func getMerge(p *iter.Pool, sources []iter.Source) merged { return p.Get(iter.Tree, sources) }

// theOnly returns a single source as itself, which input and output types of one kind allow.
//
//go:noinline
func theOnly(sources []iter.Source) iter.Source { return sources[0] }

// mergeSource is a merge as a source of another.
type mergeSource struct {
	below merged
	run   [1]iter.Run
	batch tablet.Batch // a view of one run, with codes of its own
}

// Seek is as in iter.Source.
func (s *mergeSource) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	return s.below.Seek(ctx, r, f)
}

// Next returns one run of the merge below.
func (s *mergeSource) Next(ctx context.Context) (*tablet.Batch, error) {
	n, err := s.below.Fill(ctx, s.run[:])
	if n == 0 || err != nil {
		return nil, err
	}
	r := &s.run[0]
	b := s.below.Batch(r.Src)
	codes := append(s.batch.Codes[:0], b.Codes[r.Lo:r.Hi]...)
	codes[0] = r.Code
	s.batch = tablet.Batch{Refs: b.Refs[r.Lo:r.Hi], Codes: codes, Arena: b.Arena, Raw: b.Raw, Facts: tablet.BatchFacts{Block: -1, Deletes: b.Facts.Deletes}}
	for _, code := range codes[1:] {
		s.batch.Facts.MaxCode = max(s.batch.Facts.MaxCode, code)
	}
	return &s.batch, nil
}

// Close closes the merge below.
func (s *mergeSource) Close() error { return s.below.Close() }

package vfs

import (
	"fmt"
	"hash"
	"hash/crc32"
	"hash/fnv"
	"math/rand/v2"
	"sync"
)

// Event is a numbered call.
type Event struct {
	// Number is 1 for the first call through the layer.
	Number uint64
	Call
	// Done is how many bytes were read or written; within a write, so far.
	Done int
	// Sum is the CRC32 (IEEE) of the bytes that a write was asked for.
	Sum uint32
	Err error
}

// Site is what kind of call it is.
func (e Event) Site() Site { return Site{e.Op, e.Class()} }

func (e Event) String() string {
	s := fmt.Sprintf("%d %v", e.Number, e.Call)
	if e.Op == OpWrite {
		s += fmt.Sprintf(" of sum %08x", e.Sum)
	}
	if e.Op == OpRead || e.Op == OpWrite {
		s += fmt.Sprintf(": %d done", e.Done)
	}
	if e.Err != nil {
		s += fmt.Sprintf(": %v", cause(e.Err))
	}
	return s
}

// TraceOptions are what a Trace tells of calls while they happen. Hooks run on the goroutine that calls, which waits;
// they may take images of a tree below, and must not call the traced FS.
type TraceOptions struct {
	// Before runs before a call has any effect, After when it is done.
	Before, After func(Event)
	// Within runs in the middle of each write of at least two bytes: some of the bytes, drawn from Seed and the number of
	// the call, were passed on as a write of their own, and the rest follows.
	Within func(Event)
	Seed   uint64
	// Keep keeps all events, for Events.
	Keep bool
}

// SiteCount is how often a kind of call was made.
type SiteCount struct {
	Site
	Calls  int
	Errors int
	// Bytes is what reads and writes did.
	Bytes int64
}

// TraceFS numbers and records the calls that it passes on. It is safe for concurrent use; events are recorded in the
// order in which calls end.
type TraceFS struct {
	layer
	opts TraceOptions

	mu     sync.Mutex
	last   uint64
	digest hash.Hash64
	counts map[Site]*SiteCount
	events []Event
}

// Trace wraps an FS.
func Trace(inner FS, opts TraceOptions) *TraceFS {
	t := &TraceFS{opts: opts, digest: fnv.New64a(), counts: map[Site]*SiteCount{}}
	t.layer = layer{inner: inner, around: t.pass}
	return t
}

// Last is the number of the last call that has begun; 0 before the first.
func (t *TraceFS) Last() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// Digest is a sum of all events so far: their numbers, names, sizes, written bytes and results.
func (t *TraceFS) Digest() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.digest.Sum64()
}

// Counts are the sites met so far, in order.
func (t *TraceFS) Counts() []SiteCount {
	t.mu.Lock()
	defer t.mu.Unlock()
	var counts []SiteCount
	for _, s := range sortedSites(t.counts) {
		counts = append(counts, *t.counts[s])
	}
	return counts
}

// Events are the events so far, when they are kept.
func (t *TraceFS) Events() []Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Event(nil), t.events...)
}

func (t *TraceFS) pass(p *passage) error {
	e := Event{Call: p.Call}
	t.mu.Lock()
	t.last++
	e.Number = t.last
	t.mu.Unlock()
	if p.Op == OpWrite {
		e.Sum = crc32.ChecksumIEEE(p.buf)
	}
	if t.opts.Before != nil {
		t.opts.Before(e)
	}
	if p.Op == OpWrite && t.opts.Within != nil && len(p.buf) >= 2 {
		e.Err = t.write(p, e)
	} else {
		e.Err = p.pass()
	}
	e.Done = p.n
	t.record(e)
	if t.opts.After != nil {
		t.opts.After(e)
	}
	return e.Err
}

// write passes a write on in two parts.
func (t *TraceFS) write(p *passage, e Event) error {
	part := 1 + rand.New(rand.NewPCG(t.opts.Seed, e.Number)).IntN(len(p.buf)-1)
	if err := p.passPart(p.buf[:part]); err != nil {
		return err
	}
	e.Done = p.n
	t.opts.Within(e)
	return p.passPart(p.buf[part:])
}

func (t *TraceFS) record(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintln(t.digest, e)
	c := t.counts[e.Site()]
	if c == nil {
		c = &SiteCount{Site: e.Site()}
		t.counts[e.Site()] = c
	}
	c.Calls++
	c.Bytes += int64(e.Done)
	if e.Err != nil {
		c.Errors++
	}
	if t.opts.Keep {
		t.events = append(t.events, e)
	}
}

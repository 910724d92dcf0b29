package rfile

import (
	"fmt"

	"millrace/internal/invariant"
	"millrace/tablet"
	"millrace/tablet/rfile/bcfile"
)

// Cursors is a free list of cursors with their buffers: a block read and decompressed, what was decoded of it, the nodes
// of the index. That is a few hundred kilobytes for each file that a short scan looks into, and most of what it costs to
// begin one. Like iter.Pool it belongs to one actor or goroutine, hence no locks; in flight there is no bound, at rest
// Trim sets one, and buffers that grew out of proportion do not stay.
//
// Source: CASSANDRA-15392, the intrusive stack of reusable iterators; trimming is ours.
type Cursors struct {
	head *Cursor
	idle int // in the list
	low  int // fewest in the list since the last Trim: so many were not needed
}

// longestKept bounds each buffer of a cursor at rest.
const longestKept = 256 << 10

// Get returns a cursor on one of a file's groups, as Reader.Cursor does; its Close puts it into the list. A nil Cursors
// makes one that is not kept.
func (p *Cursors) Get(r *Reader, g *Group, o CursorOptions) *Cursor {
	if p == nil {
		return r.Cursor(g, o)
	}
	c := p.head
	if c == nil {
		c = &Cursor{}
		c.begin(r, g, o, &bcfile.BlockReader{})
	} else {
		p.head, c.next = c.next, nil
		p.idle--
		p.low = min(p.low, p.idle)
		invariant.That(c.home == nil, "cursor in use was in the free list")
		c.begin(r, g, o, c.resting)
	}
	c.home, c.resting = p, nil
	return c
}

// put takes a cursor in that is being closed. It holds nothing then but memory.
func (p *Cursors) put(c *Cursor) {
	if c.data.ahead != nil {
		c.data.ahead.Close()
	}
	c.data.blocks.Rest()
	c.path.rest()
	clear(c.filter.names)
	*c = Cursor{
		path: c.path, resting: c.data.blocks, batch: keptBatch(&c.batch), bound: keptKey(c.bound),
		filter: familySet{names: c.filter.names[:0]}, dec: decoder{skim: c.dec.skim.rest()}, done: true, err: errResting, next: p.head,
	}
	p.head = c
	p.idle++
}

// errResting is of a cursor that was closed and is used all the same.
var errResting = fmt.Errorf("cursor of a file: %w", tablet.ErrClosed)

// keptBatch is a batch's memory, without what is in it.
func keptBatch(b *tablet.Batch) tablet.Batch {
	arena := b.Arena[:cap(b.Arena)]
	if invariant.Enabled {
		for i := range arena {
			arena[i] = 0xdb
		}
	}
	if cap(arena) > longestKept {
		arena = nil
	}
	return tablet.Batch{Refs: b.Refs[:0], Codes: b.Codes[:0], Arena: arena[:0]}
}

// keptKey returns a key that owns its bytes as a buffer to keep, unless it grew out of proportion.
func keptKey(k tablet.Key) tablet.Key {
	if cap(k.Data()) > longestKept {
		return tablet.Key{}
	}
	return k
}

// Trim lets go of cursors that were not needed at the busiest moment since the last Trim. Call it now and then.
func (p *Cursors) Trim() {
	for ; p.low > 0; p.low-- {
		c := p.head
		p.head, c.next = c.next, nil
		p.idle--
	}
	p.low = p.idle
}

// Idle is the number of cursors at rest.
func (p *Cursors) Idle() int { return p.idle }

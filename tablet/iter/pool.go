package iter

import (
	"errors"
	"math/bits"

	"millrace/internal/invariant"
	"millrace/tablet"
)

// Pool is a free list of merges. It belongs to one actor or goroutine, which gets and closes its merges; hence no locks
// and no atomics. In flight there is no bound; at rest, Trim sets one.
//
// Source: CASSANDRA-15392, the intrusive stack of reusable merge iterators; trimming is ours.
type Pool struct {
	free [poolClasses]freeList
}

// A merge is made for 1, 2, 4 … 65,536 sources, one free list for each. A rank has 16 bits.
const (
	poolClasses = 17
	maxSources  = 1<<16 - 1
)

type freeList struct {
	head *Merge
	idle int // in the list
	low  int // fewest in the list since the last Trim: so many were not needed
}

// NewPool returns an empty pool.
func NewPool() *Pool { return &Pool{} }

// Get returns a merge of sources, the newest first; the caller may reuse the slice. The merge closes the sources when
// it is closed. More than 65,535 of them are merged in groups. A nil Pool makes a new merge that is not kept.
func (p *Pool) Get(mode Mode, sources []Source) *Merge {
	if len(sources) > maxSources {
		sources = p.inGroups(mode, sources, maxSources)
	}
	class := poolClass(len(sources))
	m := p.take(class)
	if m == nil {
		m = newMerge(class)
		m.home = p
	}
	invariant.That(!m.open, "merge in use was in the free list")
	m.open, m.mode, m.verify = true, mode, invariant.Enabled
	m.handles++
	m.cursors = m.cursors[:len(sources)]
	for i, s := range sources {
		m.cursors[i].source = m.watched(i, s)
	}
	return m
}

// NewMerge is a merge outside any pool.
func NewMerge(mode Mode, sources []Source) *Merge { return (*Pool)(nil).Get(mode, sources) }

func newMerge(class int) *Merge {
	return &Merge{cursors: make([]cursor, 0, 1<<class), heap: make([]uint16, 0, 1<<class)}
}

func poolClass(sources int) int { return bits.Len(uint(max(sources, 1) - 1)) }

func (p *Pool) take(class int) *Merge {
	if p == nil {
		return nil
	}
	l := &p.free[class]
	m := l.head
	if m != nil {
		l.head, m.next = m.next, nil
		if l.idle--; l.idle < l.low {
			l.low = l.idle
		}
	}
	return m
}

func (p *Pool) put(m *Merge) {
	l := &p.free[bits.Len(uint(cap(m.cursors)-1))]
	l.idle++
	m.next, l.head = l.head, m
}

// Trim lets go of merges that were not needed at the busiest moment since the last Trim. Call it now and then, a minute
// apart say.
func (p *Pool) Trim() {
	for i := range p.free {
		l := &p.free[i]
		for ; l.low > 0; l.low-- {
			m := l.head
			l.head, m.next = m.next, nil
			l.idle--
		}
		l.low = l.idle
	}
}

// Idle is the number of merges at rest.
func (p *Pool) Idle() int {
	n := 0
	for i := range p.free {
		n += p.free[i].idle
	}
	return n
}

// Close closes all sources and gives the merge back. Everything it handed out is dead then. Close after Close does
// nothing; any other call after it fails, in checking builds by a panic.
func (m *Merge) Close() error {
	if !m.open {
		return nil
	}
	var err error
	for i := range m.cursors {
		source := m.cursors[i].source
		if source == nil { // closed before another one panicked
			continue
		}
		m.cursors[i].source = nil
		if e := source.Close(); e != nil {
			err = errors.Join(err, e)
		}
	}
	m.open = false
	if m.seeked || m.stack != nil {
		m.reset()
	}
	m.cursors = m.cursors[:0]
	if m.home != nil {
		m.home.put(m)
	}
	return err
}

// longestKept bounds the buffers that stay with a merge at rest.
const longestKept = 64 << 10

// reset lets go of everything that is not the merge's own, but for the sources, which are gone already. Beyond the cursors
// in use there is nothing: they were cleared when they were used. A merge that was never sought holds nothing else.
func (m *Merge) reset() {
	if m.stack != nil && m.stack.merge != nil {
		m.stack.reset()
	}
	if !m.seeked {
		return
	}
	clear(m.cursors)
	m.tree.letGo()
	if invariant.Enabled {
		m.poison()
	}
	m.heap = m.heap[:0]
	m.last = lastEntry{key: keptKey(m.last.key)}
	m.err, m.order, m.hasTop, m.seeked, m.stats = nil, nil, false, false, Stats{}
	m.ranges, m.wanted = tablet.Range{}, tablet.Families{}
}

// keptKey returns a key that owns its bytes as a buffer to keep, unless it grew out of proportion.
func keptKey(k tablet.Key) tablet.Key {
	if cap(k.Data()) > longestKept {
		return tablet.Key{}
	}
	return k
}

package iter

import (
	"millrace/internal/invariant"
	"millrace/tablet"
)

// poisonByte fills what nobody may read any more, in checking builds.
const poisonByte = 0xdb

// loan is a copy of a source's batch, in turns in two places, so that what was spoilt stays spoilt for a while.
type loan struct {
	batches [2]tablet.Batch
	at      int
}

// lent returns the batch to hand out for one that a source delivered: itself, but in checking builds a copy that is
// spoilt as soon as it is no longer valid, whatever the source does with its own.
func (m *Merge) lent(src uint16, b *tablet.Batch) *tablet.Batch {
	if !invariant.Enabled {
		return b
	}
	for len(m.loans) <= int(src) {
		m.loans = append(m.loans, &loan{})
	}
	l := m.loans[src]
	spoil(&l.batches[l.at])
	if b == nil {
		return nil
	}
	l.at = 1 - l.at
	copyBatch(&l.batches[l.at], b)
	return &l.batches[l.at]
}

// copyBatch copies a batch, and of Raw what the entries are in.
func copyBatch(c, b *tablet.Batch) {
	c.Refs, c.Codes, c.Arena = append(c.Refs[:0], b.Refs...), append(c.Codes[:0], b.Codes...), append(c.Arena[:0], b.Arena...)
	c.Facts = b.Facts
	from, to := b.Refs[0].At, b.Refs[len(b.Refs)-1].End
	c.Raw = append(c.Raw[:0], b.Raw[from:to]...)
	for i := range c.Refs {
		r := &c.Refs[i]
		r.At, r.ValueAt, r.End = r.At-from, r.ValueAt-from, r.End-from
	}
}

// spoil makes whoever still reads a batch see it.
func spoil(b *tablet.Batch) {
	poison(b.Arena)
	poison(b.Raw)
	clear(b.Codes)
}

func poison(b []byte) {
	for i := range b {
		b[i] = poisonByte
	}
}

// poison spoils what a merge handed out, and what it keeps while it is at rest.
func (m *Merge) poison() {
	for _, l := range m.loans {
		spoil(&l.batches[l.at])
	}
	poison(m.last.key.Data())
	for i := range m.tree.nodes {
		m.tree.nodes[i] = 0xdbdbdbdbdbdbdbdb
	}
	m.tree.bound = 0xdbdbdbdbdbdbdbdb
	heap := m.heap[:cap(m.heap)]
	for i := range heap {
		heap[i] = 0xdbdb
	}
}

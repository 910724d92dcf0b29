package iter

import (
	"encoding/binary"
	"math/bits"

	"millrace/tablet"
)

// enterAll puts all leaves at the start of their cursors' batches.
func (m *Merge) enterAll() {
	t, k := &m.tree, len(m.cursors)
	if cap(t.leaves) < k {
		t.leaves = make([]leaf, cap(m.cursors))
	}
	t.leaves = t.leaves[:k]
	for i := range t.leaves {
		m.enterBatch(uint16(i))
	}
}

// enterBatch puts a leaf at the start of its cursor's batch.
func (m *Merge) enterBatch(src uint16) {
	if b := m.cursors[src].batch; b != nil {
		m.tree.leaves[src] = leaf{codes: b.Codes, most: b.Facts.MaxCode}
	} else {
		m.tree.leaves[src] = leaf{}
	}
}

// endBatch ends a fill because a source's batch is used up.
func (m *Merge) endBatch(out []Run, n int, src uint16) int {
	m.spent = int(src)
	m.leftLast(out[:n])
	return n
}

// leftLast notes what left the merge.
func (m *Merge) leftLast(runs []Run) {
	entries := 0
	for i := range runs {
		entries += runs[i].Len()
	}
	m.stats.Entries += int64(entries)
	if len(runs) > 0 {
		r := &runs[len(runs)-1]
		m.last.any, m.last.copied, m.last.source, m.last.at = true, false, r.Src, r.Hi-1
	}
}

// compareTied compares the current entries of two sources whose codes are equal, and gives the larger one's code against
// the smaller.
func (m *Merge) compareTied(a, b uint16, code uint64) (c int, larger uint64) {
	if code == 0 { // both equal what left last
		return 0, 0
	}
	m.stats.Comparisons++
	t := &m.tree
	if code >= tablet.CodeSameRow {
		if c, larger, ok := compareRows(m.cursors[a].batch, m.cursors[b].batch, t.leaves[a].at, t.leaves[b].at, code); ok {
			return c, larger
		}
	}
	x, y := m.cursors[a].batch.Key(int(t.leaves[a].at)), m.cursors[b].batch.Key(int(t.leaves[b].at))
	return tablet.CompareTied(&x, &y, code)
}

// compareRows is tablet.CompareTied for codes in the row, if the eight bytes behind the code's chunk decide: no key is put
// together for that.
func compareRows(x, y *tablet.Batch, i, j uint32, code uint64) (c int, larger uint64, ok bool) {
	p, q := &x.Refs[i], &y.Refs[j]
	from := uint32(tablet.CodeShared(code)) + uint32(code>>8&7) // the chunk, or what the row has of it
	if from+8 > min(p.Ends.Row, q.Ends.Row) {
		return 0, 0, false
	}
	row, other := x.Arena[p.KeyAt:p.KeyAt+p.Ends.Row], y.Arena[q.KeyAt:q.KeyAt+q.Ends.Row]
	v, w := binary.BigEndian.Uint64(row[from:]), binary.BigEndian.Uint64(other[from:])
	if v == w {
		return 0, 0, false
	}
	shared := uint(from) + uint(bits.LeadingZeros64(v^w))/8
	if v < w {
		return -1, tablet.CodeInField(0, shared, other), true
	}
	return 1, tablet.CodeInField(0, shared, row), true
}

// letGo forgets the batches.
func (t *tree) letGo() { clear(t.leaves) }

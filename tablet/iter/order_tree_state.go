package iter

import "millrace/tablet"

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
	x, y := m.cursors[a].batch.Key(int(t.leaves[a].at)), m.cursors[b].batch.Key(int(t.leaves[b].at))
	return tablet.CompareTied(&x, &y, code)
}

// letGo forgets the batches.
func (t *tree) letGo() { clear(t.leaves) }

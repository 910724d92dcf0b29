package iter

import "millrace/tablet"

// The heap is a binary min-heap of ranks: the cursor with the smallest (key, rank) is at 0, the children of i are at
// 2i+1 and 2i+2. Entries are ranks and not pointers, so that moving them costs no write barrier.

// less orders two cursors by key, equal keys by rank.
func (m *Merge) less(a, b uint16) bool {
	m.stats.Comparisons++
	c := tablet.Compare(&m.cursors[a].key, &m.cursors[b].key)
	return c < 0 || c == 0 && a < b
}

// push adds a cursor.
func (m *Merge) push(x uint16) {
	m.stats.HeapOps++
	m.heap = append(m.heap, x)
	h := m.heap
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !m.less(x, h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = x
}

// pop takes the smallest out. The heap must not be empty.
func (m *Merge) pop() uint16 {
	m.stats.HeapOps++
	h := m.heap
	smallest, x := h[0], h[len(h)-1]
	m.heap = h[:len(h)-1]
	if len(m.heap) > 0 {
		m.sink(x)
	}
	return smallest
}

// exchange takes the smallest out and puts another in.
func (m *Merge) exchange(x uint16) uint16 {
	m.stats.HeapOps++
	smallest := m.heap[0]
	m.sink(x)
	return smallest
}

// sink puts a cursor in place of the smallest and lets it sink to where it belongs.
func (m *Merge) sink(x uint16) {
	h := m.heap
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && m.less(h[child+1], h[child]) {
			child++
		}
		if !m.less(h[child], x) {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = x
}

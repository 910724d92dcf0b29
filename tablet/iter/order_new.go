package iter

import "millrace/tablet"

// newOrder is the heap of ACCUMULO-2827: the current source, the top, is outside the heap and stays the top while its
// key comes before the heap's smallest. Unlike there, equal keys do not favour the top but the newer source.
type newOrder struct{}

func (newOrder) start(m *Merge) {
	m.heap, m.hasTop = m.heap[:0], false
	for i := range m.cursors {
		if m.cursors[i].batch != nil {
			m.push(uint16(i))
		}
	}
	m.popTop()
}

func (newOrder) fill(m *Merge, out []Run) (n int) {
	for m.hasTop {
		if n == len(out) && !continues(out, n, m.top) {
			return n
		}
		if len(m.heap) == 0 {
			return m.emitRest(out, n, m.top)
		}
		c := &m.cursors[m.top]
		lo, end := c.at, uint32(c.batch.Len())
		m.advance(c, end)
		n = m.emit(out, n, m.top, lo, c.at)
		if c.at == end {
			m.spent = int(m.top)
			return n
		}
		m.swapTop()
	}
	return n
}

// advance moves the top behind all its entries that come before the heap's smallest; the current one does.
func (m *Merge) advance(c *cursor, end uint32) {
	root := m.heap[0]
	bound := &m.cursors[root].key
	// A newer top comes first on equal keys: stay while Compare <= 0, else while Compare < 0.
	limit := 0
	if m.top < root {
		limit = 1
	}
	first := c.at + 1
	for at := first; at < end; at++ {
		k := c.batch.Key(int(at))
		if tablet.Compare(&k, bound) >= limit {
			c.at, c.key = at, k
			m.stats.Comparisons += int64(at-first) + 1
			return
		}
	}
	c.at = end
	m.stats.Comparisons += int64(end - first)
}

func (newOrder) refilled(m *Merge, src uint16) {
	switch {
	case m.cursors[src].batch == nil:
		m.popTop()
	case len(m.heap) > 0 && m.less(m.heap[0], src):
		m.swapTop()
	}
}

// swapTop makes the heap's smallest the top and puts the old top into the heap.
func (m *Merge) swapTop() {
	if m.mode == Swap {
		m.top = m.exchange(m.top)
		return
	}
	old := m.top
	m.top = m.pop()
	m.push(old)
}

// popTop makes the heap's smallest the top, if there is one.
func (m *Merge) popTop() {
	m.hasTop = len(m.heap) > 0
	if m.hasTop {
		m.top = m.pop()
	}
}

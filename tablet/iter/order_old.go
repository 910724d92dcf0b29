package iter

// oldOrder is the heap before ACCUMULO-2827: the current source is in the heap like all others, and every step takes it
// out, moves it and puts it back. Only a heap of one is spared that.
type oldOrder struct{}

func (oldOrder) start(m *Merge) {
	m.heap = m.heap[:0]
	for i := range m.cursors {
		if m.cursors[i].batch != nil {
			m.push(uint16(i))
		}
	}
}

func (oldOrder) fill(m *Merge, out []Run) (n int) {
	for len(m.heap) > 1 {
		src := m.heap[0]
		if n == len(out) && !continues(out, n, src) {
			return n
		}
		c := &m.cursors[src]
		n = m.emit(out, n, src, c.at, c.at+1)
		m.pop()
		c.at++
		if int(c.at) == c.batch.Len() {
			m.spent = int(src)
			return n
		}
		c.key = c.batch.Key(int(c.at))
		m.push(src)
	}
	if len(m.heap) == 0 {
		return n
	}
	src := m.heap[0]
	if n == len(out) && !continues(out, n, src) {
		return n
	}
	m.pop()
	return m.emitRest(out, n, src)
}

func (oldOrder) refilled(m *Merge, src uint16) {
	if m.cursors[src].batch != nil {
		m.push(src)
	}
}

// emitRest puts out all that is left of a source's batch.
func (m *Merge) emitRest(out []Run, n int, src uint16) int {
	c := &m.cursors[src]
	end := uint32(c.batch.Len())
	n = m.emit(out, n, src, c.at, end)
	c.at = end
	m.spent = int(src)
	return n
}

package locate

import "millrace/tablet"

// Overlapping returns the tablets [lo, hi) that can hold keys of a range. In a partial map it skips what is not known: the
// caller sees a gap by comparing neighbours.
func (m *Map) Overlapping(r tablet.Range) (lo, hi int) {
	if r.Empty() {
		return 0, 0
	}
	hi = len(m.extents)
	if start, ok := r.Start(); ok {
		row := start.Key.Row()
		lo = m.search(row, prefix(row))
	}
	if end, ok := r.End(); ok {
		hi = m.behind(end)
	}
	return lo, max(lo, hi)
}

// behind returns the index behind the last tablet that can hold a key up to the bound.
func (m *Map) behind(end tablet.Bound) int {
	row := end.Key.Row()
	if startsRow(end) {
		// Only rows before this one are meant. If it ends in a zero byte, the last of them is it without that byte: so are
		// inclusive end rows written.
		if n := len(row); n == 0 {
			return 0
		} else if row[n-1] == 0 {
			row = row[:n-1]
		}
	}
	i := m.search(row, prefix(row))
	if i < len(m.extents) && !m.startsBehind(i, row) {
		i++
	}
	return i
}

// startsRow says whether a bound takes nothing of its key's row.
func startsRow(end tablet.Bound) bool {
	k := end.Key
	return !end.Inclusive && k.Size() == len(k.Row()) && k.Timestamp() == tablet.MaxTimestamp && !k.Deleted()
}

func (m *Map) startsBehind(i int, row []byte) bool {
	_, ok := m.check(i, row)
	return !ok
}

package locate

// Sorted rows need no search each: most lie in the tablet of the row before, which a look at eight bytes tells, and of the
// others most are a few tablets on.

// Prefix is the first eight bytes of a row as a number, zero-padded: where two rows' prefixes differ, the rows differ the
// same way.
func Prefix(row []byte) uint64 { return prefix(row) }

// EndPrefix is the Prefix of the i-th tablet's end row: a row whose prefix is lower lies before that end. The last tablet
// of a table has the highest number.
func (m *Map) EndPrefix(i int) uint64 { return m.ends[i] }

// FindPrefix is FindFrom for those who have a row's Prefix at hand and the row elsewhere. It is not ok when the prefix does
// not say it all: it is alike that of the tablet's end row, or there are gaps.
func (m *Map) FindPrefix(p uint64, from int) (i int, ok bool) {
	lo, step := from, 1
	for lo < len(m.ends) && m.ends[lo] < p {
		next := lo + step
		if next >= len(m.ends) || m.ends[next] >= p {
			lo++
			for hi := min(next, len(m.ends)); lo < hi; {
				if mid := int(uint(lo+hi) >> 1); m.ends[mid] < p {
					lo = mid + 1
				} else {
					hi = mid
				}
			}
			break
		}
		lo, step = next, 2*step
	}
	return lo, m.whole && lo < len(m.ends) && m.ends[lo] > p
}

// FindFrom is Find for a row that is known not to lie before tablet from: it looks at from, then ever further on, so that
// the cost grows with the distance alone. p is the row's Prefix.
func (m *Map) FindFrom(row []byte, p uint64, from int) (i int, ok bool) {
	lo, step := from, 1
	for lo < len(m.ends) && m.endsBefore(lo, row, p) {
		next := lo + step
		if next >= len(m.ends) || !m.endsBefore(next, row, p) {
			return m.check(m.between(lo+1, min(next, len(m.ends)), row, p), row)
		}
		lo, step = next, 2*step
	}
	return m.check(lo, row)
}

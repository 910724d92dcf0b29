package locate

import "encoding/binary"

// Sorted rows need no search each: most lie in the tablet of the row before, which a look at their first bytes tells, and of
// the others most are a few tablets on.

// Prefix is the first sixteen bytes of a row as two numbers, zero-padded: where two rows' prefixes differ, the rows differ the
// same way. Most rows are not much longer, so that it mostly stands for the row.
type Prefix struct{ First, Second uint64 }

// PrefixOf is a row's Prefix.
func PrefixOf(row []byte) Prefix {
	if len(row) >= 16 {
		return Prefix{First: binary.BigEndian.Uint64(row), Second: binary.BigEndian.Uint64(row[8:])}
	}
	if len(row) > 8 {
		return Prefix{First: binary.BigEndian.Uint64(row), Second: prefix(row[8:])}
	}
	return Prefix{First: prefix(row)}
}

// Before orders prefixes.
func (p Prefix) Before(q Prefix) bool {
	return p.First < q.First || p.First == q.First && p.Second < q.Second
}

// EndPrefix is the Prefix of the i-th tablet's end row: a row whose prefix is before it lies before that end. The last tablet
// of a table has the highest there is.
func (m *Map) EndPrefix(i int) Prefix { return Prefix{First: m.ends[i], Second: m.seconds[i]} }

// FindPrefix is FindFrom for those who have a row's Prefix at hand and the row elsewhere. It is not ok when the prefix does
// not say it all: it is alike that of the tablet's end row, or there are gaps.
func (m *Map) FindPrefix(p Prefix, from int) (i int, ok bool) {
	lo, step := from, 1
	for lo < len(m.ends) && m.endPrefixBefore(lo, p) {
		next := lo + step
		if next >= len(m.ends) || !m.endPrefixBefore(next, p) {
			lo++
			for hi := min(next, len(m.ends)); lo < hi; {
				if mid := int(uint(lo+hi) >> 1); m.endPrefixBefore(mid, p) {
					lo = mid + 1
				} else {
					hi = mid
				}
			}
			break
		}
		lo, step = next, 2*step
	}
	return lo, m.whole && lo < len(m.ends) && p.Before(m.EndPrefix(lo))
}

func (m *Map) endPrefixBefore(i int, p Prefix) bool {
	if first := m.ends[i]; first != p.First {
		return first < p.First
	}
	return m.seconds[i] < p.Second
}

// FindFrom is Find for a row that is known not to lie before tablet from: it looks at from, then ever further on, so that
// the cost grows with the distance alone.
func (m *Map) FindFrom(row []byte, from int) (i int, ok bool) {
	p := prefix(row)
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

package locate

import (
	"bytes"
	"fmt"
	"slices"

	"millrace/tablet"
)

// Split cuts the tablet that holds the row into (prev, row] and (row, end], and returns the next version of the map. A
// row that ends a tablet already, or lies in none, is an ErrUsage.
func (m *Map) Split(row []byte) (*Map, error) {
	i, ok := m.Find(row)
	if !ok {
		return nil, fmt.Errorf("locate: split at %q: no tablet holds it: %w", row, tablet.ErrUsage)
	}
	whole := m.extents[i]
	if whole.EndRow != nil && bytes.Equal(whole.EndRow, row) {
		return nil, fmt.Errorf("locate: split at %q: tablet %v ends there already: %w", row, whole, tablet.ErrUsage)
	}
	low, high := whole, whole
	low.EndRow = append([]byte{}, row...) // never nil, which would be no bound at all
	high.PrevEndRow = low.EndRow
	return m.replace(i, i+1, low, high), nil
}

// Merge joins the tablets [lo, hi) into one, and returns the next version of the map. Tablets with a gap between them
// cannot be joined.
func (m *Map) Merge(lo, hi int) (*Map, error) {
	if lo < 0 || hi > len(m.extents) || hi-lo < 1 {
		return nil, fmt.Errorf("locate: merge of tablets %d to %d, there are %d: %w", lo, hi, len(m.extents), tablet.ErrUsage)
	}
	for i := lo + 1; i < hi; i++ {
		if before, e := m.extents[i-1], m.extents[i]; !bytes.Equal(before.EndRow, e.PrevEndRow) {
			return nil, fmt.Errorf("locate: merge over the gap between %v and %v: %w", before, e, tablet.ErrUsage)
		}
	}
	whole := m.extents[lo]
	whole.EndRow = m.extents[hi-1].EndRow
	return m.replace(lo, hi, whole), nil
}

func (m *Map) replace(lo, hi int, with ...tablet.Extent) *Map {
	n := &Map{version: m.version + 1, whole: m.whole, extents: slices.Concat(m.extents[:lo], with, m.extents[hi:])}
	n.setEnds()
	return n
}

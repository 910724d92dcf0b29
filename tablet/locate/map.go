package locate

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"millrace/tablet"
)

// Map is a sorted list of extents of one table that do not overlap. It is immutable and safe for concurrent use.
type Map struct {
	version uint64
	extents []tablet.Extent
	// ends are the first eight bytes of each end row, zero-padded, big-endian: enough for most comparisons, and close
	// together in memory. The last tablet's, which has no end row, is the highest number.
	ends []uint64
	// seconds are the eight bytes of each end row behind those, for whoever walks over rows in order.
	seconds []uint64
	// whole says that there are no gaps.
	whole bool
}

// New makes the map of a whole table. The extents must form one chain: the first begins at the first row, each begins
// where the one before ends, the last ends with the last row. They may come in any order; the slice is kept and sorted.
func New(version uint64, extents []tablet.Extent) (*Map, error) {
	m, err := NewPartial(version, extents)
	if err != nil {
		return nil, err
	}
	if err := m.checkChain(); err != nil {
		return nil, err
	}
	m.whole = true
	return m, nil
}

// NewPartial makes a map of the tablets that are known: there may be gaps, but no overlaps.
func NewPartial(version uint64, extents []tablet.Extent) (*Map, error) {
	slices.SortFunc(extents, tablet.CompareExtents)
	m := &Map{version: version, extents: extents}
	m.setEnds()
	for i, e := range extents {
		if e.PrevEndRow != nil && e.EndRow != nil && bytes.Compare(e.PrevEndRow, e.EndRow) >= 0 {
			return nil, fmt.Errorf("locate: tablet %v ends before it begins: %w", e, tablet.ErrUsage)
		}
		if i == 0 {
			continue
		}
		if before := extents[i-1]; before.Table != e.Table {
			return nil, fmt.Errorf("locate: tablets of two tables, %v and %v: %w", before, e, tablet.ErrUsage)
		} else if before.EndRow == nil || e.PrevEndRow == nil || bytes.Compare(before.EndRow, e.PrevEndRow) > 0 {
			return nil, fmt.Errorf("locate: tablets %v and %v overlap: %w", before, e, tablet.ErrUsage)
		}
	}
	return m, nil
}

func (m *Map) checkChain() error {
	if len(m.extents) == 0 {
		return fmt.Errorf("locate: a table without tablets: %w", tablet.ErrUsage)
	}
	if first := m.extents[0]; first.PrevEndRow != nil {
		return fmt.Errorf("locate: no tablet before %v: %w", first, tablet.ErrUsage)
	}
	if last := m.extents[len(m.extents)-1]; last.EndRow != nil {
		return fmt.Errorf("locate: no tablet behind %v: %w", last, tablet.ErrUsage)
	}
	for i := 1; i < len(m.extents); i++ {
		if before, e := m.extents[i-1], m.extents[i]; !bytes.Equal(before.EndRow, e.PrevEndRow) {
			return fmt.Errorf("locate: gap between tablets %v and %v: %w", before, e, tablet.ErrUsage)
		}
	}
	return nil
}

// FromSplits makes the map of a table cut at the given rows, in any order, duplicates ignored. Without rows it is one
// tablet.
func FromSplits(version uint64, table string, splits [][]byte) *Map {
	rows := slices.Clone(splits)
	slices.SortFunc(rows, bytes.Compare)
	rows = slices.CompactFunc(rows, bytes.Equal)
	extents := make([]tablet.Extent, 0, len(rows)+1)
	var prev []byte
	for _, row := range rows {
		row = append([]byte{}, row...) // never nil, which would be no bound at all
		extents = append(extents, tablet.Extent{Table: table, PrevEndRow: prev, EndRow: row})
		prev = row
	}
	extents = append(extents, tablet.Extent{Table: table, PrevEndRow: prev})
	m, err := New(version, extents)
	if err != nil {
		panic(err) // sorted distinct rows always form a chain
	}
	return m
}

// Version grows with each change of the table's tablets.
func (m *Map) Version() uint64 { return m.version }

// Len is the number of tablets.
func (m *Map) Len() int { return len(m.extents) }

// Extent is the i-th tablet's. Its rows must not be changed.
func (m *Map) Extent(i int) tablet.Extent { return m.extents[i] }

// Extents are all tablets, sorted. The slice must not be changed.
func (m *Map) Extents() []tablet.Extent { return m.extents }

// Find returns the index of the tablet that holds a row; ok is false if the map has none.
func (m *Map) Find(row []byte) (i int, ok bool) {
	return m.check(m.search(row, prefix(row)), row)
}

// FindNear is Find with a guess: the tablet at index near and the one behind it are tried first. Any near will do.
func (m *Map) FindNear(row []byte, near int) (i int, ok bool) {
	for _, i := range [2]int{near, near + 1} {
		if i >= 0 && i < len(m.extents) && m.extents[i].Contains(row) {
			return i, true
		}
	}
	return m.Find(row)
}

// check says whether the tablet that ends at or behind the row begins before it.
func (m *Map) check(i int, row []byte) (int, bool) {
	if i == len(m.extents) {
		return i, false
	}
	prev := m.extents[i].PrevEndRow
	return i, prev == nil || bytes.Compare(prev, row) < 0
}

// search returns the first tablet whose end row is at or behind the row, Len if there is none.
func (m *Map) search(row []byte, p uint64) int { return m.between(0, len(m.ends), row, p) }

// between is search among the tablets [lo, hi), when it is hi unless it is one of them.
func (m *Map) between(lo, hi int, row []byte, p uint64) int {
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if m.endsBefore(mid, row, p) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

func (m *Map) endsBefore(i int, row []byte, p uint64) bool {
	if m.ends[i] != p {
		return m.ends[i] < p
	}
	end := m.extents[i].EndRow
	return end != nil && bytes.Compare(end, row) < 0
}

func (m *Map) setEnds() {
	m.ends, m.seconds = make([]uint64, len(m.extents)), make([]uint64, len(m.extents))
	for i, e := range m.extents {
		p := Prefix{First: ^uint64(0), Second: ^uint64(0)}
		if e.EndRow != nil {
			p = PrefixOf(e.EndRow)
		}
		m.ends[i], m.seconds[i] = p.First, p.Second
	}
}

// prefix keeps the order of rows: where two prefixes differ, the rows differ the same way.
func prefix(row []byte) uint64 {
	if len(row) >= 8 {
		return binary.BigEndian.Uint64(row)
	}
	var b [8]byte
	copy(b[:], row)
	return binary.BigEndian.Uint64(b[:])
}

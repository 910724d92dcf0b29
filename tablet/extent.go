package tablet

import (
	"bytes"
	"strings"
)

// Extent names a tablet: the rows r of a table with PrevEndRow < r <= EndRow. A nil bound is infinite.
type Extent struct {
	Table      string
	PrevEndRow []byte
	EndRow     []byte
}

// Contains says whether the extent holds a row.
func (e Extent) Contains(row []byte) bool {
	return (e.PrevEndRow == nil || bytes.Compare(row, e.PrevEndRow) > 0) &&
		(e.EndRow == nil || bytes.Compare(row, e.EndRow) <= 0)
}

// DataRange is the range of all keys that the extent holds.
func (e Extent) DataRange() Range {
	return RowRange(RowBounds{Start: e.PrevEndRow, StartExclusive: true, End: e.EndRow})
}

// CompareExtents orders by table, then end row with none last, then previous end row with none first.
func CompareExtents(a, b Extent) int {
	if c := strings.Compare(a.Table, b.Table); c != 0 {
		return c
	}
	switch {
	case a.EndRow == nil && b.EndRow != nil:
		return 1
	case a.EndRow != nil && b.EndRow == nil:
		return -1
	}
	if c := bytes.Compare(a.EndRow, b.EndRow); c != 0 {
		return c
	}
	switch {
	case a.PrevEndRow == nil && b.PrevEndRow != nil:
		return -1
	case a.PrevEndRow != nil && b.PrevEndRow == nil:
		return 1
	}
	return bytes.Compare(a.PrevEndRow, b.PrevEndRow)
}

// String prints the extent as table;(prev,end] with rows quoted where they need it.
func (e Extent) String() string {
	b := append([]byte(e.Table), ";("...)
	b = appendBound(b, e.PrevEndRow, "-∞")
	b = append(b, ',')
	b = appendBound(b, e.EndRow, "+∞")
	return string(append(b, ']'))
}

func appendBound(dst, row []byte, infinite string) []byte {
	if row == nil {
		return append(dst, infinite...)
	}
	return appendQuoted(dst, row)
}

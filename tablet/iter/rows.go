package iter

import (
	"bytes"

	"millrace/tablet"
)

// rowStart is the smallest key of a row: a delete marker of the greatest timestamp. It borrows the row's bytes.
func rowStart(row []byte) tablet.Key {
	k := tablet.RowKey(row)
	return cellStart(&k)
}

// afterRow is the smallest key behind all keys of a row.
func afterRow(row []byte) tablet.Key {
	next := make([]byte, len(row)+1)
	copy(next, row)
	return rowStart(next)
}

// fromRowStart widens a range to the start of the row that it starts in.
func fromRowStart(r tablet.Range) tablet.Range {
	start, ok := r.Start()
	if !ok || r.Empty() {
		return r
	}
	return r.WithStart(rowStart(start.Key.Row()))
}

// inRow says whether an iterator stands in a row.
func inRow(it Iterator, row []byte) bool {
	top, ok := it.Top()
	return ok && bytes.Equal(top.Key.Row(), row)
}

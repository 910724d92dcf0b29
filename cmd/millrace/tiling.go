package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"sort"

	"millrace/tablet"
)

// tiling is all rows, cut into pieces that follow one another: the tablets of a table, or extents and the gaps between
// them.
type tiling []tile

type tile struct {
	tablet.Extent
	gap bool // rows of no extent
}

// tilingOf cuts at the split rows given, which are in any order and may repeat.
func tilingOf(splits [][]byte) tiling {
	splits = slices.Clone(splits)
	slices.SortFunc(splits, bytes.Compare)
	splits = slices.CompactFunc(splits, bytes.Equal)
	var t tiling
	var prev []byte
	for _, row := range splits {
		t = append(t, tile{Extent: tablet.Extent{PrevEndRow: prev, EndRow: row}})
		prev = row
	}
	return append(t, tile{Extent: tablet.Extent{PrevEndRow: prev}})
}

// tilingOfExtents puts gaps between extents. Two that overlap are an error.
func tilingOfExtents(extents []tablet.Extent) (tiling, error) {
	extents = slices.Clone(extents)
	slices.SortFunc(extents, tablet.CompareExtents)
	var t tiling
	var end []byte // of what is tiled
	for i, e := range extents {
		if i > 0 && (end == nil || e.PrevEndRow == nil || bytes.Compare(e.PrevEndRow, end) < 0) {
			return nil, usagef("extents %s and %s overlap", showExtent(extents[i-1]), showExtent(e))
		}
		if e.PrevEndRow != nil && !bytes.Equal(e.PrevEndRow, end) {
			t = append(t, tile{Extent: tablet.Extent{PrevEndRow: end, EndRow: e.PrevEndRow}, gap: true})
		}
		t = append(t, tile{Extent: e})
		end = e.EndRow
	}
	if end != nil {
		t = append(t, tile{Extent: tablet.Extent{PrevEndRow: end}, gap: true})
	}
	return t, nil
}

// find is the number of the piece that holds a row.
func (t tiling) find(row []byte) int {
	return sort.Search(len(t)-1, func(i int) bool { return bytes.Compare(row, t[i].EndRow) <= 0 })
}

// rowsOf is the range of all keys of an extent. It differs from the extent's DataRange in one key: a delete marker of the
// greatest timestamp, of a row that ends in a zero byte and a column of no name, is not taken for one of the row before.
func rowsOf(e tablet.Extent) tablet.Range {
	var start, end *tablet.Bound
	if e.PrevEndRow != nil {
		start = &tablet.Bound{Key: firstKeyAfter(e.PrevEndRow), Inclusive: true}
	}
	if e.EndRow != nil {
		end = &tablet.Bound{Key: firstKeyAfter(e.EndRow)}
	}
	r, err := tablet.NewRange(start, end)
	if err != nil {
		panic(err) // an extent's rows ascend
	}
	return r
}

// firstKeyAfter is the least key of the least row behind another.
func firstKeyAfter(row []byte) tablet.Key {
	return tablet.NewKey(tablet.Fields{Row: append(bytes.Clone(row), 0), Timestamp: math.MaxInt64, Deleted: true})
}

// showExtent is an extent for the eye: (prev,end], infinite where nothing is.
func showExtent(e tablet.Extent) string {
	bound := func(row []byte, infinite string) string {
		if row == nil {
			return infinite
		}
		return shortRow(row)
	}
	return fmt.Sprintf("(%s,%s]", bound(e.PrevEndRow, "-inf"), bound(e.EndRow, "+inf"))
}

// shortRow is a row for an overview, with everything escaped that could be taken for something else.
func shortRow(row []byte) string {
	if len(row) == 0 {
		return `""`
	}
	if len(row) > longestField {
		return shortText(row)
	}
	return string(appendText(nil, row, escapeBlank|escapeList))
}

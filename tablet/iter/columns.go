package iter

import (
	"bytes"
	"slices"

	"millrace/tablet"
)

// Column is a family fetched as a whole, or one qualifier of it.
type Column struct {
	Family    []byte
	Qualifier []byte
	// Whole says that all qualifiers are wanted; Qualifier does not count then.
	Whole bool
}

// Columns are the columns that a scan fetched. The zero value wants everything.
type Columns struct {
	whole [][]byte // families fetched as a whole, sorted
	pairs []Column // single columns, sorted
}

// FetchColumns wants the given columns and no other; without any, everything. It keeps the names.
func FetchColumns(columns ...Column) Columns {
	var c Columns
	for _, col := range columns {
		if col.Whole {
			c.whole = append(c.whole, col.Family)
		} else {
			c.pairs = append(c.pairs, col)
		}
	}
	slices.SortFunc(c.whole, bytes.Compare)
	slices.SortFunc(c.pairs, compareColumns)
	return c
}

func compareColumns(a, b Column) int {
	if c := bytes.Compare(a.Family, b.Family); c != 0 {
		return c
	}
	return bytes.Compare(a.Qualifier, b.Qualifier)
}

// everything says whether all columns are wanted.
func (c Columns) everything() bool { return len(c.whole) == 0 && len(c.pairs) == 0 }

// Families are the families to seek with.
func (c Columns) Families() tablet.Families {
	if c.everything() {
		return tablet.Families{}
	}
	names := slices.Clone(c.whole)
	for _, p := range c.pairs {
		names = append(names, p.Family)
	}
	return tablet.OnlyFamilies(names...)
}

// filters says whether there is more to do than Families does.
func (c Columns) filters() bool { return len(c.pairs) > 0 }

// accepts says whether a column was fetched.
func (c Columns) accepts(family, qualifier []byte) bool {
	if _, found := slices.BinarySearchFunc(c.whole, family, bytes.Compare); found {
		return true
	}
	_, found := slices.BinarySearchFunc(c.pairs, Column{Family: family, Qualifier: qualifier}, compareColumns)
	return found
}

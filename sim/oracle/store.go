package oracle

import (
	"bytes"
	"slices"

	"millrace/tablet"
)

// Store holds entries in key order; of fully equal keys the one written later comes first.
type Store struct {
	entries []tablet.Entry
}

// Insert adds one entry, which is copied. It is written later than all before.
func (s *Store) Insert(e tablet.Entry) {
	e = e.Clone()
	// The first entry that is not smaller: so e comes before its equals, which were written earlier.
	at, _ := slices.BinarySearchFunc(s.entries, e, func(a, b tablet.Entry) int { return tablet.Compare(&a.Key, &b.Key) })
	s.entries = slices.Insert(s.entries, at, e)
}

// Apply adds a mutation's updates in order. Those without a timestamp get ts.
func (s *Store) Apply(m *tablet.Mutation, ts int64) {
	for u := range m.All() {
		f := tablet.Fields{Row: m.Row(), Family: u.Family, Qualifier: u.Qualifier, Visibility: u.Visibility, Timestamp: ts, Deleted: u.Deleted}
		if u.HasTimestamp {
			f.Timestamp = u.Timestamp
		}
		s.Insert(tablet.Entry{Key: tablet.NewKey(f), Value: u.Value})
	}
}

// All are the entries as they were written, markers and hidden ones included. The slice must not be changed.
func (s *Store) All() []tablet.Entry { return s.entries }

// Column names a family, or with a qualifier one column of it.
type Column struct {
	Family    []byte
	Qualifier []byte // nil for all of the family
}

// Query is what a scan asks for. The zero value is everything that is not deleted.
type Query struct {
	Range       tablet.Range
	Families    tablet.Families
	Columns     []Column                // none: all
	Visible     func(label []byte) bool // nil: every label
	MaxVersions int                     // newest versions of each cell; 0: all
}

// Scan answers a query, in key order. Deletes and versions are settled before the range cuts: a range that begins below a
// marker or a newer version changes neither.
func (s *Store) Scan(q Query) (found []tablet.Entry) {
	for _, cell := range s.cells() {
		k := &cell[0].Key
		if !q.Families.Accepts(k.Family()) || !q.wantsColumn(k) || q.Visible != nil && !q.Visible(k.Visibility()) {
			continue
		}
		for _, e := range newest(undeleted(cell), q.MaxVersions) {
			if q.Range.Contains(&e.Key) {
				found = append(found, e)
			}
		}
	}
	return found
}

// Compact is a full compaction that keeps so many versions of each cell, 0 for all. No delete marker is left, so that
// entries written afterwards with old timestamps are seen.
func (s *Store) Compact(maxVersions int) {
	var kept []tablet.Entry
	for _, cell := range s.cells() {
		kept = append(kept, newest(undeleted(cell), maxVersions)...)
	}
	s.entries = kept
}

// cells cuts the entries into stretches that differ in nothing but timestamp and marker.
func (s *Store) cells() (cells [][]tablet.Entry) {
	for i := 0; i < len(s.entries); {
		end := i + 1
		for end < len(s.entries) && tablet.SameCell(&s.entries[i].Key, &s.entries[end].Key) {
			end++
		}
		cells = append(cells, s.entries[i:end])
		i = end
	}
	return cells
}

// undeleted are a cell's entries that no marker of their own timestamp or a later one hides, whenever it was written.
func undeleted(cell []tablet.Entry) (left []tablet.Entry) {
	for _, e := range cell {
		hidden := slices.ContainsFunc(cell, func(marker tablet.Entry) bool {
			return marker.Key.Deleted() && marker.Key.Timestamp() >= e.Key.Timestamp()
		})
		if !hidden {
			left = append(left, e)
		}
	}
	return left
}

// newest is the first n entries of a cell, as newer ones come first; all for 0.
func newest(cell []tablet.Entry, n int) []tablet.Entry {
	if n == 0 || n > len(cell) {
		return cell
	}
	return cell[:n]
}

func (q *Query) wantsColumn(k *tablet.Key) bool {
	return len(q.Columns) == 0 || slices.ContainsFunc(q.Columns, func(c Column) bool {
		return bytes.Equal(c.Family, k.Family()) && (c.Qualifier == nil || bytes.Equal(c.Qualifier, k.Qualifier()))
	})
}

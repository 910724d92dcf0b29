package manifest

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"strings"

	"millrace/tablet"
)

// State is all that the manifest knows at one moment. It is immutable, safe for concurrent use, and cheap to keep: the
// states before and after an edit share nearly everything. Nothing that its methods return may be changed.
type State struct {
	nextNumber uint64
	nextLSN    uint64
	opened     uint64
	tables     []*Table // by name
	tablets    chunked[*Tablet]
	files      chunked[use]
}

// Table is a table in a State.
type Table struct {
	Name string
	ID   uint64 // from the store's counter, never reused
	// Properties are those that were set, as they were given.
	Properties map[string]string
	order      chunked[slot] // by end row
}

// slot is a tablet's place in its table.
type slot struct {
	endRow []byte // nil for the last
	number uint64
}

// Tablet is a tablet in a State.
type Tablet struct {
	Number uint64 // from the store's counter, never reused; the log knows the tablet by it
	Extent tablet.Extent
	// Time is the largest timestamp handed out when the last flush was recorded.
	Time int64
	// Session is the greatest one of which all entries are in files, along with those of all before; 0 for none.
	Session uint64
	// NextAge is above the ages of all files that the tablet ever had.
	NextAge uint64
	// Files, newest first. The ages of two that can hold equal keys do not overlap.
	Files []FileRef
}

// FileRef is a tablet's claim on a file. After a split two tablets may name one file.
type FileRef struct {
	tablet.FileMeta
	// Fence bounds the rows that the tablet may see, besides its extent.
	Fence Fence
}

// Fence is the rows r with After < r <= Last. A nil bound is infinite, so the zero value is no fence.
type Fence struct{ After, Last []byte }

// use is a file and how many tablets name it.
type use struct {
	file    *FileRef // one of the claims
	tablets int
}

var empty State

// Empty is the state of a store that was never used.
func Empty() *State { return &empty }

// NextNumber is above all numbers in the state and all that it ever knew.
func (s *State) NextNumber() uint64 { return max(s.nextNumber, 1) }

// NextLSN is above all log sequence numbers that Advance told of.
func (s *State) NextLSN() uint64 { return max(s.nextLSN, 1) }

// Tables yields the tables by name.
func (s *State) Tables() iter.Seq[*Table] { return slices.Values(s.tables) }

// Table returns a table by name, nil if there is none.
func (s *State) Table(name string) *Table {
	if i, ok := s.findTable(name); ok {
		return s.tables[i]
	}
	return nil
}

func (s *State) findTable(name string) (int, bool) {
	return slices.BinarySearchFunc(s.tables, name, func(t *Table, name string) int { return strings.Compare(t.Name, name) })
}

// Tablets yields the tablets of a table of this state in the order of their extents.
func (s *State) Tablets(t *Table) iter.Seq[*Tablet] {
	return func(yield func(*Tablet) bool) {
		for slot := range t.order.all() {
			if !yield(s.Tablet(slot.number)) {
				return
			}
		}
	}
}

// Tablet returns a tablet by number, nil if there is none.
func (s *State) Tablet(number uint64) *Tablet {
	if p, ok := s.findTablet(number); ok {
		return s.tablets.get(p)
	}
	return nil
}

func (s *State) findTablet(number uint64) (place, bool) {
	return s.tablets.find(func(t *Tablet) int { return cmp.Compare(t.Number, number) })
}

// TabletCount is how many tablets all tables have.
func (s *State) TabletCount() int { return s.tablets.items }

// Named returns what the state says of a file, nil if no tablet names it. Ages and fence are those of one of the tablets.
func (s *State) Named(file uint64) *FileRef {
	if p, ok := s.findFile(file); ok {
		return s.files.get(p).file
	}
	return nil
}

func (s *State) findFile(number uint64) (place, bool) {
	return s.files.find(func(u use) int { return cmp.Compare(u.file.Number, number) })
}

// Files yields every file that some tablet names, once, by number.
func (s *State) Files() iter.Seq[*FileRef] {
	return func(yield func(*FileRef) bool) {
		for u := range s.files.all() {
			if !yield(u.file) {
				return
			}
		}
	}
}

// FileCount is how many files Files yields.
func (s *State) FileCount() int { return s.files.items }

// TabletCount is how many tablets the table has.
func (t *Table) TabletCount() int { return t.order.items }

// findSlot returns the place of the tablet with an end row, or of the first one behind it.
func (t *Table) findSlot(endRow []byte) (place, bool) {
	return t.order.find(func(s slot) int { return compareEnds(s.endRow, endRow) })
}

// compareEnds orders end rows, none last.
func compareEnds(a, b []byte) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return bytes.Compare(a, b)
}

// File returns the tablet's claim on a file, nil if it has none.
func (t *Tablet) File(number uint64) *FileRef {
	for i := range t.Files {
		if t.Files[i].Number == number {
			return &t.Files[i]
		}
	}
	return nil
}

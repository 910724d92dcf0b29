package memtable

import (
	"millrace/tablet"
)

// Snapshot is a table at one moment. It is immutable and may be read by any number of goroutines.
type Snapshot struct {
	tree   tree
	chunks chunks
	common common
	facts  Facts
}

// Facts says what the snapshot holds. Its rows are views of the snapshot.
func (s *Snapshot) Facts() Facts { return s.facts }

// Entries is the number of entries.
func (s *Snapshot) Entries() int64 { return s.facts.Entries }

// Bytes is the size estimate.
func (s *Snapshot) Bytes() int64 { return s.facts.Bytes }

// bound notes the first row and the last.
func (s *Snapshot) bound() {
	if s.facts.Entries == 0 {
		return
	}
	first, last := s.tree.ends()
	s.facts.FirstRow, s.facts.LastRow = s.chunks.at(first.ref).row(), s.chunks.at(last.ref).row()
}

// All calls yield with every entry in order, views of the snapshot, until yield returns false. It is for tests and small
// tables; what has to be fast reads a Source.
func (s *Snapshot) All(yield func(tablet.Entry) bool) {
	s.tree.Ascend(func(it item) bool {
		for _, slot := range it.leaf.slots {
			rec := s.chunks.at(slot.ref)
			if !yield(tablet.Entry{Key: rec.key(), Value: rec.value()}) {
				return false
			}
		}
		return true
	})
}

// Source returns a new reader of the snapshot, not yet seeked. It belongs to one goroutine.
func (s *Snapshot) Source() *Source {
	src := &Source{snap: s, done: true}
	src.note = src.noteLeaf
	return src
}

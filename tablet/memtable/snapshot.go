package memtable

import (
	"millrace/tablet"
)

// Snapshot is a table at one moment. It is immutable and may be read by any number of goroutines.
type Snapshot struct {
	tree   *tree
	chunks chunks
	facts  Facts
}

// Facts says what the snapshot holds. Its rows are views of the snapshot.
func (s *Snapshot) Facts() Facts { return s.facts }

// Entries is the number of entries.
func (s *Snapshot) Entries() int64 { return s.facts.Entries }

// Bytes is the size estimate.
func (s *Snapshot) Bytes() int64 { return s.facts.Bytes }

// bound notes the first row and the last. No leaf of a table with entries is empty.
func (s *Snapshot) bound() {
	if s.facts.Entries == 0 {
		return
	}
	first, _ := s.tree.Min()
	last, _ := s.tree.Max()
	s.facts.FirstRow = s.chunks.at(first.leaf.slots[0].ref).row()
	s.facts.LastRow = s.chunks.at(last.leaf.slots[len(last.leaf.slots)-1].ref).row()
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

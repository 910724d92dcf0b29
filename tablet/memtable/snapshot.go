package memtable

import (
	"millrace/tablet"

	"github.com/google/btree"
)

// Snapshot is a table at one moment. It is immutable and may be read by any number of goroutines.
type Snapshot struct {
	tree  *btree.BTreeG[item]
	facts Facts
}

// Facts says what the snapshot holds. Its rows are views of the snapshot.
func (s *Snapshot) Facts() Facts { return s.facts }

// Entries is the number of entries.
func (s *Snapshot) Entries() int64 { return s.facts.Entries }

// Bytes is the size estimate.
func (s *Snapshot) Bytes() int64 { return s.facts.Bytes }

func (s *Snapshot) bound() {
	if first, ok := s.tree.Min(); ok {
		last, _ := s.tree.Max()
		s.facts.FirstRow = rowOf(first.rec)
		s.facts.LastRow = rowOf(last.rec)
	}
}

func rowOf(r *record) []byte { return r.data[:r.ends.Row:r.ends.Row] }

// All calls yield with every entry in order, views of the snapshot, until yield returns false. It is for tests and small
// tables; what has to be fast reads a Source.
func (s *Snapshot) All(yield func(tablet.Entry) bool) {
	s.tree.Ascend(func(it item) bool {
		return yield(tablet.Entry{Key: it.rec.key(), Value: it.rec.value()})
	})
}

// Source returns a new reader of the snapshot, not yet seeked. It belongs to one goroutine.
func (s *Snapshot) Source() *Source {
	src := &Source{snap: s, done: true, found: make([]*record, 0, batchEntries)}
	src.note = src.noteItem
	return src
}

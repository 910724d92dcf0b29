package iter

import "millrace/tablet"

// BlockSource is a source whose batches are parts of blocks, and that knows more of a block than it has handed out.
type BlockSource interface {
	Source
	// BlockEnd is a key that no key of the block of the last batch lies behind, and that all later ones of the source lie
	// behind or equal; ok is false when it is not known. It is valid until the source's next call.
	BlockEnd() (key tablet.Key, ok bool)
}

// Unwrap returns the source that stands below others which have a method Unwrap, as Fence does.
func Unwrap(s Source) Source {
	for {
		w, ok := s.(interface{ Unwrap() Source })
		if !ok {
			return s
		}
		s = w.Unwrap()
	}
}

// Alone says whether all entries of the block that the source's batch begins will leave the merge before those of all other
// sources. It is known of blocks that were begun while the merge went on, not of those that a seek led to; whether it is
// true depends on the sources alone, not on the mode.
func (m *Merge) Alone(src uint16) bool { return m.cursors[src].alone }

// standsAlone is Alone of the batch just loaded in place of one that was used up. All other cursors stand at what they
// deliver next.
func (m *Merge) standsAlone(src uint16) bool {
	c := &m.cursors[src]
	if c.batch == nil || !c.batch.Facts.FirstOf {
		return false
	}
	s, ok := Unwrap(c.source).(BlockSource)
	if !ok {
		return false
	}
	end, ok := s.BlockEnd()
	if !ok {
		return false
	}
	for i := range m.cursors {
		if i == int(src) || m.cursors[i].batch == nil {
			continue
		}
		if next := m.cursors[i].batch.Key(m.standsAt(i)); tablet.Compare(&end, &next) >= 0 {
			return false
		}
	}
	return true
}

// standsAt is the entry of a source's batch that leaves the merge next.
func (m *Merge) standsAt(src int) int {
	if m.inTree() {
		return int(m.tree.leaves[src].at)
	}
	return int(m.cursors[src].at)
}

// inTree says whether the sources' places are the tree's.
func (m *Merge) inTree() bool {
	return len(m.cursors) > 1 && (m.mode == Tree || m.mode == TreeEntry)
}

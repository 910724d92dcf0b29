package memtable

import (
	"context"
	"fmt"

	"millrace/tablet"
)

// Source reads a snapshot's entries within a range and families, in batches: an iter.Source. The first code after Seek is
// against the range's start if that is inclusive, else against the empty key; every later one against the entry delivered
// before.
type Source struct {
	snap  *Snapshot
	batch tablet.Batch
	raw   []byte // values of the batch, end to end
	found []ref  // what the newest walk met
	used  int    // how many of found have been looked at
	note  func(item) bool

	families tablet.Families
	base     tablet.Key // what the next code is against; the range's start or the key delivered last
	based    bool       // there is a base
	// The next walk starts at slot at of leaf. Without a leaf it starts at from, or with the first entry of all.
	leaf        *leaf
	at          int
	from        leaf // has a bound and its prefix
	fromAll     bool
	finding     bool  // the walk is for the leaf of from
	until       bound // where walks end
	bounded     bool  // there is an until
	untilPrefix uint64
	done        bool // no walk finds any more
	closed      bool
	touched     int // keeps the compiler from leaving touch's reads out
}

const (
	batchEntries = 256
	// A batch also ends when it holds this much, so that large values do not add up. One entry may be larger.
	batchBytes = 256 << 10
	// Buffers that grew above this are not kept for the next batch.
	keptBytes = 1 << 20
)

// Seek positions the source. It may be called any number of times. The range's bytes must stay as they are until the
// next Seek.
func (s *Source) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	if s.closed {
		return fmt.Errorf("memtable source: seek: %w", tablet.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.families = f
	s.found, s.used, s.leaf = s.found[:0], 0, nil
	s.done = f.None() || r.Empty()
	s.fromAll, s.based = true, false
	if start, ok := r.Start(); ok {
		s.fromAll = false
		s.from.bound = bound{key: start.Key, counter: behindEqual}
		s.from.prefix = s.snap.common.prefix(start.Key.Row())
		if start.Inclusive {
			s.from.bound.counter = beforeEqual
			s.base, s.based = start.Key, true
		}
	}
	end, ok := r.End()
	if s.bounded = ok; ok {
		s.until = bound{key: end.Key, counter: beforeEqual}
		s.untilPrefix = s.snap.common.prefix(end.Key.Row())
		if end.Inclusive {
			s.until.counter = behindEqual
		}
	}
	return nil
}

// Next returns the following entries, nil at the end and ever after. The batch is valid until the next call.
func (s *Source) Next(ctx context.Context) (*tablet.Batch, error) {
	if s.closed {
		return nil, fmt.Errorf("memtable source: next: %w", tablet.ErrClosed)
	}
	s.reset()
	for len(s.batch.Refs) == 0 { // a stretch may hold no wanted family
		if s.used == len(s.found) {
			if s.done {
				break
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			s.walk()
		}
		s.fill()
	}
	if len(s.batch.Refs) == 0 {
		return nil, nil
	}
	s.batch.Raw = s.raw
	return &s.batch, nil
}

func (s *Source) reset() {
	if cap(s.raw) > keptBytes {
		s.raw = nil
	}
	if cap(s.batch.Arena) > keptBytes {
		s.batch.Arena = nil
	}
	s.batch.Reset()
	s.batch.Facts.Block = -1
	s.batch.Facts.Contiguous = true
	s.raw = s.raw[:0]
}

// walk notes the next entries of the range in s.found.
func (s *Source) walk() {
	s.found, s.used = s.found[:0], 0
	if s.leaf == nil && s.fromAll {
		s.snap.tree.Ascend(s.note)
	} else {
		if s.leaf == nil {
			s.find()
		}
		if s.take(s.leaf, s.at) {
			s.snap.tree.AscendGreaterOrEqual(s.leaf.item(), s.note)
		}
	}
	s.done = len(s.found) < batchEntries
	s.touch()
}

// find looks up where the range starts.
func (s *Source) find() {
	s.finding = true
	s.snap.tree.DescendLessOrEqual(s.from.item(), s.note)
	s.finding = false
	s.at = s.snap.chunks.place(s.leaf.slots, s.from.prefix, &s.from.bound)
}

func (s *Source) noteLeaf(it item) bool {
	if s.finding {
		s.leaf = it.leaf
		return false
	}
	return it.leaf == s.leaf || s.take(it.leaf, 0)
}

// take notes a leaf's entries from a place on, and says whether the walk goes on behind them.
func (s *Source) take(l *leaf, at int) bool {
	slots := l.slots
	end := len(slots)
	if s.bounded && at < end && slots[end-1].prefix >= s.untilPrefix {
		end = max(at, s.snap.chunks.place(slots, s.untilPrefix, &s.until))
	}
	more := end == len(slots)
	if room := batchEntries - len(s.found); end-at >= room {
		end, more = at+room, false
	}
	for _, slot := range slots[at:end] {
		s.found = append(s.found, slot.ref)
	}
	s.leaf, s.at = l, end
	return more
}

// fill adds the wanted among the noted entries to the batch, as many as its bytes allow.
func (s *Source) fill() {
	for s.used < len(s.found) {
		s.add(s.snap.chunks.at(s.found[s.used]))
		s.used++
		if len(s.batch.Arena)+len(s.raw) >= batchBytes {
			return
		}
	}
}

// touch looks at all records' heads, then at all their bytes, in loops that do nothing else: they lie scattered over
// memory, and so the processor waits for many of them at once instead of one by one.
func (s *Source) touch() {
	sum := 0
	for _, r := range s.found {
		rec := s.snap.chunks.at(r)
		sum += int(rec[0]) + int(rec[headBytes-1])
	}
	for _, r := range s.found {
		rec := s.snap.chunks.at(r)
		n := int(le.Uint32(rec[28:]) + le.Uint32(rec[32:]))
		sum += int(rec[headBytes-1+n/2]) + int(rec[headBytes-1+n])
	}
	s.touched = sum
}

// add appends an entry to the batch if its family is wanted. Where entries are left out, the code against the entry
// delivered last is the same as the largest of all codes in between.
func (s *Source) add(r record) {
	k := r.key()
	if !s.families.All() && !s.families.Accepts(k.Family()) {
		s.batch.Facts.Contiguous = false
		return
	}
	var code uint64
	if s.based {
		code = tablet.CodeOf(&s.base, &k)
	} else {
		code = tablet.CodeOfFirst(&k)
	}
	at := uint32(len(s.raw))
	s.raw = append(s.raw, r.value()...)
	s.batch.AppendKey(&k, code, at, uint32(len(s.raw)))
	s.base, s.based = k, true
}

// Close lets the snapshot go. Closing twice is harmless.
func (s *Source) Close() error {
	*s = Source{closed: true}
	return nil
}

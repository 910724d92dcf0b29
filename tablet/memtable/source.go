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
	raw   []byte    // values of the batch, end to end
	found []*record // what the newest walk met
	note  func(item) bool

	families tablet.Families
	base     tablet.Key // what the next code is against; the range's start or the key delivered last
	based    bool       // there is a base
	from     item       // where the next walk starts
	fromAll  bool       // it starts with the first entry of all
	until    item       // where walks end
	bounded  bool       // there is an until
	// Records behind from and until.
	fromRec, untilRec record
	done, closed      bool
	touched           int // keeps the compiler from leaving touch's reads out
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
	s.done = f.None() || r.Empty()
	s.fromAll, s.based = true, false
	if start, ok := r.Start(); ok {
		s.fromAll = false
		counter := uint64(behindEqual)
		if start.Inclusive {
			counter = beforeEqual
			s.base, s.based = start.Key, true
		}
		s.from = searchItem(&start.Key, &s.fromRec, counter)
	}
	end, ok := r.End()
	if s.bounded = ok; ok {
		counter := uint64(beforeEqual)
		if end.Inclusive {
			counter = behindEqual
		}
		s.until = searchItem(&end.Key, &s.untilRec, counter)
	}
	return nil
}

// Next returns the following entries, nil at the end and ever after. The batch is valid until the next call.
func (s *Source) Next(ctx context.Context) (*tablet.Batch, error) {
	if s.closed {
		return nil, fmt.Errorf("memtable source: next: %w", tablet.ErrClosed)
	}
	s.reset()
	for !s.done && len(s.batch.Refs) == 0 { // a stretch may hold no wanted family
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.found = s.found[:0]
		s.walk()
		s.done = len(s.found) < batchEntries
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
	switch tree := s.snap.tree; {
	case s.fromAll && s.bounded:
		tree.AscendLessThan(s.until, s.note)
	case s.fromAll:
		tree.Ascend(s.note)
	case s.bounded:
		tree.AscendRange(s.from, s.until, s.note)
	default:
		tree.AscendGreaterOrEqual(s.from, s.note)
	}
}

func (s *Source) noteItem(it item) bool {
	s.found = append(s.found, it.rec)
	return len(s.found) < batchEntries
}

// fill adds the wanted among the noted entries to the batch, as many as its bytes allow, and remembers where to go on.
func (s *Source) fill() {
	s.touch()
	for i, r := range s.found {
		s.add(r)
		if len(s.batch.Arena)+len(s.raw) >= batchBytes && i < len(s.found)-1 {
			s.found, s.done = s.found[:i+1], false
			break
		}
	}
	if s.done {
		return
	}
	// Go on right behind the entry looked at last: before all that have its key and a smaller counter.
	last := s.found[len(s.found)-1]
	s.fromRec = *last
	s.fromRec.counter--
	s.from, s.fromAll = item{prefix: prefixOf(rowOf(last)), rec: &s.fromRec}, false
}

// touch looks at all records, then at all their bytes, in loops that do nothing else: they lie scattered over memory, and
// so the processor waits for many of them at once instead of one by one.
func (s *Source) touch() {
	sum := 0
	for _, r := range s.found {
		sum += len(r.data)
	}
	for _, r := range s.found {
		if n := len(r.data); n > 0 {
			sum += int(r.data[0]) + int(r.data[n/2]) + int(r.data[n-1])
		}
	}
	s.touched = sum
}

// add appends an entry to the batch if its family is wanted. Where entries are left out, the code against the entry
// delivered last is the same as the largest of all codes in between.
func (s *Source) add(r *record) {
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

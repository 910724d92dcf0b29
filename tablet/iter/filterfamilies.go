package iter

import (
	"context"
	"fmt"

	"millrace/tablet"
)

// FilterFamilies returns a source that picks the wanted families out of one that cannot: below it is always sought for
// all. Codes stay right, since the codes of entries left out are carried on to the next that stays.
func FilterFamilies(s Source) Source { return &familyFilter{below: s} }

type familyFilter struct {
	below  Source
	wanted tablet.Families

	fresh   bool // no entry since Seek
	accept  bool // the family of the last entry is wanted
	carry   uint64
	skipped bool         // the entry before was left out
	batch   tablet.Batch // its Refs and Codes are our own; Arena and Raw belong to the batch below
}

func (s *familyFilter) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	s.letGo()
	s.wanted, s.fresh, s.carry, s.skipped = f, true, 0, false
	return s.below.Seek(ctx, r, tablet.Families{})
}

func (s *familyFilter) Next(ctx context.Context) (*tablet.Batch, error) {
	if s.wanted.None() {
		return nil, nil
	}
	for {
		b, err := s.below.Next(ctx)
		if b == nil || err != nil || s.wanted.All() {
			return b, err
		}
		if s.pick(b); s.batch.Len() > 0 {
			return &s.batch, nil
		}
	}
}

// pick fills the batch with what is wanted of the one below.
func (s *familyFilter) pick(b *tablet.Batch) {
	out := &s.batch
	s.letGo()
	out.Arena, out.Raw, out.Facts = b.Arena, b.Raw, b.Facts
	out.Facts.Deletes, out.Facts.MaxCode = false, 0
	firstOf, lastOf := false, false
	for i, code := range b.Codes {
		if code >= tablet.CodeSameFamily || s.fresh {
			k := b.Key(i)
			s.accept, s.fresh = s.wanted.Accepts(k.Family()), false
		}
		s.carry = max(s.carry, code)
		if !s.accept {
			s.skipped = true
			continue
		}
		if out.Len() > 0 {
			out.Facts.MaxCode = max(out.Facts.MaxCode, s.carry)
		}
		out.Refs = append(out.Refs, b.Refs[i])
		if s.skipped {
			out.Refs[out.Len()-1].Shared = 0 // it is about the entry left out
		}
		out.Codes = append(out.Codes, s.carry)
		out.Facts.Deletes = out.Facts.Deletes || b.Refs[i].Deleted
		firstOf = firstOf || i == 0
		lastOf = i == b.Len()-1
		s.carry, s.skipped = 0, false
	}
	out.Facts.FirstOf = b.Facts.FirstOf && firstOf
	out.Facts.LastOf = b.Facts.LastOf && lastOf
	out.Facts.Contiguous = b.Facts.Contiguous && out.Len() == b.Len()
}

func (s *familyFilter) letGo() {
	s.batch = tablet.Batch{Refs: s.batch.Refs[:0], Codes: s.batch.Codes[:0]}
}

func (s *familyFilter) Close() error {
	s.letGo()
	return s.below.Close()
}

func (s *familyFilter) String() string {
	if named, ok := s.below.(fmt.Stringer); ok {
		return named.String()
	}
	return "family filter"
}

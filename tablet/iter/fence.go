package iter

import (
	"context"
	"fmt"

	"millrace/tablet"
)

// Fence returns a source that shows only the part of s that lies in r: a file that a tablet got with a split or a merge
// may hold entries of others.
func Fence(s Source, r tablet.Range) Source { return &fence{below: s, limits: r} }

type fence struct {
	below  Source
	limits tablet.Range

	asked tablet.Range
	fresh bool         // no batch since Seek
	first tablet.Batch // the first batch, with Codes of our own
}

func (s *fence) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	s.letGo()
	s.asked, s.fresh = r, true
	return s.below.Seek(ctx, r.Clip(s.limits), f)
}

func (s *fence) Next(ctx context.Context) (*tablet.Batch, error) {
	b, err := s.below.Next(ctx)
	if !s.fresh || b == nil || err != nil {
		return b, err
	}
	s.fresh = false
	// Below, the first code may be against the start of the fence. All sources of a merge share the base that the range
	// asked for gives.
	k := b.Key(0)
	code := tablet.CodeOfFirst(&k)
	if start, ok := s.asked.Start(); ok && start.Inclusive {
		code = tablet.CodeOf(&start.Key, &k)
	}
	if code == b.Codes[0] {
		return b, nil
	}
	codes := append(s.first.Codes[:0], b.Codes...)
	codes[0] = code
	s.first = *b
	s.first.Codes = codes
	return &s.first, nil
}

func (s *fence) letGo() {
	s.first = tablet.Batch{Codes: s.first.Codes[:0]}
	s.asked = tablet.Range{}
}

func (s *fence) Close() error {
	s.letGo()
	return s.below.Close()
}

// Unwrap is the source below.
func (s *fence) Unwrap() Source { return s.below }

func (s *fence) String() string {
	if named, ok := s.below.(fmt.Stringer); ok {
		return named.String()
	}
	return "fenced source"
}

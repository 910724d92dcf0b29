package iter

import (
	"context"
	"sort"

	"millrace/internal/invariant"
	"millrace/tablet"
)

// SliceSource is a source over entries in memory. It is meant for tests: it copies each batch, and computes its codes.
type SliceSource struct {
	entries []tablet.Entry
	size    int
	name    string

	at       int
	r        tablet.Range
	f        tablet.Families
	base     tablet.Key // of the next code
	based    bool       // false: the empty key
	batch    tablet.Batch
	values   []byte
	err      error
	errAfter int // -1 never

	// Closed counts the calls of Close.
	Closed int
}

// FromEntries returns a source over sorted entries in batches of at most batchEntries. It keeps the slice.
func FromEntries(entries []tablet.Entry, batchEntries int) *SliceSource {
	return &SliceSource{entries: entries, size: max(batchEntries, 1), name: "entries in memory", errAfter: -1}
}

// Named sets the name that the source has in errors.
func (s *SliceSource) Named(name string) *SliceSource {
	s.name = name
	return s
}

// FailAfter makes Next fail with err once the source stands at its n-th entry.
func (s *SliceSource) FailAfter(n int, err error) *SliceSource {
	s.errAfter, s.err = n, err
	return s
}

func (s *SliceSource) String() string { return s.name }

// Seek is as in Source.
func (s *SliceSource) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	s.spoil()
	s.r, s.f = r, f
	s.at = sort.Search(len(s.entries), func(i int) bool { return !r.BeforeStart(&s.entries[i].Key) })
	start, ok := r.Start()
	s.based = ok && start.Inclusive
	s.base = start.Key
	return ctx.Err()
}

// Next is as in Source.
func (s *SliceSource) Next(context.Context) (*tablet.Batch, error) {
	s.spoil()
	b := &s.batch
	b.Reset()
	b.Facts.Block = -1
	values := s.values[:0]
	for s.at < len(s.entries) && b.Len() < s.size && s.at != s.errAfter {
		e := &s.entries[s.at]
		if s.r.AfterEnd(&e.Key) {
			break
		}
		s.at++
		if !s.f.Accepts(e.Key.Family()) {
			continue
		}
		code := tablet.CodeOfFirst(&e.Key)
		if s.based {
			code = tablet.CodeOf(&s.base, &e.Key)
		}
		s.base, s.based = e.Key, true
		at := uint32(len(values))
		values = append(values, e.Value...)
		b.AppendKey(&e.Key, code, at, uint32(len(values)))
	}
	b.Raw, s.values = values, values
	if b.Len() > 0 {
		return b, nil
	}
	if s.at == s.errAfter {
		return nil, s.err
	}
	return nil, nil
}

// Close is as in Source.
func (s *SliceSource) Close() error {
	s.spoil()
	s.Closed++
	return nil
}

// spoil makes whoever still reads the last batch see it.
func (s *SliceSource) spoil() {
	if !invariant.Enabled {
		return
	}
	s.batch.Arena = s.batch.Arena[:cap(s.batch.Arena)]
	for i := range s.batch.Arena {
		s.batch.Arena[i] = 0xdb
	}
	for i := range s.values {
		s.values[i] = 0xdb
	}
	clear(s.batch.Codes)
}

package actors

import (
	"context"
	"errors"

	"millrace/tablet"
	"millrace/tablet/visibility"
)

// Column is where a cell lies but for its label. Nil fields are empty ones.
type Column struct{ Row, Family, Qualifier []byte }

// Get returns the first entry of a column that the authorizations see: with one label a column, the newest. ok is false if
// there is none. It reads the tablet's published view on the caller's goroutine and sends no message; the entry is the
// caller's. For many look-ups an Iterator costs less.
func (s *Store) Get(ctx context.Context, table string, c Column, a visibility.Authorizations) (e tablet.Entry, ok bool, err error) {
	s.gets.enter()
	defer s.gets.leave()
	it, err := s.Iterator(table, IteratorOptions{Authorizations: a})
	if err != nil {
		return tablet.Entry{}, false, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	if err = it.Seek(ctx, tablet.Exact(c.Row, c.Family, c.Qualifier)); err != nil {
		return tablet.Entry{}, false, err
	}
	if e, ok = it.Top(); ok {
		e = e.Clone()
	}
	return e, ok, nil
}

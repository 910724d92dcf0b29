package script

import (
	"context"
	"errors"
	"fmt"

	"millrace/actors"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/visibility"
)

// iterStep moves one iterator about.
type iterStep struct {
	columns iter.Columns
	auths   visibility.Authorizations
	moves   []move
}

// move is a seek or a number of next, and what the iterator then stands on.
type move struct {
	seek    bool
	rng     rangeSpec
	next    int
	compare bool
	top     *wanted // nil for none
}

func parseIter(o *object, number string) step {
	o.must("steps")
	s := &iterStep{columns: parseColumns(o), auths: parseAuths(o)}
	for i, raw := range o.list("steps") {
		f := newObject(raw)
		m := parseMove(f)
		if err := f.done(); err != nil {
			part := fmt.Sprintf("%s.%d", number, i)
			o.failf("%w", at(part, err))
		}
		s.moves = append(s.moves, m)
	}
	return s
}

func parseMove(o *object) (m move) {
	if m.seek = o.has("seek"); m.seek {
		raw, _ := o.take("seek")
		var err error
		if m.rng, err = parseRange(raw); err != nil {
			o.failf("field %q: %w", "seek", err)
		}
	} else {
		o.must("next")
		m.next = o.count("next", 0, 0)
	}
	if raw, ok := o.take("top"); ok {
		m.compare = true
		if string(raw) != "null" {
			w := o.wanted("top", raw)
			m.top = &w
		}
	}
	return m
}

func (s *iterStep) run(ctx context.Context, r *runner) (err error) {
	it, err := r.store.Iterator(tableName, actors.IteratorOptions{Columns: s.columns, Authorizations: s.auths})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	c := cursor{it: it}
	for i := range s.moves {
		m := &s.moves[i]
		err := c.move(ctx, m)
		if err == nil && m.compare {
			err = c.check(m.top)
		}
		if err != nil {
			return at(fmt.Sprintf("%s.%d", r.at, i), err)
		}
	}
	return nil
}

// cursor is an iterator, or the empty answer that a refused range stands for.
type cursor struct {
	it    *actors.Iterator
	empty bool
}

func (c *cursor) move(ctx context.Context, m *move) error {
	if m.seek {
		rng, err := m.rng.make()
		if c.empty = err != nil; c.empty {
			return nil
		}
		return c.it.Seek(ctx, rng)
	}
	for range m.next {
		if _, ok := c.top(); !ok {
			return fmt.Errorf("next at the end")
		}
		if err := c.it.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *cursor) top() (tablet.Entry, bool) {
	if c.empty {
		return tablet.Entry{}, false
	}
	return c.it.Top()
}

func (c *cursor) check(want *wanted) error {
	e, ok := c.top()
	if ok == (want != nil) && (!ok || want.is(&e)) {
		return nil
	}
	m := &mismatch{found: "no entry", expected: "no entry"}
	if ok {
		m.found = showEntry(&e)
	}
	if want != nil {
		m.expected = want.String()
	}
	return m
}

package scan

import (
	"context"
	"errors"
	"fmt"

	"millrace/tablet"
	"millrace/tablet/iter"
)

// Spec says what a scan wants of a tablet. The zero value wants everything but what deletes hide.
type Spec struct {
	// Range is what to read; the caller has clipped it to the tablet's extent. Its bytes must not change.
	Range tablet.Range
	// Skip is how many entries that have exactly the key of the range's start are passed over: those that an earlier
	// session has handed out. See Session.Rest.
	Skip int
	// Columns are those fetched.
	Columns iter.Columns
	// MaxVersions is how many entries of a cell are wanted, the newest; 0 all.
	MaxVersions int
	// Visible says whether entries with a label may be seen; nil shows all.
	Visible func(label []byte) bool
	// Iterators are the table's and the scan's own, in any order. Env is theirs; the session sets its Source and Scope.
	Iterators []iter.Setting
	Env       iter.Env
	Mode      iter.Mode
}

// Session is one scan on one tablet. It is not safe for concurrent use.
type Session struct {
	spec  Spec
	stack *iter.Stack
	top   iter.Iterator // the user iterators; nil without any
	runs  []iter.Run    // drawn and not yet copied; a part of in
	begun bool
	skip  int        // entries with the start's key still to pass over
	place Place      // behind what was handed out
	books iter.Books // once the stack is closed
	err   error      // sticky
	in    [64]iter.Run
}

// Open builds the stack over sources, the newest first, and takes them over: Close closes them. The pool belongs to the
// caller's goroutine.
func Open(pool *iter.Pool, sources []iter.Source, spec Spec) (*Session, error) {
	s := &Session{spec: spec, skip: spec.Skip}
	if start, ok := spec.Range.Start(); ok && s.skip > 0 {
		s.place = Place{key: start.Key.Clone(), equal: s.skip}
	}
	var err error
	if s.stack, s.top, err = build(pool, sources, &spec); err != nil {
		return nil, fmt.Errorf("open scan: %w", err)
	}
	return s, nil
}

// build puts the stack on sources, and the user iterators, if there are any, on the stack.
func build(pool *iter.Pool, sources []iter.Source, spec *Spec) (*iter.Stack, iter.Iterator, error) {
	stack := iter.NewStack(pool.Get(spec.Mode, sources), iter.StackOptions{
		MaxVersions: spec.MaxVersions, Columns: spec.Columns, Visible: spec.Visible,
	})
	if len(spec.Iterators) == 0 {
		return stack, nil, nil
	}
	env := spec.Env
	env.Scope = iter.Scan
	top, err := iter.Build(iter.NewEntries(stack), spec.Iterators, env)
	if err != nil {
		return nil, nil, errors.Join(err, stack.Close())
	}
	return stack, top, nil
}

// Fill empties the page and copies the next entries into it. more is false when nothing is behind them. The page may be
// empty although there is more, if Limits.Work stopped it. After an error the page holds what came before it, and the
// error repeats.
func (s *Session) Fill(ctx context.Context, p *Page, l Limits) (more bool, err error) {
	p.Reset()
	if s.err != nil {
		return false, s.err
	}
	l = l.WithDefaults()
	if !s.begun {
		if err := s.seek(ctx); err != nil {
			return false, s.fail(err)
		}
		s.begun = true
	}
	if s.top != nil {
		more, err = s.fillEntries(ctx, p, &l)
	} else {
		more, err = s.fillRuns(ctx, p, &l)
	}
	s.place.Advance(p, p.Len())
	if err != nil {
		return false, s.fail(err)
	}
	return more, nil
}

func (s *Session) seek(ctx context.Context) error {
	families := s.spec.Columns.Families()
	if s.top != nil {
		return s.top.Seek(ctx, s.spec.Range, families)
	}
	return s.stack.Seek(ctx, s.spec.Range, families)
}

func (s *Session) fail(err error) error {
	s.err = fmt.Errorf("scan %v: %w", s.spec.Range, err)
	return s.err
}

// fillRuns copies entries straight from the stack's runs.
func (s *Session) fillRuns(ctx context.Context, p *Page, l *Limits) (more bool, err error) {
	work := s.stack.Books().Read + l.Work
	for {
		if len(s.runs) == 0 {
			n, more, err := s.stack.FillSome(ctx, s.in[:])
			if !more || err != nil {
				return false, err
			}
			if s.runs = s.in[:n]; n == 0 {
				if l.Work > 0 && s.stack.Books().Read >= work {
					return true, nil
				}
				continue
			}
		}
		r := &s.runs[0]
		b := s.stack.Batch(r.Src)
		for ; r.Lo < r.Hi; r.Lo++ {
			if l.full(p) {
				return true, nil
			}
			k := b.Key(int(r.Lo))
			if s.skip > 0 && s.passOver(&k) {
				continue
			}
			p.add(&k, b.Value(int(r.Lo)))
		}
		s.runs = s.runs[1:]
	}
}

// fillEntries goes through the user iterators, which need not stop at the end of the range.
func (s *Session) fillEntries(ctx context.Context, p *Page, l *Limits) (more bool, err error) {
	for {
		e, ok := s.top.Top()
		if !ok || s.spec.Range.AfterEnd(&e.Key) {
			return false, nil
		}
		if l.full(p) {
			return true, nil
		}
		if s.skip == 0 || !s.passOver(&e.Key) {
			p.add(&e.Key, e.Value)
		}
		if err := s.top.Next(ctx); err != nil {
			return false, err
		}
	}
}

// passOver says whether an entry was handed out before this session began.
func (s *Session) passOver(k *tablet.Key) bool {
	start, _ := s.spec.Range.Start()
	if tablet.Compare(k, &start.Key) != 0 {
		s.skip = 0
		return false
	}
	s.skip--
	return true
}

// Rest is what is left behind the last entry handed out: Range and Skip of another session that goes on. Nothing is lost
// or given twice, not even of entries with exactly equal keys, as long as nobody writes more of them. It owns its bytes.
func (s *Session) Rest() (r tablet.Range, skip int) {
	place := s.place.Clone()
	return place.Rest(s.spec.Range)
}

// Books say what became of the entries read so far.
func (s *Session) Books() iter.Books {
	if s.stack == nil {
		return s.books
	}
	return s.stack.Books()
}

// Close closes the sources.
func (s *Session) Close() error {
	if s.stack == nil {
		return nil
	}
	s.books = s.stack.Books()
	err := s.stack.Close()
	s.stack, s.top, s.runs = nil, nil, nil
	s.err = fmt.Errorf("scan: %w", tablet.ErrClosed)
	return err
}

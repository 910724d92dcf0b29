package iter

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"sync/atomic"

	"millrace/internal/invariant"
	"millrace/tablet"
)

// In checking builds a wrapper stands around every source of a merge, every iterator of a stack, and the outputs of merges
// and stacks are looked at too. What breaks the contract panics, but for iterators from elsewhere, whose faults are the
// user's: of those nothing is wanted but that they do not read after their time.

// ContractCalls is how many calls of iterators, sources, merges and stacks were checked in this process; 0 in other builds.
func ContractCalls() int64 { return contractCalls.Load() }

var contractCalls atomic.Int64

// watched puts the wrapper around a merge's source.
func (m *Merge) watched(i int, s Source) Source {
	if !invariant.Enabled {
		return s
	}
	if m.wrappers == nil {
		m.wrappers = make([]watchedSource, cap(m.cursors))
	}
	w := &m.wrappers[i]
	*w = watchedSource{Source: s}
	return w
}

// watchedSource wants a source to be sought before it is read, to have nothing behind its end, and to be left alone after
// its close. Order, range and codes of its batches are the merge's to check.
type watchedSource struct {
	Source
	sought, ended, closed bool
}

// Unwrap is the source below.
func (s *watchedSource) Unwrap() Source { return s.Source }

// String is the source's name, for errors.
func (s *watchedSource) String() string {
	if named, ok := s.Source.(fmt.Stringer); ok {
		return named.String()
	}
	return fmt.Sprintf("%T", s.Source)
}

func (s *watchedSource) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	contractCalls.Add(1)
	s.must(!s.closed, "sought after its close")
	s.sought, s.ended = true, false
	return s.Source.Seek(ctx, r, f)
}

func (s *watchedSource) Next(ctx context.Context) (*tablet.Batch, error) {
	contractCalls.Add(1)
	s.must(s.sought && !s.closed, "read before a seek or after its close")
	b, err := s.Source.Next(ctx)
	s.must(b == nil || err == nil, "gave a batch and an error")
	s.must(b == nil || !s.ended, "gave a batch behind its end")
	s.ended = b == nil && err == nil
	return b, err
}

func (s *watchedSource) Close() error {
	contractCalls.Add(1)
	s.must(!s.closed, "closed twice")
	inner := s.Source
	s.Source, s.closed = nil, true // a merge at rest holds nothing
	return inner.Close()
}

func (s *watchedSource) must(ok bool, what string) {
	if !ok {
		invariant.Fail("source %v: %s", s, what)
	}
}

// watchIterator puts the wrapper around an iterator. The lowest one keeps to the range and the families too.
func watchIterator(it Iterator, name string, lowest bool) Iterator {
	if !invariant.Enabled {
		return it
	}
	t := reflect.TypeOf(it)
	ours := t.Kind() == reflect.Pointer && t.Elem().PkgPath() == reflect.TypeFor[Entries]().PkgPath()
	return &watchedIterator{Iterator: it, name: name, lowest: lowest, ours: ours}
}

// watchedIterator wants keys in order and within the range, a top that reading it does not change, and no entry after an
// error. What it hands out is spoilt when its time is over.
type watchedIterator struct {
	Iterator
	name         string
	lowest, ours bool

	sought, failed bool
	rng            tablet.Range
	families       tablet.Families
	has            bool // there is a top
	top            [2]tablet.Entry
	at             int // which of them it is; the other one is spoilt
	last           tablet.Key
	any            bool // last is set
}

func (w *watchedIterator) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	contractCalls.Add(1)
	w.sought, w.any, w.rng, w.families = true, false, r, f
	w.leave()
	return w.moved(w.Iterator.Seek(ctx, r, f))
}

func (w *watchedIterator) Next(ctx context.Context) error {
	contractCalls.Add(1)
	w.look()
	had := w.has
	if had {
		w.last.Assign(&w.top[w.at].Key)
		w.any = true
	}
	w.leave()
	err := w.Iterator.Next(ctx)
	w.must(had || err != nil, "went on without a current entry")
	return w.moved(err)
}

// moved takes the new top in.
func (w *watchedIterator) moved(err error) error {
	w.failed = err != nil
	e, ok := w.Iterator.Top()
	w.must(!ok || !w.failed, "has an entry after an error")
	w.has = ok
	if !ok {
		return err
	}
	w.at = 1 - w.at
	w.keep(&e)
	k := &w.top[w.at].Key
	if w.any && tablet.Compare(&w.last, k) > 0 {
		w.must(false, fmt.Sprintf("has %v after %v", k, w.last))
	}
	// The key of a row may stand for what of it lies in the range.
	if start, _ := w.rng.Start(); w.rng.BeforeStart(k) && (w.lowest || !bytes.Equal(start.Key.Row(), k.Row())) {
		w.must(false, fmt.Sprintf("has %v before %v", k, w.rng))
	}
	w.must(!w.lowest || w.rng.Contains(k) && w.families.Accepts(k.Family()), "has an entry that was not asked for")
	return err
}

func (w *watchedIterator) keep(e *tablet.Entry) {
	mine := &w.top[w.at]
	mine.Key.Assign(&e.Key)
	mine.Value = append(mine.Value[:0], e.Value...)
}

// leave spoils what was handed out.
func (w *watchedIterator) leave() {
	for i := range w.top {
		poison(w.top[i].Key.Data())
		poison(w.top[i].Value)
	}
	w.has = false
}

// look wants the top to be what it was.
func (w *watchedIterator) look() {
	e, ok := w.Iterator.Top()
	w.must(ok == w.has, "has lost its top, or found one, without a move")
	if ok {
		mine := &w.top[w.at]
		w.must(tablet.Compare(&e.Key, &mine.Key) == 0 && string(e.Value) == string(mine.Value), "has another top without a move")
	}
}

func (w *watchedIterator) Top() (tablet.Entry, bool) {
	contractCalls.Add(1)
	w.look()
	if !w.has {
		return tablet.Entry{}, false
	}
	return w.top[w.at], true
}

// Clone wraps the clone as well.
func (w *watchedIterator) Clone(env Env) (Iterator, error) {
	contractCalls.Add(1)
	it, err := w.Iterator.Clone(env)
	if err != nil {
		return nil, err
	}
	return watchIterator(it, w.name, w.lowest), nil
}

func (w *watchedIterator) must(ok bool, what string) {
	if !ok && w.ours {
		invariant.Fail("iterator %s (%T): %s", w.name, w.Iterator, what)
	}
}

// watchedRuns looks at what a merge or a stack hands out: keys in order, with codes that are those of the keys.
type watchedRuns struct {
	last tablet.Key
	any  bool
}

func (o *watchedRuns) begin() { o.any = false }

// check looks at the runs that were just filled in. A stack hands out no marker unless it propagates them.
func (o *watchedRuns) check(who string, batch func(src uint16) *tablet.Batch, runs []Run, markers bool) {
	contractCalls.Add(1)
	for _, r := range runs {
		b := batch(r.Src)
		if r.Lo >= r.Hi || int(r.Hi) > b.Len() {
			invariant.Fail("%s: run [%d, %d) of %d entries", who, r.Lo, r.Hi, b.Len())
		}
		code := r.Code
		for i := r.Lo; i < r.Hi; i++ {
			k := b.Key(int(i))
			if i > r.Lo {
				code = b.Codes[i]
			}
			switch {
			case k.Deleted() && !markers:
				invariant.Fail("%s: hands out the marker %v", who, k)
			case o.any && tablet.Compare(&o.last, &k) > 0:
				invariant.Fail("%s: %v comes after %v", who, k, o.last)
			case o.any && tablet.CodeOf(&o.last, &k) != code:
				invariant.Fail("%s: code of %v after %v is %#x", who, k, o.last, code)
			}
			o.last.Assign(&k)
			o.any = true
		}
	}
}

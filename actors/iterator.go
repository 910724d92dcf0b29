package actors

import (
	"context"
	"errors"
	"fmt"

	"millrace/reader/scan"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/visibility"
)

// IteratorOptions say what an iterator shows. The fields are as in ScanOptions.
type IteratorOptions struct {
	Columns        iter.Columns
	Authorizations visibility.Authorizations
	Versions       int
	Iterators      []iter.Setting
}

// Iterator reads a table entry by entry and can be sought anywhere, any number of times: forwards, backwards, after the
// end, across tablets. It reads published views on the goroutine of its caller; only where a tablet is just being
// split or replaced does it wait for the outcome. As long as it stays
// in one tablet it reads that as it was when it came to it; it sees what was acknowledged before.
//
// It belongs to one goroutine, and must be closed before the store is.
type Iterator struct {
	store   *Store
	table   string
	spec    scan.Spec
	options IteratorOptions
	kit     *scan.Kit // nil once it is closed

	tour tour
	part tabletPart // the present tablet; no view before the first
	read *scan.Cursor
	err  error
}

// Iterator makes an iterator, which stands nowhere until it is sought.
func (s *Store) Iterator(table string, o IteratorOptions) (*Iterator, error) {
	if s.closed.Load() {
		return nil, errClosed
	}
	t, err := s.table(table)
	if err != nil {
		return nil, err
	}
	it := &Iterator{store: s, table: table, options: o, tour: tour{store: s, table: table}}
	it.spec, err = t.scanSpec(table, ScanOptions{
		Columns: o.Columns, Authorizations: o.Authorizations, Versions: o.Versions, Iterators: o.Iterators,
	}, s.core)
	if err != nil {
		return nil, fmt.Errorf("iterate over table %s: %w", table, err)
	}
	it.spec.Visible = visible(o.Authorizations)
	it.kit = scan.TakeKit()
	return it, nil
}

// Seek moves to the first entry in the range, whose bytes must not change until the next Seek. An error is the
// iterator's until it is sought again.
func (it *Iterator) Seek(ctx context.Context, r tablet.Range) error {
	if it.kit == nil {
		return it.err
	}
	if it.err = ctx.Err(); it.err != nil { // memory and cached blocks would not ask
		return it.err
	}
	it.tour.begin(r)
	it.err = it.seek(ctx, r)
	return it.err
}

func (it *Iterator) seek(ctx context.Context, r tablet.Range) error {
	if it.read == nil || !it.tour.more || !startsIn(r, it.part.extent) {
		return errors.Join(it.leave(), it.goOn(ctx))
	}
	it.tour.pass(it.part.extent)
	if err := it.read.Seek(ctx, r.Clip(it.part.extent.DataRange())); err != nil {
		return fmt.Errorf("iterate over %v: %w", it.part.extent, err)
	}
	return it.goOn(ctx)
}

// startsIn says whether the first rows of a range are an extent's.
func startsIn(r tablet.Range, e tablet.Extent) bool {
	start, ok := r.Start()
	if !ok {
		return e.PrevEndRow == nil
	}
	return e.Contains(start.Key.Row())
}

// goOn enters tablets until there is an entry.
func (it *Iterator) goOn(ctx context.Context) error {
	for it.tour.more {
		if it.read != nil {
			if _, ok := it.read.Top(); ok {
				return nil
			}
		}
		part, ok, err := it.tour.next(ctx)
		if err != nil || !ok {
			return err
		}
		if err := it.enter(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// enter leaves the present tablet for another.
func (it *Iterator) enter(ctx context.Context, part tabletPart) error {
	err := it.leave()
	it.part = part
	if err == nil {
		err = it.open(ctx)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("iterate over %v: %w", part.extent, err), it.leave())
	}
	return nil
}

// open builds the stack over the present tablet, and seeks it.
func (it *Iterator) open(ctx context.Context) error {
	sources, err := it.part.view.Sources(it.kit, it.spec.Columns.Families())
	if err != nil {
		return err
	}
	if it.read, err = scan.OpenCursor(it.kit.Merges, sources, it.spec); err != nil {
		return err
	}
	return it.read.Seek(ctx, it.part.rng)
}

// leave lets go of the present tablet.
func (it *Iterator) leave() error {
	var err error
	if it.read != nil {
		err = it.read.Close()
		it.read = nil
	}
	if it.part.view != nil {
		it.part.view.Release()
		it.part = tabletPart{}
	}
	return err
}

// Next moves to the next entry. Without a present one it is an error that wraps tablet.ErrUsage.
func (it *Iterator) Next(ctx context.Context) error {
	if it.err != nil {
		return it.err
	}
	if it.read == nil {
		return errNoEntry
	}
	if _, ok := it.read.Top(); !ok {
		return errNoEntry
	}
	if it.err = it.read.Next(ctx); it.err == nil {
		it.err = it.goOn(ctx)
	}
	return it.err
}

var errNoEntry = fmt.Errorf("next of an iterator that stands on no entry: %w", tablet.ErrUsage)

// Top is the present entry, a view until the next call of Seek, Next or Close; false when there is none: at the end of the
// range, before the first Seek and after an error.
func (it *Iterator) Top() (tablet.Entry, bool) {
	if it.err != nil || it.read == nil {
		return tablet.Entry{}, false
	}
	return it.read.Top()
}

// Close lets go of what the iterator holds. A second call does nothing.
func (it *Iterator) Close() error {
	if it.kit == nil {
		return nil
	}
	err := it.leave()
	it.kit.Release()
	it.kit = nil
	it.err = fmt.Errorf("iterator: %w", tablet.ErrClosed)
	return err
}

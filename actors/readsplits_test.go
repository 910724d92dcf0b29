package actors_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"millrace/actors"
	"millrace/tablet"
)

// TestReadsGoOnOverSplits reads a table in every way while it is cut into ever more tablets: whatever a read comes to, each
// entry is there once.
func TestReadsGoOnOverSplits(t *testing.T) {
	const rows = 600
	withStore(t, func(s *actors.Store) {
		ctx := t.Context()
		if err := s.CreateTable(ctx, "t", nil, nil); err != nil {
			t.Fatal(err)
		}
		row := func(i int) []byte { return fmt.Appendf(nil, "r%05d", i) }
		var all []*tablet.Mutation
		for i := range rows {
			m := tablet.NewMutation(row(i))
			m.Put([]byte("f"), nil, nil, fmt.Append(nil, i))
			all = append(all, m)
		}
		if err := s.Apply(ctx, "t", all); err != nil {
			t.Fatal(err)
		}
		var reads sync.WaitGroup
		done := make(chan struct{})
		errs := make(chan error, 3)
		for _, read := range []func(from int) (int, error){
			func(from int) (int, error) { return readByScan(ctx, s, actors.ScanOptions{PageEntries: 7}, row(from)) },
			func(from int) (int, error) {
				return readByScan(ctx, s, actors.ScanOptions{Snapshot: true, PageEntries: 50}, row(from))
			},
			func(from int) (int, error) { return readByIterator(ctx, s, row(from)) },
		} {
			reads.Go(func() {
				for from := 0; ; from = (from + 97) % rows {
					n, err := read(from)
					if err == nil && n != rows-from {
						err = fmt.Errorf("%d entries from row %d on, want %d", n, from, rows-from)
					}
					if err != nil {
						errs <- err
						return
					}
					select {
					case <-done:
						return
					default:
					}
				}
			})
		}
		for i := range 30 {
			if err := s.AddSplits(ctx, "t", [][]byte{row((i * 211) % rows)}); err != nil {
				t.Error(err)
			}
			if i%10 == 9 {
				if err := s.Flush(ctx, "t"); err != nil {
					t.Error(err)
				}
			}
		}
		close(done)
		reads.Wait()
		close(errs)
		for err := range errs {
			t.Error(err)
		}
		if tablets, err := s.Tablets("t"); err != nil || len(tablets) != 31 {
			t.Errorf("%d tablets, %v, want 31", len(tablets), err)
		}
	})
}

// ordered counts entries, and wants their rows to rise.
type ordered struct {
	n    int
	last []byte
}

func (o *ordered) see(e tablet.Entry) error {
	if o.n > 0 && bytes.Compare(e.Key.Row(), o.last) <= 0 {
		return fmt.Errorf("row %s behind row %s", e.Key.Row(), o.last)
	}
	o.n++
	o.last = append(o.last[:0], e.Key.Row()...)
	return nil
}

func readByScan(ctx context.Context, s *actors.Store, o actors.ScanOptions, from []byte) (int, error) {
	o.Range = tablet.RowRange(tablet.RowBounds{Start: from})
	sc, err := s.Scan(ctx, "t", o)
	if err != nil {
		return 0, err
	}
	defer sc.Close()
	var seen ordered
	for sc.Next() {
		if err := seen.see(sc.Entry()); err != nil {
			return seen.n, err
		}
	}
	return seen.n, sc.Err()
}

func readByIterator(ctx context.Context, s *actors.Store, from []byte) (n int, err error) {
	it, err := s.Iterator("t", actors.IteratorOptions{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	var seen ordered
	for err = it.Seek(ctx, tablet.RowRange(tablet.RowBounds{Start: from})); err == nil; err = it.Next(ctx) {
		e, ok := it.Top()
		if !ok {
			break
		}
		if err := seen.see(e); err != nil {
			return seen.n, err
		}
	}
	return seen.n, err
}

package sim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/visibility"
)

// call is something that a caller does with one table of a store.
type call struct {
	name string
	do   func(ctx context.Context, s *actors.Store, n int) error
}

// publicCalls are all calls that a Store has. Each uses what it gets.
var publicCalls = []call{
	{"Apply", func(ctx context.Context, s *actors.Store, n int) error { return s.Apply(ctx, "t", liveBatch(n, 3)) }},
	{"Apply sync", func(ctx context.Context, s *actors.Store, n int) error {
		return s.Apply(ctx, "t", liveBatch(n, 1), actors.WithDurability(tablet.DurabilitySync))
	}},
	{"ApplyAsync", func(ctx context.Context, s *actors.Store, n int) error {
		ack, err := s.ApplyAsync(ctx, "t", liveBatch(n, 20))
		if err != nil {
			return err
		}
		return ack.Wait(ctx)
	}},
	{"Get", func(ctx context.Context, s *actors.Store, n int) error {
		row := fmt.Appendf(nil, "row %02d", n%50)
		e, ok, err := s.Get(ctx, "t", actors.Column{Row: row, Family: []byte("f"), Qualifier: []byte("q")}, visibility.Authorizations{})
		if ok && string(e.Key.Row()) != string(row) {
			return fmt.Errorf("asked for %q, got %v", row, e.Key)
		}
		return err
	}},
	{"Scan", func(ctx context.Context, s *actors.Store, n int) error {
		sc, err := s.Scan(ctx, "t", actors.ScanOptions{PageEntries: 1 + n%7})
		if err != nil {
			return err
		}
		return ordered(sc)
	}},
	{"Scan half", func(ctx context.Context, s *actors.Store, n int) error {
		sc, err := s.Scan(ctx, "t", actors.ScanOptions{PageEntries: 2})
		if err != nil {
			return err
		}
		defer sc.Close()
		for range 3 {
			sc.Next()
		}
		return sc.Err()
	}},
	{"Iterator", func(ctx context.Context, s *actors.Store, n int) error {
		it, err := s.Iterator("t", actors.IteratorOptions{})
		if err != nil {
			return err
		}
		err = it.Seek(ctx, tablet.Range{})
		for i := 0; err == nil && i < 5; i++ {
			if _, ok := it.Top(); !ok {
				break
			}
			err = it.Next(ctx)
		}
		return errors.Join(err, it.Close())
	}},
	{"Flush", func(ctx context.Context, s *actors.Store, n int) error { return s.Flush(ctx, "t") }},
	{"Compact", func(ctx context.Context, s *actors.Store, n int) error {
		_, err := s.Compact(ctx, "t", actors.CompactOptions{Scratch: n%3 == 0})
		return err
	}},
	{"Compact cancelled", func(ctx context.Context, s *actors.Store, n int) error {
		short, cancel := context.WithTimeout(ctx, time.Duration(n%20)*100*time.Microsecond)
		defer cancel()
		if _, err := s.Compact(short, "t", actors.CompactOptions{}); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return nil
	}},
	{"AddSplits", func(ctx context.Context, s *actors.Store, n int) error {
		return s.AddSplits(ctx, "t", [][]byte{fmt.Appendf(nil, "row %02d", n*7%50)})
	}},
	{"Tablets", func(ctx context.Context, s *actors.Store, n int) error { _, err := s.Tablets("t"); return err }},
	{"Stats", func(ctx context.Context, s *actors.Store, n int) error { _, err := s.Stats(ctx, "t"); return err }},
	{"Properties", func(ctx context.Context, s *actors.Store, n int) error {
		p, err := s.Properties(ctx, "t")
		if len(p) > 0 {
			p["mine"] = "own" // it is the caller's
		}
		return err
	}},
	{"SetProperties", func(ctx context.Context, s *actors.Store, n int) error {
		return s.SetProperties(ctx, "t", map[string]string{"table.file.compress.type": [2]string{"snappy", "gz"}[n%2]})
	}},
	{"Tables and others", func(ctx context.Context, s *actors.Store, n int) error {
		s.OpenFiles()
		s.Settings()
		s.Runtime().Alive()
		_, err := s.Tables(ctx)
		return err
	}},
	{"DeleteTable, CreateTable", func(ctx context.Context, s *actors.Store, n int) error {
		return errors.Join(s.DeleteTable(ctx, "t"), s.CreateTable(ctx, "t", [][]byte{[]byte("row 25")}, nil))
	}},
}

// liveBatch are mutations of a few rows.
func liveBatch(n, size int) (all []*tablet.Mutation) {
	for i := range size {
		m := tablet.NewMutation(fmt.Appendf(nil, "row %02d", (n+i*11)%50))
		m.Put([]byte("f"), []byte("q"), nil, fmt.Appendf(nil, "value %d", n))
		all = append(all, m)
	}
	return all
}

// ordered takes everything from a scanner, in order.
func ordered(sc *actors.Scanner) error {
	all, err := ReadAll(sc)
	for i := 1; i < len(all); i++ {
		if tablet.Compare(&all[i-1].Key, &all[i].Key) >= 0 {
			return fmt.Errorf("%v is followed by %v", all[i-1].Key, all[i].Key)
		}
	}
	return err
}

// TestPairs has two goroutines make two of all public calls on one table at the same time, over and over, for each pair of
// calls. It is for the race detector; -n is how many milliseconds each pair gets. Calls fail only when the table is taken
// away under them.
func TestPairs(t *testing.T) {
	each := time.Duration(runs(4)) * time.Millisecond
	ctx := context.Background()
	s, err := actors.Open(ctx, "", actors.WithFS(vfs.Mem()), actors.WithMemoryLimit(64<<20))
	if err != nil {
		t.Fatal(err)
	}
	watch := watchStore(t, s)
	if err := s.CreateTable(ctx, "t", nil, nil); err != nil {
		t.Fatal(err)
	}
	pairs, failed := 0, 0
	var made atomic.Int64
	for i, a := range publicCalls {
		for _, b := range publicCalls[i:] {
			pairs++
			var both sync.WaitGroup
			var stop atomic.Bool
			errs := make([]error, 2)
			for side, c := range []call{a, b} {
				both.Go(func() {
					for n := side; !stop.Load(); n += 2 {
						made.Add(1)
						if err := c.do(ctx, s, n); err != nil && !tableTaken(err, a, b) {
							errs[side] = fmt.Errorf("%s beside %s: %w", c.name, [2]string{b.name, a.name}[side], err)
							return
						}
					}
				})
			}
			time.Sleep(each)
			stop.Store(true)
			both.Wait()
			if err := errors.Join(errs...); err != nil {
				failed++
				t.Error(err)
			}
			if _, err := s.Tablets("t"); err != nil { // two have taken it away and made it
				s.CreateTable(ctx, "t", nil, nil)
			}
		}
	}
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
	lastLine(t, "R50", count("pairs", pairs), count("calls", int(made.Load())), zero("failed", failed), zero("old_messages", watch.old()))
}

// tableTaken says whether an error is because one of the two has deleted the table.
func tableTaken(err error, a, b call) bool {
	const takes = "DeleteTable, CreateTable"
	if a.name != takes && b.name != takes {
		return false
	}
	return errors.Is(err, tablet.ErrUsage) || errors.Is(err, tablet.ErrClosed) || errors.Is(err, tablet.ErrBusy) || errors.Is(err, context.Canceled)
}

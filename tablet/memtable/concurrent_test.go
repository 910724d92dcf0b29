package memtable

import (
	"context"
	"encoding/binary"
	"sync"
	"testing"

	"millrace/tablet"
)

// TestReadersSeeWholeMutations lets readers run beside the writer. Every call of the writer adds one entry to each of a
// few rows, so a reader must find as many entries in each row, and never fewer than at its last look.
func TestReadersSeeWholeMutations(t *testing.T) {
	const rows, calls, readers = 5, 2_000, 3
	table := New()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			seen := 0
			for {
				select {
				case <-stop:
					return
				default:
				}
				counts := countRows(t, table.Snapshot())
				for _, n := range counts {
					if n != counts[0] {
						t.Errorf("rows hold %v entries", counts)
						return
					}
				}
				if counts[0] < seen {
					t.Errorf("%d entries a row, after %d", counts[0], seen)
					return
				}
				seen = counts[0]
			}
		})
	}
	for i := range calls {
		batch := make([]*tablet.Mutation, 0, rows)
		for r := range rows {
			m := tablet.NewMutation([]byte{byte(r)})
			m.Put([]byte("f"), binary.BigEndian.AppendUint64(nil, uint64(i)*0x9e3779b97f4a7c15), nil, nil)
			batch = append(batch, m)
		}
		table.ApplyAll(batch, int64(i), 0)
		if counts := countRowsNow(table); i%100 == 0 && counts != int64((i+1)*rows) {
			t.Fatalf("%d entries after call %d returned", counts, i)
		}
	}
	close(stop)
	wg.Wait()
	if got := countRows(t, table.Snapshot()); got[rows-1] != calls {
		t.Errorf("rows hold %v entries at the end", got)
	}
}

func countRowsNow(table *Table) int64 { return table.Snapshot().Entries() }

func countRows(t *testing.T, s *Snapshot) (counts [5]int) {
	src := s.Source()
	defer src.Close()
	if err := src.Seek(context.Background(), tablet.Range{}, tablet.Families{}); err != nil {
		t.Error(err)
	}
	for {
		b, err := src.Next(context.Background())
		if err != nil {
			t.Error(err)
		}
		if b == nil {
			return counts
		}
		for i := range b.Len() {
			counts[b.Key(i).Row()[0]]++
		}
	}
}

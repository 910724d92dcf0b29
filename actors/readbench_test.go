package actors_test

import (
	"fmt"
	"testing"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/visibility"
)

// BenchmarkShortReads is one look-up in a tablet of several files: by Get, by an iterator that is sought again and again,
// and by a scan of one row with the messages that takes.
func BenchmarkShortReads(b *testing.B) {
	const files, rows = 8, 4000
	s := manyFiles(b, files, rows)
	row := func(i int) []byte { return fmt.Appendf(nil, "row%06d", i*7919%rows) }
	var anyone visibility.Authorizations
	b.Run("get", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			_, ok, err := s.Get(b.Context(), "t", actors.Column{Row: row(i), Family: []byte("f"), Qualifier: []byte("q")}, anyone)
			if err != nil || !ok {
				b.Fatal(ok, err)
			}
		}
	})
	b.Run("iterator", func(b *testing.B) {
		it, err := s.Iterator("t", actors.IteratorOptions{})
		if err != nil {
			b.Fatal(err)
		}
		defer it.Close()
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if err := it.Seek(b.Context(), tablet.ExactRow(row(i))); err != nil {
				b.Fatal(err)
			}
			if _, ok := it.Top(); !ok {
				b.Fatal("nothing")
			}
		}
	})
	b.Run("scan", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			sc, err := s.Scan(b.Context(), "t", actors.ScanOptions{Range: tablet.ExactRow(row(i))})
			if err != nil {
				b.Fatal(err)
			}
			if !sc.Next() {
				b.Fatal(sc.Err())
			}
			sc.Close()
		}
	})
}

// manyFiles makes a store with a table of one tablet whose files all have all rows.
func manyFiles(b *testing.B, files, rows int) *actors.Store {
	b.Helper()
	s, err := actors.Open(b.Context(), "", actors.WithFS(vfs.Mem()), actors.WithProperties(map[string]string{
		"tserver.compaction.major.thread.files.open.max": "1000",
	}))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close(b.Context()) })
	if err := s.CreateTable(b.Context(), "t", nil, map[string]string{"table.file.max": "1000", "table.compaction.major.ratio": "1000"}); err != nil {
		b.Fatal(err)
	}
	for range files {
		var all []*tablet.Mutation
		for i := range rows {
			m := tablet.NewMutation(fmt.Appendf(nil, "row%06d", i))
			m.Put([]byte("f"), []byte("q"), nil, []byte("value"))
			all = append(all, m)
		}
		if err := s.Apply(b.Context(), "t", all); err != nil {
			b.Fatal(err)
		}
		if err := s.Flush(b.Context(), "t"); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

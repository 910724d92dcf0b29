package manifest

import (
	"fmt"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// bigState is a table of many tablets with four files each.
func bigState(b testing.TB, tablets int, next *uint64) *State {
	number := func() uint64 { *next++; return *next - 1 }
	e := CreateTable{Table: "t", ID: number(), Tablets: []uint64{number()}}
	for i := 1; i < tablets; i++ {
		e.Splits = append(e.Splits, fmt.Appendf(nil, "%08d", i))
		e.Tablets = append(e.Tablets, number())
	}
	s := mustApply(b, Empty(), e)
	for _, tab := range e.Tablets {
		for age := range uint64(4) {
			s = mustApply(b, s, Install{Tablet: tab, Session: age + 1, Add: bigFile(s.Tablet(tab), number(), age+1)})
		}
	}
	return s
}

func bigFile(t *Tablet, number, age uint64) *FileRef {
	row := append(append([]byte{}, t.Extent.PrevEndRow...), '+') // between it and the next, however short
	return &FileRef{FileMeta: tablet.FileMeta{Number: number, Name: FileName("F", number), Bytes: 1e8, Entries: 1e6, FirstRow: row, LastRow: row,
		Ages: tablet.AgeRange{Oldest: age, Newest: age}, ID: [16]byte{1}, CRC: 1}}
}

// flushOf is the next flush of some tablet, which takes its newest file along, so that there are not more and more.
func flushOf(s *State, i int, number uint64) Edit {
	t := s.tablets.chunks[i%len(s.tablets.chunks)][0]
	f := bigFile(t, number, t.NextAge)
	f.Ages.Oldest = t.Files[0].Ages.Oldest
	return Install{Tablet: t.Number, Session: t.Session + 1, Time: t.Time, Remove: []uint64{t.Files[0].Number}, Add: f}
}

// BenchmarkRecord records edits in a store of 10,000 tablets with 40,000 files, on a file system without delay.
func BenchmarkRecord(b *testing.B) {
	for _, tablets := range []int{10, 10_000} {
		next := uint64(1)
		s := bigState(b, tablets, &next)
		number := func() uint64 { next++; return next - 1 }
		b.Run(fmt.Sprintf("install/tablets=%d", tablets), func(b *testing.B) {
			w := openWriter(b, aStore(b), s, Options{NextNumber: number, SameRun: true, RollBytes: 1 << 40})
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := w.Record(flushOf(w.State(), i, number())); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("swap/tablets=%d", tablets), func(b *testing.B) {
			w := openWriter(b, aStore(b), s, Options{NextNumber: number, SameRun: true, RollBytes: 1 << 40})
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				t := w.State().tablets.chunks[i%len(w.State().tablets.chunks)][1]
				if _, err := w.Record(Swap{Tablet: t.Number, Remove: []uint64{t.Files[0].Number}, Add: bigFile(t, number(), t.Files[0].Ages.Newest)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOpen begins a file with a state of 10,000 tablets, and reads it.
func BenchmarkOpen(b *testing.B) {
	next := uint64(1)
	s := bigState(b, 10_000, &next)
	mem := aStore(b)
	number := func() uint64 { next++; return next - 1 }
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			w := openWriter(b, mem, s, Options{NextNumber: number})
			b.SetBytes(w.current.snapshot)
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if found, err := Read(b.Context(), mem); err != nil || found.State.TabletCount() != 10_000 {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkRecordDisk records on a real file system, sync and all.
func BenchmarkRecordDisk(b *testing.B) {
	next := uint64(1)
	s := bigState(b, 10_000, &next)
	number := func() uint64 { next++; return next - 1 }
	fsys, err := vfs.Dir(b.TempDir())
	check(b, err)
	check(b, fsys.MkdirAll(Dir))
	w := openWriter(b, fsys, s, Options{NextNumber: number, RollBytes: 1 << 40})
	for i := 0; b.Loop(); i++ {
		if _, err := w.Record(flushOf(w.State(), i, number())); err != nil {
			b.Fatal(err)
		}
	}
}

package actors_test

import (
	"testing"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// BenchmarkStoreApply: one writer, eight tablets, one update a mutation, batches of 500 without waiting for each.
func BenchmarkStoreApply(b *testing.B) {
	s, err := actors.Open(b.Context(), "", actors.WithFS(vfs.Mem()), actors.WithProperties(map[string]string{"tserver.memory.maps.max": "1G"}))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close(b.Context())
	if err := s.CreateTable(b.Context(), "ci", eighths, nil); err != nil {
		b.Fatal(err)
	}
	m := newModel()
	mutations := m.mutations(200_000)
	b.ReportAllocs()
	b.ResetTimer()
	n := 0
	for b.Loop() {
		var acks []*actors.Ack
		for at := 0; at < len(mutations); at += 500 {
			ack, err := s.ApplyAsync(b.Context(), "ci", mutations[at:at+500])
			if err != nil {
				b.Fatal(err)
			}
			acks = append(acks, ack)
		}
		for _, a := range acks {
			if err := a.Wait(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		n += len(mutations)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "mutations/s")
}

// BenchmarkStoreScan reads 200,000 entries from memory and from files.
func BenchmarkStoreScan(b *testing.B) {
	for _, where := range []string{"memory", "files"} {
		b.Run(where, func(b *testing.B) {
			s, err := actors.Open(b.Context(), "", actors.WithFS(vfs.Mem()))
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close(b.Context())
			if err := s.CreateTable(b.Context(), "ci", eighths, map[string]string{"table.file.compress.type": "none"}); err != nil {
				b.Fatal(err)
			}
			if err := s.Apply(b.Context(), "ci", newModel().mutations(200_000)); err != nil {
				b.Fatal(err)
			}
			if where == "files" {
				if err := s.Flush(b.Context(), "ci"); err != nil {
					b.Fatal(err)
				}
			}
			n := 0
			for b.Loop() {
				sc, err := s.Scan(b.Context(), "ci", actors.ScanOptions{})
				if err != nil {
					b.Fatal(err)
				}
				for sc.Next() {
					n++
				}
				if sc.Err() != nil {
					b.Fatal(sc.Err())
				}
				sc.Close()
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}

// BenchmarkStoreApplyOne is the whole way of a single mutation: what a caller waits who writes one at a time.
func BenchmarkStoreApplyOne(b *testing.B) {
	s, err := actors.Open(b.Context(), "", actors.WithFS(vfs.Mem()))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close(b.Context())
	if err := s.CreateTable(b.Context(), "ci", nil, nil); err != nil {
		b.Fatal(err)
	}
	one := []*tablet.Mutation{put("a")}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Apply(b.Context(), "ci", one); err != nil {
			b.Fatal(err)
		}
	}
}

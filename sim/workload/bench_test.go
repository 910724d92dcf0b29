package workload

import "testing"

func BenchmarkNext(b *testing.B) {
	g := newGenerator(b, Options{FlushEntries: 100_000})
	b.ReportAllocs()
	for b.Loop() {
		g.Next()
	}
}

func BenchmarkMutation(b *testing.B) {
	g := newGenerator(b, Options{FlushEntries: 100_000})
	b.ReportAllocs()
	for b.Loop() {
		w, _ := g.Next()
		w.Mutation()
	}
}

// BenchmarkVerify takes in entries and reports once at the end; both are in the time of an entry.
func BenchmarkVerify(b *testing.B) {
	all := storedBy(newGenerator(b, Options{FlushEntries: 20_000, Limit: 1_000_000}))
	b.ReportAllocs()
	b.ResetTimer()
	v := NewVerifier()
	for i := range b.N {
		s := &all[i%len(all)]
		v.Add(&s.key, s.value)
		if i%len(all) == len(all)-1 || i == b.N-1 {
			v.Report()
			v = NewVerifier()
		}
	}
}

package hosted

import (
	"testing"

	"millrace/tablet"
)

func BenchmarkPrepareCommit(b *testing.B) {
	tab, err := New(State{}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	const batch = 500
	ms := make([]*tablet.Mutation, batch)
	for i := range ms {
		ms[i] = tablet.NewMutation([]byte{byte(i), byte(i >> 8)})
		ms[i].Put([]byte("0a1b"), []byte("7ffe"), []byte("A&B"), make([]byte, 79))
	}
	b.ReportAllocs()
	for i := 0; i < b.N; i += batch { // an operation is one mutation
		p, _ := tab.Prepare(ms[:min(batch, b.N-i)], int64(i))
		tab.Commit(p)
	}
}

func BenchmarkView(b *testing.B) {
	tab, err := New(State{}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		tab.View().Release()
	}
}

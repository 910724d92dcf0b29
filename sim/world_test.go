package sim

import (
	"context"
	"fmt"
	"testing"

	"millrace/actors"
	"millrace/tablet"
)

func TestWorldOpensAndCloses(t *testing.T) {
	w := New(Options{Seed: firstSeed()})
	defer w.End()
	if err := w.Open(); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	s := w.Store()
	if err := s.CreateTable(ctx, "t", [][]byte{[]byte("m")}, nil); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		m := tablet.NewMutation(fmt.Appendf(nil, "%c", 'a'+2*i))
		m.Put([]byte("f"), []byte("q"), nil, []byte("v"))
		if err := s.Apply(ctx, "t", []*tablet.Mutation{m}); err != nil {
			t.Fatal(err)
		}
		if i == 4 {
			if err := s.Flush(ctx, "t"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := s.Compact(ctx, "t", actors.CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	sc, err := s.Scan(ctx, "t", actors.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for sc.Next() {
		n++
	}
	sc.Close()
	if sc.Err() == nil || n != 10 {
		t.Errorf("%d entries, %v", n, sc.Err())
	}
	if err := w.CloseStore(); err != nil {
		t.Fatal(err)
	}
	t.Log(w.Steps(), w.Digest())
}

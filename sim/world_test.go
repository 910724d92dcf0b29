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

// Two stores that have done the same hold the same, whatever their schedules.
func TestNumberedHistoriesAgree(t *testing.T) {
	var first string
	for i, schedule := range []Schedule{{Kind: FIFO}, {Kind: LIFO}, {Kind: PCT}, {Kind: Burst}} {
		w := New(Options{Seed: uint64(i), Schedule: schedule})
		p := NewPlayer(w, PlayOptions{Tables: []string{"t", "u"}, PropertiesOf: func(table string) map[string]string {
			return map[string]string{"table.durability": map[string]string{"t": "sync", "u": "log"}[table]}
		}})
		if err := p.Begin(); err != nil {
			t.Fatal(err)
		}
		if err := p.Play(NewHistory(firstSeed(), HistoryOptions{Ops: 60, Numbered: true, Tables: []string{"t", "u"}})); err != nil {
			t.Fatal(err)
		}
		var all []tablet.Entry
		for _, table := range []string{"t", "u"} {
			found, err := p.Scan(table)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, found...)
		}
		w.End()
		if text := fmt.Sprint(all); i == 0 {
			first = text
		} else if text != first {
			t.Errorf("schedule %v gave\n%s\nand %v\n%s", schedule, text, FIFO, first)
		}
		if len(all) < 10 {
			t.Errorf("only %d entries", len(all))
		}
	}
}

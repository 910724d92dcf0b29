package sim

import (
	"context"
	"fmt"
	"testing"

	"millrace/actors"
	"millrace/tablet"
)

// TestReseekOverFlush opens an iterator on memory, reads an entry, has the table flushed, compacted or split under it, and
// seeks to the same key, the next one and the one before: it must find what it finds without.
func TestReseekOverFlush(t *testing.T) {
	n := runs(100)
	failed := overSeeds(t, n, func(seed uint64) error {
		w := New(Options{Seed: seed, Schedule: ScheduleFor(seed)})
		defer w.End()
		p := NewPlayer(w, PlayOptions{})
		if err := p.Begin(); err != nil {
			return err
		}
		if err := p.Play(NewHistory(seed, HistoryOptions{Ops: 15, Weights: map[OpKind]int{Write: 12, Flush: int(seed % 3)}})); err != nil {
			return err
		}
		whole, err := p.Scan("t")
		if err != nil || len(whole) == 0 {
			return err
		}
		return p.iterate(func(ctx context.Context, it *actors.Iterator) error { return reseek(ctx, p, it, whole, seed) })
	})
	lastLine(t, "B016", count("iterators", n), zero("different", failed))
}

func reseek(ctx context.Context, p *Player, it *actors.Iterator, whole []tablet.Entry, seed uint64) error {
	r := stream(seed, "reseek")
	for range 6 {
		at := r.IntN(len(whole))
		for _, i := range []int{at, at + 1, at - 1, at} {
			if i < 0 || i >= len(whole) {
				continue
			}
			if err := soughtRest(ctx, it, whole, i, 1+r.IntN(4)); err != nil {
				return err
			}
			kind := [4]OpKind{Flush, Full, Split, strictPartial}[r.IntN(4)]
			if err := p.doOr(Op{Kind: kind, Table: "t", Pick: r.Uint64(), Row: whole[at].Key.Row()}, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// soughtRest seeks to the key of entry i and reads on for a few entries. Of equal keys the first comes.
func soughtRest(ctx context.Context, it *actors.Iterator, whole []tablet.Entry, i, steps int) error {
	for i > 0 && tablet.Compare(&whole[i-1].Key, &whole[i].Key) == 0 {
		i--
	}
	err := it.Seek(ctx, tablet.Range{}.WithStart(whole[i].Key))
	for ; err == nil && steps > 0; steps-- {
		e, ok := it.Top()
		if i == len(whole) {
			if ok {
				return fmt.Errorf("%v behind the last entry", e.Key)
			}
			return nil
		}
		if !ok {
			return fmt.Errorf("nothing, want %v", whole[i].Key)
		}
		if err := sameSight(whole[i:i+1], []tablet.Entry{e}); err != nil {
			return err
		}
		i++
		err = it.Next(ctx)
	}
	return err
}

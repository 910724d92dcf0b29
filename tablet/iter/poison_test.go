package iter

import (
	"bytes"
	"testing"

	"millrace/internal/invariant"
	"millrace/tablet"
)

// keeper is a source whose batches stay as they are.
func keeper(entries []tablet.Entry, size int) Source { return FromBatches(Batches(entries, size)) }

// TestPoison keeps views longer than they are valid, and wants them spoilt: by the next batch of the source and by Close.
func TestPoison(t *testing.T) {
	if !invariant.Enabled {
		t.Skip("only with the build tag invariants")
	}
	entries := parseEntries(t, `
		a f:q [] 1 x
		b f:q [] 1 y
		c f:q [] 1 z`)
	spoilt := func(e tablet.Entry) bool {
		return bytes.Count(e.Key.Data(), []byte{poisonByte}) == e.Key.Size() && bytes.Count(e.Value, []byte{poisonByte}) == len(e.Value)
	}
	for _, mode := range allModes {
		for k := 1; k <= 3; k++ {
			sources := []Source{keeper(entries, 1)}
			for len(sources) < k {
				sources = append(sources, keeper(nil, 1))
			}
			m := NewMerge(mode, sources)
			if err := m.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
				t.Fatal(err)
			}
			var views []tablet.Entry
			runs := make([]Run, 1)
			for i := range 2 {
				if n, err := m.Fill(ctx, runs); n != 1 || err != nil {
					t.Fatalf("%d runs, %v", n, err)
				}
				views = append(views, m.Batch(0).Entry(0))
				if spoilt(views[i]) || i > 0 && !spoilt(views[i-1]) {
					t.Errorf("%v, %d sources: entry %d reads %v, the one before %v", mode, k, i, views[i].Key, views[max(i-1, 0)].Key)
				}
			}
			m.Close()
			if !spoilt(views[1]) {
				t.Errorf("%v, %d sources: after close an entry reads %v", mode, k, views[1].Key)
			}
		}
	}
}

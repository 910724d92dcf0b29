package iter

import (
	"testing"

	"millrace/tablet"
)

// TestRunsAreLong wants a run to end only where another source has the next entry, or its batch ends, or the vector does:
// from every mode that makes runs, and from a stack that drops nothing.
func TestRunsAreLong(t *testing.T) {
	r := random(t)
	pool := NewPool()
	for range rounds(2_000) {
		a := newAdversary(r)
		a.markers = false
		sources := a.sources(1+r.IntN(6), 1+r.IntN(40))
		for _, mode := range allModes {
			if mode == TreeEntry {
				continue
			}
			for _, stacked := range []bool{false, true} {
				m := verified(pool.Get(mode, openSources(r, sources)))
				var s RunSource = m
				if stacked {
					s = NewStack(m, StackOptions{})
				}
				if err := s.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
					t.Fatal(err)
				}
				checkRuns(t, mode, s)
				m.Close()
			}
		}
	}
}

func checkRuns(t *testing.T, mode Mode, s RunSource) {
	t.Helper()
	runs := make([]Run, 256)
	var last Run
	whole := true // the last run went to the end of its batch
	for {
		n, err := s.Fill(ctx, runs)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return
		}
		for i, run := range runs[:n] {
			if !whole && run.Src == last.Src && run.Lo == last.Hi {
				t.Fatalf("%v: run %+v goes on with %+v of the same batch, number %d of %d in the vector", mode, run, last, i, n)
			}
			last, whole = run, int(run.Hi) == s.Batch(run.Src).Len()
		}
	}
}

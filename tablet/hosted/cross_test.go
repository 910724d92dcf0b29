package hosted

import (
	"testing"

	"millrace/tablet"
)

// inTurn has the given files compacted, one set after the other.
type inTurn struct{ sets [][]uint64 }

func (p *inTurn) Next(Situation) ([]uint64, string) {
	if len(p.sets) == 0 {
		return nil, ""
	}
	return p.sets[0], "its turn"
}
func (p *inTurn) TakeAlong(Situation) (uint64, bool) { return 0, false }
func (p *inTurn) Validate() error                    { return nil }

// Two jobs whose files lie between each other by age, and hold no key in common file by file, are not done at once where
// the output of one could hold keys of the other's inputs. The one that waits takes the other's output along if that is so.
func TestJobsDoNotCross(t *testing.T) {
	f := func(rows [4]string, want bool, later int) {
		t.Helper()
		s := State{Extent: tablet.Extent{Table: "t"}}
		for i, r := range rows {
			age := uint64(i + 1)
			s.Files = append(s.Files, tablet.FileMeta{Number: age, Entries: 1, Ages: tablet.AgeRange{Oldest: age, Newest: age},
				FirstRow: []byte(r[:1]), LastRow: []byte(r[1:])})
		}
		p := &inTurn{[][]uint64{{1, 3}}}
		h, err := New(s, Options{Planner: p})
		if err != nil {
			t.Fatal(err)
		}
		first, ok := h.NextJob()
		if !ok || len(first.Inputs) != 2 {
			t.Fatalf("first job %+v, %v", first, ok)
		}
		p.sets = [][]uint64{{2, 4}}
		if _, ok := h.NextJob(); ok != want {
			t.Errorf("rows %q: a second job at once: %v, want %v", rows, ok, want)
		}
		out := tablet.FileMeta{Number: 9, Entries: 2, Ages: first.Ages, FirstRow: s.Files[0].FirstRow, LastRow: s.Files[2].LastRow}
		if err := h.Swap([]uint64{1, 3}, &out); err != nil {
			t.Fatal(err)
		}
		if next, ok := h.NextJob(); !want && (!ok || len(next.Inputs) != later) {
			t.Errorf("rows %q: the job that waited: %+v, %v", rows, next, ok)
		}
	}
	f([4]string{"ab", "cd", "yz", "wx"}, false, 3) // the first output, of a to z, may hold c
	f([4]string{"ab", "yz", "cd", "yz"}, true, 0)
	f([4]string{"kl", "ab", "mn", "yz"}, false, 2) // the second output, of a to z, may hold k
}

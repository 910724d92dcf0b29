package iter

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"millrace/tablet"
)

// blocks is a source of blocks of a few batches each.
type blocks struct {
	batches []*tablet.Batch
	last    []int // entry that ends each batch's block, by its number in the source
	all     []tablet.Entry
	at      int
}

func newBlocks(r *rand.Rand, all []tablet.Entry) *blocks {
	s := &blocks{all: all}
	for from := 0; from < len(all); {
		to := min(len(all), from+1+r.IntN(12))
		for at := from; at < to; {
			end := min(to, at+1+r.IntN(5))
			b := Batches(all[:end], end)[0] // for the codes
			b.Refs, b.Codes = b.Refs[at:], b.Codes[at:]
			b.Facts.FirstOf, b.Facts.MaxCode = at == from, 0
			for _, c := range b.Codes[1:] {
				b.Facts.MaxCode = max(b.Facts.MaxCode, c)
			}
			s.batches, s.last = append(s.batches, b), append(s.last, to-1)
			at = end
		}
		from = to
	}
	return s
}

func (s *blocks) Seek(context.Context, tablet.Range, tablet.Families) error { s.at = 0; return nil }

func (s *blocks) Next(context.Context) (*tablet.Batch, error) {
	if s.at == len(s.batches) {
		return nil, nil
	}
	s.at++
	return s.batches[s.at-1], nil
}

func (s *blocks) Close() error { return nil }

func (s *blocks) BlockEnd() (tablet.Key, bool) { return s.all[s.last[s.at-1]].Key, true }

// TestAlone holds Alone, in every mode, against what the sources have left when a block begins.
func TestAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	yes, no := 0, 0
	for range 200 {
		sources := make([]*blocks, 1+r.IntN(5))
		dealt := make([][]tablet.Entry, len(sources))
		to := 0
		for i := range 150 {
			if r.IntN(25) == 0 {
				to = r.IntN(len(sources))
			}
			k := tablet.NewKey(tablet.Fields{Row: fmt.Appendf(nil, "%04d", i/3-r.IntN(2)*r.IntN(2))})
			if n := len(dealt[to]); n > 0 && tablet.Compare(&dealt[to][n-1].Key, &k) > 0 {
				continue
			}
			dealt[to] = append(dealt[to], tablet.Entry{Key: k})
		}
		for i := range sources {
			sources[i] = newBlocks(r, dealt[i])
		}
		for _, mode := range Modes() {
			y, n := checkAlone(t, mode, sources, 1+r.IntN(9))
			yes, no = yes+y, no+n
		}
	}
	if yes < 1000 || no < 1000 {
		t.Errorf("%d blocks stand alone and %d do not", yes, no)
	}
}

// checkAlone merges sources and counts the blocks that stand alone and those that do not.
func checkAlone(t *testing.T, mode Mode, sources []*blocks, room int) (yes, no int) {
	t.Helper()
	var in []Source
	for _, s := range sources {
		in = append(in, s)
	}
	m := NewMerge(mode, in)
	defer m.Close()
	if err := m.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		t.Fatal(err)
	}
	left := make([]int, len(sources))    // entries of each that left
	expect := make([]bool, len(sources)) // of the block being read
	runs := make([]Run, room)
	for {
		n, err := m.Fill(ctx, runs)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return yes, no
		}
		for _, run := range runs[:n] {
			if run.Lo == 0 {
				if got := m.Alone(run.Src); got != expect[run.Src] {
					t.Fatalf("%v: entry %d of source %d begins a batch, alone: %v, want %v", mode, left[run.Src], run.Src, got, expect[run.Src])
				} else if got {
					yes++
				} else {
					no++
				}
			}
			left[run.Src] += run.Len()
			if s := sources[run.Src]; int(run.Hi) == m.Batch(run.Src).Len() {
				expect[run.Src] = aloneNow(sources, left, s.at, int(run.Src))
			}
		}
	}
}

// aloneNow says whether the batch that follows in a source begins a block that stands alone, by all that is left.
func aloneNow(sources []*blocks, left []int, batch, src int) bool {
	s := sources[src]
	if batch == len(s.batches) || !s.batches[batch].Facts.FirstOf {
		return false
	}
	end := &s.all[s.last[batch]].Key
	for i, other := range sources {
		if i != src && left[i] < len(other.all) && tablet.Compare(&other.all[left[i]].Key, end) <= 0 {
			return false
		}
	}
	return true
}

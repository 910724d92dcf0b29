package experiment

import (
	"context"
	"fmt"
	"sync"

	"millrace/actors"
	"millrace/tablet/locate"
	"millrace/writer"
)

// freeStage acknowledges whatever it gets at once, so that the writer itself is the limit.
type freeStage struct {
	rt   *actors.Runtime
	dest writer.Destination
}

// newFreeStage has so many tablets.
func newFreeStage(rt *actors.Runtime, mutations int, at WriterPlace) *freeStage {
	splits := writerSplits(mutations, at.Tablets)
	warm := writer.Discard{Tablets: locate.FromSplits(1, writerTable, splits)}
	if at.Map == mapWarm {
		return &freeStage{rt: rt, dest: warm}
	}
	return &freeStage{rt: rt, dest: &coldMap{Discard: warm, splits: splits}}
}

func (s *freeStage) open(_ context.Context, o writer.Options) (*writer.BatchWriter, error) {
	return actors.NewWriter(s.rt, s.dest, o)
}

func (s *freeStage) finish(context.Context, bool) error { return nil }

// coldMap forgets where tablets are each time so many mutations have come, as when tablets move. Whoever bins next makes the
// map anew of the list of tablets, and others that bin wait for him. So every variant finds it out equally often.
type coldMap struct {
	writer.Discard
	splits [][]byte

	mu    sync.Mutex
	fresh *locate.Map
	sent  int // mutations since the map was made
}

// forgetEach is how many mutations a map is good for.
const forgetEach = 10_000

// Map implements writer.Destination.
func (c *coldMap) Map() (*locate.Map, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fresh == nil {
		c.fresh = locate.FromSplits(1, writerTable, c.splits)
	}
	return c.fresh, nil
}

// Send implements writer.Destination.
func (c *coldMap) Send(s *writer.Set) {
	n := 0
	for i := range s.Bins {
		n += len(s.Bins[i].Mutations)
	}
	c.mu.Lock()
	if c.sent += n; c.sent >= forgetEach {
		c.sent, c.fresh = 0, nil
	}
	c.mu.Unlock()
	c.Discard.Send(s)
}

// writerTable is the name of tables that are written to; a store's have a number behind it.
const writerTable = "sim_writer"

// writerSplits cuts the rows of makeMutations evenly.
func writerSplits(mutations, tablets int) (splits [][]byte) {
	for i := 1; i < tablets; i++ {
		splits = append(splits, fmt.Appendf(nil, "%010d", mutations*i/tablets))
	}
	return splits
}

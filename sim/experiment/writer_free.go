package experiment

import (
	"context"
	"fmt"
	"sync"
	"time"

	"millrace/actors"
	"millrace/internal/clock"
	"millrace/tablet/locate"
	"millrace/writer"
)

// freeStage acknowledges whatever it gets at once, so that the writer itself is the limit.
type freeStage struct {
	rt   *actors.Runtime
	warm writer.Discard
	cold *coldMap // nil if the map is warm
}

// newFreeStage has so many tablets.
func newFreeStage(rt *actors.Runtime, mutations int, at WriterPlace) *freeStage {
	splits := writerSplits(mutations, at.Tablets)
	s := &freeStage{rt: rt, warm: writer.Discard{Tablets: locate.FromSplits(1, writerTable, splits)}}
	if at.Map == mapCold {
		s.cold = &coldMap{Discard: s.warm, splits: splits, clock: clock.Real{}, each: int(ceilDiv(int64(mutations), forgotten))}
	}
	return s
}

func (s *freeStage) open(_ context.Context, o writer.Options) (*writer.BatchWriter, error) {
	if s.cold == nil {
		return actors.NewWriter(s.rt, s.warm, o)
	}
	s.cold.forget()
	return actors.NewWriter(s.rt, s.cold, o)
}

func (s *freeStage) finish(context.Context, bool) error { return nil }

// maps is how often it was found out where tablets are, since the last open.
func (s *freeStage) maps() int {
	if s.cold == nil {
		return 0
	}
	s.cold.mu.Lock()
	defer s.cold.mu.Unlock()
	return s.cold.made
}

// coldMap forgets where tablets are several times in a run, as when tablets move. Whoever bins next waits for the answer, as
// of a metadata table, and makes the map anew of the list of tablets; others that bin meanwhile wait for him.
type coldMap struct {
	writer.Discard
	splits [][]byte
	clock  clock.Clock
	each   int // mutations that a map is good for

	mu    sync.Mutex
	fresh *locate.Map
	sent  int
	made  int
}

const (
	// forgotten is how often in a run. Not more often, so that variants with large sets, of which each is binned by one map,
	// find out about as often as the others: the largest set is of 194,181 of a million mutations.
	forgotten = 5
	// answerWait is how long the answer takes.
	answerWait = 10 * time.Millisecond
)

func (c *coldMap) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fresh, c.sent, c.made = nil, 0, 0
}

// Map implements writer.Destination.
func (c *coldMap) Map() (*locate.Map, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fresh == nil {
		if err := clock.Sleep(context.Background(), c.clock, answerWait); err != nil {
			return nil, err
		}
		c.fresh = locate.FromSplits(1, writerTable, c.splits)
		c.made++
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
	before := c.sent / c.each
	if c.sent += n; c.sent/c.each > before {
		c.fresh = nil
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

package writer

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"millrace/internal/invariant"
	"millrace/tablet"
	"millrace/tablet/locate"
	"millrace/writer/binning"
)

// Set is mutations on their way from a buffer through binning to the destination. Whoever has it owns it; a destination must
// not keep Bins once every mutation is settled. Done, Fail and Refuse are safe for concurrent use.
type Set struct {
	// Map is what the set was binned by. Where tablets have changed since, the destination bins again.
	Map  *locate.Map
	Bins []binning.Binned // by tablet, of which one may have several; then the first count first
	// Durability and AtLeastOnce are the writer's options.
	Durability  tablet.Durability
	AtLeastOnce bool

	w         *BatchWriter
	number    uint64
	shard     int
	parts     [][]binning.Item // before it is binned
	result    binning.Result
	left      atomic.Int64 // mutations that are not settled
	leftBytes atomic.Int64
	sent      atomic.Int64 // when it was sent, or settled something last; 0 before
}

// Done settles mutations that are written: so many, of so much estimated memory, which is given back.
func (s *Set) Done(mutations int, bytes int64) {
	s.w.counters.acknowledged.Add(int64(mutations))
	s.settle(int64(mutations), bytes)
}

// Fail settles mutations that are not written, or of which it is not known. The slice is not kept.
func (s *Set) Fail(mutations []*tablet.Mutation, e tablet.Extent, err error, unknown bool) {
	if len(mutations) == 0 {
		return
	}
	var bytes int64
	for _, m := range mutations {
		bytes += int64(m.EstimatedMemory())
	}
	s.w.reject(mutations, e, err, unknown)
	s.settle(int64(len(mutations)), bytes)
}

// Refuse settles all that is not settled yet; what is settled afterwards does not count. It is for sets that their owner has
// lost: all mutations are named as failed.
func (s *Set) Refuse(err error, unknown bool) {
	left := s.left.Swap(-1 << 60)
	if left <= 0 {
		return
	}
	s.w.reject(s.mutations(), tablet.Extent{}, err, unknown)
	s.w.memory.release(s.leftBytes.Swap(0))
	s.w.settled(s)
}

// Expired is why a set is given up.
func (s *Set) Expired() error {
	return fmt.Errorf("nothing applied for %v: %w", s.w.opts.Timeout, context.DeadlineExceeded)
}

// Progress is when the set was sent, or something of it was settled last. It is kept only if there is a timeout.
func (s *Set) Progress() time.Time { return time.Unix(0, s.sent.Load()) }

func (s *Set) settle(mutations, bytes int64) {
	left := s.left.Add(-mutations)
	if left < 0 {
		invariant.That(left < -1<<59, "a mutation of a batch writer is settled twice")
		return // it was refused
	}
	if s.w.opts.Timeout > 0 {
		s.sent.Store(s.w.clock.Now().UnixNano())
	}
	s.leftBytes.Add(-bytes)
	s.w.memory.release(bytes)
	if left == 0 {
		s.w.settled(s)
	}
}

// bin bins the set by the destination's present map and has what was not located fail.
func (s *Set) bin(scratch *binning.Scratch) error {
	m, err := s.w.dest.Map()
	if err != nil {
		return err
	}
	s.Map = m
	s.result.Bins = s.w.bins.get()
	binning.Bin(s.parts, m, scratch, &s.result)
	s.Bins = s.result.Bins
	s.w.recycle(s)
	return nil
}

// mutations are all of the set.
func (s *Set) mutations() (all []*tablet.Mutation) {
	for _, p := range s.parts {
		for i := range p {
			all = append(all, p[i].Mutation)
		}
	}
	if s.parts == nil {
		for i := range s.Bins {
			all = append(all, s.Bins[i].Mutations...)
		}
		all = append(all, s.result.Failed...)
	}
	return all
}

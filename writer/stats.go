package writer

import (
	"sync/atomic"
	"time"
)

// Stats counts what a writer has done so far.
type Stats struct {
	Mutations    int64 // added
	Bytes        int64 // estimated memory of those
	Sets         int64 // handed to binning
	Acknowledged int64 // mutations that are written
	Failed       int64 // mutations that are named in the error
	// BinningWaits are Adds that waited while a set was binned on some caller's goroutine: their own, or one that kept them
	// out. With Actors there is no place where it could grow.
	BinningWaits int64
	CallerBinned int64 // sets that a caller of Add, Flush or Close binned
	MemoryWaits  int64 // Adds that waited for memory
	MemoryWait   time.Duration
	Binning      time.Duration // spent in binning, wherever
	// LongestAdd is the longest single Add among those that had to wait for something: for memory, for another's add, or
	// for binning. Those that had not take less than a microsecond, and no time is taken of them.
	LongestAdd time.Duration
	// Memory is the estimated memory of what is not settled, and LargestMemory the most that was taken at a time, with what
	// buffers have taken for mutations to come.
	Memory, LargestMemory int64
}

// counters is what Stats is made of.
type counters struct {
	sets, acknowledged, failed, callerBinned, binningWaits, memoryWaits atomic.Int64
	memoryWait, binning, longestAdd                                     atomic.Int64 // nanoseconds
}

// longest keeps the greatest of durations.
func (c *counters) longest(d time.Duration) {
	for {
		old := c.longestAdd.Load()
		if int64(d) <= old || c.longestAdd.CompareAndSwap(old, int64(d)) {
			return
		}
	}
}

// Stats returns what the writer has done so far.
func (w *BatchWriter) Stats() Stats {
	c := &w.counters
	s := Stats{
		Sets: c.sets.Load(), Acknowledged: c.acknowledged.Load(), Failed: c.failed.Load(), CallerBinned: c.callerBinned.Load(),
		BinningWaits: c.binningWaits.Load(), MemoryWaits: c.memoryWaits.Load(), MemoryWait: time.Duration(c.memoryWait.Load()),
		Binning: time.Duration(c.binning.Load()), LongestAdd: time.Duration(c.longestAdd.Load()),
		Memory: w.memory.used.Load(), LargestMemory: w.memory.largest.Load(),
	}
	for i := range w.shards {
		sh := &w.shards[i]
		sh.lock()
		s.Mutations += sh.mutations + sh.buffered()
		s.Bytes += sh.total + sh.bytes
		s.Memory -= sh.credit
		sh.unlock()
	}
	return s
}

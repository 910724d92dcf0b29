package writer

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"millrace/internal/clock"
	"millrace/tablet"
	"millrace/writer/binning"
)

// BatchWriter gathers mutations and sends them to a destination in sets. All methods are safe for concurrent use.
type BatchWriter struct {
	opts  Options
	host  Host
	clock clock.Clock
	dest  Destination
	cut   int64 // estimated memory from which on a buffer, or with NoSync all of them together, makes a set

	memory   memory
	tracker  tracker
	shards   []shard
	filling  atomic.Int64 // NoSync: estimated memory in all buffers
	cutting  sync.Mutex   // NoSync: held while a set is made of all buffers
	stage    stage
	senders  []outbox // of a destination that blocks
	counters counters
	items    spares[binning.Item]   // of buffers
	bins     spares[binning.Binned] // of sets
	scratch  sync.Pool              // *binning.Scratch, of callers that bin

	failed    atomic.Pointer[RejectedError] // what has failed so far
	rejecting sync.Mutex
	closed    atomic.Bool
	armed     atomic.Bool // the timer of latency
	watching  atomic.Bool // the timer of timeouts
	timers    sync.Mutex
	latency   clock.Timer
	watch     clock.Timer
}

// New returns a writer to a destination. It is closed by whoever made it. Errors in the options are an ErrUsage.
func New(h Host, d Destination, o Options) (*BatchWriter, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	_, blocks := d.(Blocking)
	o = o.withDefaults(runtime.GOMAXPROCS(0))
	w := &BatchWriter{opts: o, host: h, clock: h.Clock(), dest: d}
	w.memory.max = o.MemoryBytes
	w.tracker.first = 1
	w.scratch.New = func() any { return new(binning.Scratch) }
	workers := w.begin(!blocks)
	for i := range w.shards {
		w.shards[i].index = i
		w.shards[i].init()
	}
	w.memory.piece = min(o.MemoryBytes/8/int64(max(len(w.shards), 8)), pieceMax)
	if blocks {
		w.senders = make([]outbox, w.sendThreads())
		for i := range w.senders {
			w.senders[i].worker = workers + i
		}
	}
	if err := h.Start(w, workers+len(w.senders)); err != nil {
		return nil, err
	}
	return w, nil
}

// MemoryBytes is the option, or its default.
func (w *BatchWriter) MemoryBytes() int64 { return w.opts.MemoryBytes }

// Add takes a mutation, which must not be changed any more, and returns as soon as there is memory for it. It is written
// some time later; Flush and Close tell. It is an error, and the mutation is not taken, if the writer is closed
// (tablet.ErrClosed), an earlier mutation has failed (*RejectedError), the mutation is empty or too large (tablet.ErrUsage),
// or the context ends before there is memory.
func (w *BatchWriter) Add(ctx context.Context, m *tablet.Mutation) error {
	if m.Updates() == 0 {
		return fmt.Errorf("add a mutation without updates: %w", tablet.ErrUsage)
	}
	if n := m.NumBytes(); int64(n) > w.opts.MutationBytes {
		return fmt.Errorf("add a mutation of %d bytes, the limit is %d: %w", n, w.opts.MutationBytes, tablet.ErrUsage)
	}
	if failed := w.failed.Load(); failed != nil {
		return failed
	}
	it := binning.NewItem(m)
	sh := &w.shards[0]
	if len(w.shards) > 1 {
		sh = &w.shards[shardOf(it.Prefix, m.Row(), len(w.shards))]
	}
	w.lock(sh)
	if size := int64(it.Bytes); !sh.draw(&w.memory, size) {
		sh.unlock()
		if err := w.waitForMemory(ctx, size); err != nil {
			return err
		}
		w.lock(sh)
	}
	return w.put(sh, it)
}

// put appends to a buffer. It gives up the buffer's lock.
func (w *BatchWriter) put(sh *shard, it binning.Item) error {
	size := int64(it.Bytes)
	if sh.closed {
		sh.credit += size
		sh.giveBack(&w.memory)
		sh.unlock()
		return errClosed
	}
	if sh.bytes == 0 {
		w.armLatency()
	}
	if len(sh.items) == cap(sh.items) {
		w.extend(sh, size)
	}
	sh.items = append(sh.items, it)
	sh.bytes += size
	full := sh.bytes >= w.cut
	if w.opts.Variant == NoSync {
		// All who find it full: were it one, a set would grow for as long as that one is held up.
		full = w.filling.Add(size) >= w.cut
	}
	if !full {
		sh.unlock()
		return nil
	}
	began := w.clock.Now()
	w.stage.full(sh)
	w.counters.longest(clock.Since(w.clock, began))
	return nil
}

func (w *BatchWriter) waitForMemory(ctx context.Context, size int64) error {
	began := w.clock.Now()
	err := w.memory.enter(ctx, w.host, size)
	took := clock.Since(w.clock, began)
	w.counters.memoryWaits.Add(1)
	w.counters.memoryWait.Add(int64(took))
	w.counters.longest(took)
	switch failed := w.failed.Load(); {
	case err == nil && failed != nil:
		w.memory.release(size)
		return failed
	case err == errFailed:
		return failed
	case err != nil && err != errClosed:
		return fmt.Errorf("add to batch writer: %w", err)
	}
	return err
}

func (w *BatchWriter) lock(sh *shard) {
	if sh.tryLock() {
		return
	}
	began := w.clock.Now()
	if sh.binning.Load() {
		w.counters.binningWaits.Add(1)
	}
	sh.lock()
	w.counters.longest(clock.Since(w.clock, began))
}

// binSet bins a set and passes it on.
func (w *BatchWriter) binSet(s *Set, scratch *binning.Scratch) {
	began := w.clock.Now()
	w.counters.sets.Add(1)
	err := s.bin(scratch)
	w.counters.binning.Add(int64(clock.Since(w.clock, began)))
	if err != nil {
		s.Refuse(err, false)
	}
}

// pass gives a set that was binned to the destination, or to the actor that does it.
func (w *BatchWriter) pass(s *Set) {
	if len(s.result.Failed) > 0 {
		failed := s.result.Failed
		s.result.Failed = nil
		s.Fail(failed, tablet.Extent{}, fmt.Errorf("no tablet is known for the row: %w", tablet.ErrBusy), false)
	}
	if len(s.Bins) == 0 {
		return // refused, or nothing is left
	}
	if w.opts.Timeout > 0 {
		s.sent.Store(w.clock.Now().UnixNano())
		w.armWatch()
	}
	if len(w.senders) > 0 {
		w.senders[s.shard%len(w.senders)].put(w.host, s)
		return
	}
	w.dest.Send(s)
}

// settled is told of the last mutation of a set.
func (w *BatchWriter) settled(s *Set) {
	bins := s.Bins
	s.Bins, s.result.Bins = nil, nil
	clear(bins)
	w.bins.give(bins[:0], sparesMax)
	w.tracker.settled(s)
}

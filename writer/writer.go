package writer

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"millrace/internal/clock"
	"millrace/tablet"
	"millrace/tablet/locate"
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

// shard is one of the buffers. With Actors each may have a worker, which alone bins its sets; so the order in it is kept.
type shard struct {
	mu        sync.Mutex
	parts     [][]binning.Item // that are full
	items     []binning.Item   // that are being filled
	bytes     int64            // estimated memory of both
	mutations int64            // added so far
	total     int64            // estimated memory of those
	closed    bool
	index     int
	binning   atomic.Bool // somebody bins and holds the lock
	_         [64]byte    // so that neighbours do not share a line of the processor's cache
}

// New returns a writer to a destination. It is closed by whoever made it. Errors in the options are an ErrUsage.
func New(h Host, d Destination, o Options) (*BatchWriter, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	_, blocks := d.(Blocking)
	mayShare := o.Binners == 0 && !blocks // what blocks is sent to by one thread for a buffer
	o = o.withDefaults(runtime.GOMAXPROCS(0))
	w := &BatchWriter{opts: o, host: h, clock: h.Clock(), dest: d}
	w.memory.max = o.MemoryBytes
	w.tracker.first = 1
	w.scratch.New = func() any { return new(binning.Scratch) }
	workers := w.begin(mayShare)
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
	if !w.memory.try(int64(it.Bytes)) {
		if err := w.waitForMemory(ctx, int64(it.Bytes)); err != nil {
			return err
		}
	}
	sh := &w.shards[0]
	if len(w.shards) > 1 {
		sh = &w.shards[shardOf(it.Prefix, m.Row(), len(w.shards))]
	}
	if !sh.mu.TryLock() {
		w.waitForLock(sh)
	}
	return w.put(sh, it)
}

// put appends to a buffer. It gives up the buffer's lock.
func (w *BatchWriter) put(sh *shard, it binning.Item) error {
	size := int64(it.Bytes)
	if sh.closed {
		sh.mu.Unlock()
		w.memory.release(size)
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
	sh.mutations++
	sh.total += size
	full := sh.bytes >= w.cut
	if w.opts.Variant == NoSync {
		// All who find it full: were it one, a set would grow for as long as that one is held up.
		full = w.filling.Add(size) >= w.cut
	}
	if !full {
		sh.mu.Unlock()
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

func (w *BatchWriter) waitForLock(sh *shard) {
	began := w.clock.Now()
	if sh.binning.Load() {
		w.counters.binningWaits.Add(1)
	}
	sh.mu.Lock()
	w.counters.longest(clock.Since(w.clock, began))
}

// shardOf gives each row one of n buffers: by its first and last bytes and its length, as in rows that count upwards the first
// are alike and in others the last.
func shardOf(p locate.Prefix, row []byte, n int) int {
	h := p.First*0x9e3779b97f4a7c15 + p.Second + uint64(len(row))
	if len(row) > 16 {
		h = (h^h>>32)*0xd6e8feb86659fd93 + binary.BigEndian.Uint64(row[len(row)-8:])
	}
	h = (h ^ h>>32) * 0xd6e8feb86659fd93
	return int((h >> 32) * uint64(n) >> 32)
}

// take makes a set of a buffer, whose lock is held. It is nil if there is nothing in it.
func (w *BatchWriter) take(sh *shard, index int) *Set {
	if sh.bytes == 0 {
		return nil
	}
	s := w.newSet(index)
	w.move(sh, s)
	w.tracker.begin(s)
	return s
}

func (w *BatchWriter) newSet(index int) *Set {
	return &Set{w: w, shard: index, Durability: w.opts.Durability, AtLeastOnce: w.opts.AtLeastOnce}
}

// extend makes place in a buffer. A part has as many items as the buffer will have, if they are of one size, and partItems at
// most: what is sorted and binned at a time, whatever the set.
func (w *BatchWriter) extend(sh *shard, size int64) {
	if len(sh.items) > 0 {
		sh.parts = append(sh.parts, sh.items)
	}
	if sh.items = w.items.get(); cap(sh.items) == 0 {
		sh.items = make([]binning.Item, 0, min(max(w.cut/size+1, partItemsMin), partItems))
	}
}

// move appends a buffer's content to a set.
func (w *BatchWriter) move(sh *shard, s *Set) {
	for _, p := range append(sh.parts, sh.items) {
		s.parts = append(s.parts, p)
		s.left.Add(int64(len(p)))
	}
	s.leftBytes.Add(sh.bytes)
	sh.parts, sh.items, sh.bytes = nil, nil, 0
}

// recycle keeps a set's arrays for buffers, once it has been binned.
func (w *BatchWriter) recycle(s *Set) {
	for _, p := range s.parts {
		clear(p)
		w.items.give(p[:0], sparesMax)
	}
	s.parts = nil
}

// partItems are 128 KiB. There are partItemsMin even if the first mutation is large: arrays are used again.
const (
	partItems    = 4096
	partItemsMin = 256
)

// sparesMax is how many arrays are kept that nobody needs: as many as there are sets on their way at most times.
const sparesMax = 64

// spares are empty arrays for those to come.
type spares[T any] struct {
	mu  sync.Mutex
	all [][]T
}

func (s *spares[T]) get() (items []T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.all); n > 0 {
		items, s.all[n-1] = s.all[n-1], nil
		s.all = s.all[:n-1]
	}
	return items
}

func (s *spares[T]) give(items []T, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) < most {
		s.all = append(s.all, items)
	}
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

// errFailed is for whoever waits for memory when a mutation has failed.
var errFailed = fmt.Errorf("batch writer has failed")

// reject notes failures. From the first on nothing is added any more.
func (w *BatchWriter) reject(mutations []*tablet.Mutation, e tablet.Extent, err error, unknown bool) {
	w.rejecting.Lock()
	var all []Failure
	if old := w.failed.Load(); old != nil {
		all = old.Failed
	}
	for _, m := range mutations {
		all = append(all, Failure{Mutation: m, Extent: e, Err: err, Unknown: unknown})
	}
	w.failed.Store(&RejectedError{Failed: all}) // older ones see the front of the same array
	w.rejecting.Unlock()
	w.counters.failed.Add(int64(len(mutations)))
	w.memory.turnAway(errFailed)
}

// rejection is the error that names what has failed; nil if nothing has.
func (w *BatchWriter) rejection() error {
	if failed := w.failed.Load(); failed != nil {
		return failed
	}
	return nil
}

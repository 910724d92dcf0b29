package writer

import (
	"sync"
	"sync/atomic"

	"millrace/writer/binning"
)

// stage is what the variants differ in: who makes a set of full buffers, and who bins it.
type stage interface {
	// full is called by whoever has filled a buffer, with the buffer's lock held, and gives up the lock.
	full(sh *shard)
	// push makes sets of all that is buffered. With last, buffers are closed.
	push(last bool)
	// work bins, on a worker's goroutine. more says that it is to be called again.
	work(worker int) (more bool)
	// ended fails what a worker has left.
	ended(worker int, err error)
}

// begin sets up the variant and says how many workers it has. mayShare lets Actors choose how many buffers there are.
func (w *BatchWriter) begin(mayShare bool) (workers int) {
	half := max(w.opts.MemoryBytes/2, 1)
	switch w.opts.Variant {
	case Locked:
		w.shards, w.cut = make([]shard, 1), half
		w.stage = &lockedStage{w: w}
		return 0
	case Handoff:
		w.shards, w.cut = make([]shard, 1), half
		w.stage = &handoffStage{w: w}
		return 1
	case NoSync:
		w.shards, w.cut = make([]shard, w.opts.Binners), half
		w.stage = &noSyncStage{handoffStage{w: w}}
		return 1
	}
	n := w.opts.Binners
	a := &actorStage{w: w, inboxes: make([]outbox, n), scratch: make([]binning.Scratch, n), current: make([]*Set, n)}
	for i := range a.inboxes {
		a.inboxes[i].worker = i
	}
	w.shards = make([]shard, n)
	if mayShare && half/int64(n) < cutMin {
		w.shards, a.row = w.shards[:1], new(inOrder)
	}
	for i := range w.shards {
		w.shards[i].index = i
	}
	w.cut = max(1, min(half/int64(len(w.shards)), cutMax))
	w.stage = a
	return n
}

// cutMin is the least of the memory that Actors makes a set of where it has a choice. Smaller sets have fewer mutations for each
// tablet, and cost more to sort, to send and to answer for each. So where the memory is small the binners share one buffer.
const cutMin = 512 << 10

// cutMax is the most that Actors makes a set of: so much is sorted within the processor's caches, and sets that are on
// their way while others fill keep everybody busy. Half of the memory can be in buffers at most, a quarter is where sets
// are that small.
const cutMax = 1 << 20

func (w *BatchWriter) sendThreads() int {
	if w.opts.Variant != Actors {
		return 1
	}
	return w.opts.Threads
}

// outbox is a queue of sets for one worker, which is woken when it has nothing else to do.
type outbox struct {
	worker int
	mu     sync.Mutex
	queue  []*Set
	woken  bool
	dead   error // the worker has ended
}

// put queues a set and wakes the worker: a message if it sleeps, else none. If the worker has ended the set is refused.
func (o *outbox) put(h Host, s *Set) (queued bool) {
	o.mu.Lock()
	dead, wake := o.dead, !o.woken
	if dead == nil {
		o.queue = append(o.queue, s)
		o.woken = true
	}
	o.mu.Unlock()
	switch {
	case dead != nil:
		s.Refuse(dead, false)
	case wake:
		h.Wake(o.worker)
	}
	return dead == nil
}

// next takes a set; nil if there is none, and then the worker sleeps.
func (o *outbox) next() *Set {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 {
		o.woken = false
		return nil
	}
	s := o.queue[0]
	o.queue[0] = nil
	o.queue = o.queue[1:]
	return s
}

// more says whether the worker need not sleep; if it may, it does.
func (o *outbox) more() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.woken = len(o.queue) > 0
	return o.woken
}

// end refuses what is queued, and whatever comes. It returns what was queued.
func (o *outbox) end(err error) []*Set {
	o.mu.Lock()
	left := o.queue
	o.queue, o.dead = nil, err
	o.mu.Unlock()
	for _, s := range left {
		s.Refuse(err, false)
	}
	return left
}

// Work does what a worker was woken for. more says that it is to be called again, soon.
func (w *BatchWriter) Work(worker int) (more bool) {
	if i := worker - w.binWorkers(); i >= 0 {
		o := &w.senders[i]
		if s := o.next(); s != nil {
			w.dest.Send(s)
		}
		return o.more()
	}
	return w.stage.work(worker)
}

// binWorkers is how many workers bin. Those behind them send.
func (w *BatchWriter) binWorkers() int {
	switch w.opts.Variant {
	case Actors:
		return w.opts.Binners
	case Locked:
		return 0
	}
	return 1
}

// Ended tells the writer that a worker is no more, without having been stopped: what it has not done has failed.
func (w *BatchWriter) Ended(worker int, err error) {
	if i := worker - w.binWorkers(); i >= 0 {
		w.senders[i].end(err)
		return
	}
	w.stage.ended(worker, err)
}

// actorStage: each buffer has a worker, which bins its sets one after the other; or there is one buffer, whose sets the
// workers bin in turn and pass on in the order in which they were made.
type actorStage struct {
	w       *BatchWriter
	inboxes []outbox // of the workers
	scratch []binning.Scratch
	current []*Set   // that a worker has in hand
	row     *inOrder // of the one buffer; nil if each worker has its own
}

func (a *actorStage) full(sh *shard) {
	if s := a.w.take(sh, sh.index); s != nil {
		worker := sh.index
		if a.row != nil {
			worker = int(s.number % uint64(len(a.inboxes)))
		}
		if !a.inboxes[worker].put(a.w.host, s) { // under the lock, or another's set might overtake
			a.pass(s)
		}
	}
	sh.mu.Unlock()
}

// pass gives on a set that was binned, or refused: others may wait for their turn behind it.
func (a *actorStage) pass(s *Set) {
	if a.row != nil {
		a.row.pass(a.w, s)
	} else {
		a.w.pass(s)
	}
}

func (a *actorStage) push(last bool) {
	for i := range a.w.shards {
		sh := &a.w.shards[i]
		sh.mu.Lock()
		sh.closed = sh.closed || last
		a.full(sh)
	}
}

func (a *actorStage) work(worker int) (more bool) {
	o := &a.inboxes[worker]
	s := o.next()
	if s == nil {
		return false
	}
	a.current[worker] = s
	a.w.binSet(s, &a.scratch[worker])
	a.pass(s)
	a.current[worker] = nil
	return o.more()
}

func (a *actorStage) ended(worker int, err error) {
	left := a.inboxes[worker].end(err)
	if s := a.current[worker]; s != nil {
		s.Refuse(err, true)
		left = append([]*Set{s}, left...)
	}
	for _, s := range left {
		a.pass(s)
	}
}

// lockedStage: whoever fills the buffer bins it, and nobody adds meanwhile.
type lockedStage struct{ w *BatchWriter }

func (l *lockedStage) full(sh *shard) {
	if s := l.w.take(sh, 0); s != nil {
		l.w.callerBins(sh, s)
		l.w.pass(s)
	}
	sh.mu.Unlock()
}

func (l *lockedStage) push(last bool) {
	sh := &l.w.shards[0]
	sh.mu.Lock()
	sh.closed = sh.closed || last
	l.full(sh)
}

func (l *lockedStage) work(int) bool    { return false }
func (l *lockedStage) ended(int, error) {}

// callerBins bins on a caller's goroutine. A buffer that is given is locked meanwhile.
func (w *BatchWriter) callerBins(locked *shard, s *Set) {
	w.counters.callerBinned.Add(1)
	w.counters.binningWaits.Add(1) // the caller itself
	if locked != nil {
		locked.binning.Store(true)
		defer locked.binning.Store(false)
	}
	scratch := w.scratch.Get().(*binning.Scratch)
	w.binSet(s, scratch)
	w.scratch.Put(scratch)
}

// handoffStage: a worker bins if it has nothing to do; else whoever fills the buffer does, and nobody adds meanwhile.
type handoffStage struct {
	w    *BatchWriter
	busy atomic.Bool
	hand atomic.Pointer[Set] // what the worker is to bin
	row  inOrder
}

func (h *handoffStage) full(sh *shard) {
	if s := h.w.take(sh, 0); s != nil && !h.handOver(s) {
		h.w.callerBins(sh, s)
		h.row.pass(h.w, s)
	}
	sh.mu.Unlock()
}

// handOver gives a set to the worker, if that is idle.
func (h *handoffStage) handOver(s *Set) bool {
	if !h.busy.CompareAndSwap(false, true) {
		return false
	}
	h.hand.Store(s)
	h.w.host.Wake(0)
	return true
}

func (h *handoffStage) push(last bool) {
	sh := &h.w.shards[0]
	sh.mu.Lock()
	sh.closed = sh.closed || last
	h.full(sh)
}

func (h *handoffStage) work(int) bool {
	if s := h.hand.Load(); s != nil {
		scratch := h.w.scratch.Get().(*binning.Scratch)
		h.w.binSet(s, scratch)
		h.w.scratch.Put(scratch)
		h.hand.Store(nil)
		h.busy.Store(false)
		h.row.pass(h.w, s)
	}
	return false
}

func (h *handoffStage) ended(_ int, err error) { // it stays busy: from now on callers bin
	h.busy.Store(true)
	if s := h.hand.Swap(nil); s != nil {
		s.Refuse(err, true)
		h.row.pass(h.w, s)
	}
}

// noSyncStage: a set is made of all buffers together, which are locked one after the other and only while it is taken out.
type noSyncStage struct{ handoffStage }

func (n *noSyncStage) full(sh *shard) {
	sh.mu.Unlock()
	n.cut(false, false)
}

func (n *noSyncStage) push(last bool) { n.cut(true, last) }

// cut makes a set of all buffers: if they are full together, which of those who found it so the first will have changed, or
// if all that is buffered is to be sent.
func (n *noSyncStage) cut(all, last bool) {
	w := n.w
	for again := true; again; all = false {
		w.cutting.Lock()
		if !all && w.filling.Load() < w.cut {
			w.cutting.Unlock()
			return
		}
		s := w.newSet(0)
		for i := range w.shards {
			sh := &w.shards[i]
			sh.mu.Lock()
			sh.closed = sh.closed || last
			if sh.bytes > 0 {
				w.move(sh, s)
			}
			sh.mu.Unlock()
		}
		if s.left.Load() > 0 {
			w.tracker.begin(s)
		}
		again = w.filling.Add(-s.leftBytes.Load()) >= w.cut // others have filled it meanwhile
		handed := s.left.Load() == 0 || n.handOver(s)
		w.cutting.Unlock()
		if !handed {
			w.callerBins(nil, s)
			n.row.pass(w, s)
		}
	}
}

// inOrder passes sets on in the order of their numbers, however they come out of binning. Nobody waits: who comes early
// leaves his set to who comes later.
type inOrder struct {
	mu      sync.Mutex
	passed  uint64 // number of the last that was passed on
	early   map[uint64]*Set
	passing bool // somebody does
}

func (o *inOrder) pass(w *BatchWriter, s *Set) {
	o.mu.Lock()
	if o.early == nil {
		o.early = make(map[uint64]*Set)
	}
	o.early[s.number] = s
	if o.passing {
		o.mu.Unlock()
		return
	}
	o.passing = true
	for next := o.early[o.passed+1]; next != nil; next = o.early[o.passed+1] {
		o.passed++
		delete(o.early, o.passed)
		o.mu.Unlock()
		w.pass(next)
		o.mu.Lock()
	}
	o.passing = false
	o.mu.Unlock()
}

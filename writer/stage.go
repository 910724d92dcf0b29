package writer

import "millrace/writer/binning"

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

// begin sets up the variant and says how many workers it has. Workers of Actors may share a buffer, unless the destination
// blocks: it is sent to by one thread for a buffer.
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
	if mayShare && (n <= shareMax || half/int64(n) < cutMin) {
		w.shards, a.row = w.shards[:1], new(inOrder)
	}
	w.cut = max(1, min(w.opts.MemoryBytes/cutParts/int64(len(w.shards)), cutMax))
	w.stage = a
	return n
}

// shareMax is how many binners share a buffer. Threads that add at the same time slow each other down, whatever buffers they add
// to: the lines of the processor's cache that buffers are in go to and fro. With one buffer those who find it locked wait, while
// one adds and the other cores bin. With two cores and 16 threads an Add to one of two buffers took twice to three
// times the processor time that it takes one thread, with one buffer little more. Where many cores bin, one at a time could not add enough for them.
const shareMax = 4

// cutMin is the least of the memory that Actors makes a set of where it has a choice. Smaller sets have fewer mutations for each
// tablet, and cost more to sort, to send and to answer for each. So where the memory is small the binners share one buffer.
const cutMin = 512 << 10

// cutParts is what part of the memory, a third, Actors makes sets of. One set fills, one is binned and one is being applied, or
// given back to those who wait; with halves, as in the other variants, everybody waits for everybody else's waking up.
const cutParts = 3

// cutMax is the most that Actors makes a set of: so much is sorted within the processor's caches, and sets that are on their way
// while others fill keep everybody busy.
const cutMax = 1 << 20

func (w *BatchWriter) sendThreads() int {
	if w.opts.Variant != Actors {
		return 1
	}
	return w.opts.Threads
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

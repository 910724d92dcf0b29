package writer

import (
	"sync/atomic"

	"millrace/writer/binning"
)

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
	sh.unlock()
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
	sh.lock()
	sh.pushed(h.w, last)
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

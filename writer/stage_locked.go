package writer

import "millrace/writer/binning"

// lockedStage: whoever fills the buffer bins it, and nobody adds meanwhile.
type lockedStage struct{ w *BatchWriter }

func (l *lockedStage) full(sh *shard) {
	if s := l.w.take(sh, 0); s != nil {
		l.w.callerBins(sh, s)
		l.w.pass(s)
	}
	sh.unlock()
}

func (l *lockedStage) push(last bool) {
	sh := &l.w.shards[0]
	sh.lock()
	sh.pushed(l.w, last)
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

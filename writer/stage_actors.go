package writer

import "millrace/writer/binning"

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
	sh.unlock()
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
		sh.lock()
		sh.pushed(a.w, last)
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

package writer

// noSyncStage: a set is made of all buffers together, which are locked one after the other and only while it is taken out.
type noSyncStage struct{ handoffStage }

func (n *noSyncStage) full(sh *shard) {
	sh.unlock()
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
			sh.lock()
			if all {
				sh.pushed(w, last)
			}
			if sh.bytes > 0 {
				w.move(sh, s)
			}
			sh.unlock()
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

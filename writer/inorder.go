package writer

import "sync"

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

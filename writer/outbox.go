package writer

import "sync"

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

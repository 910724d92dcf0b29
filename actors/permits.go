package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
)

// permits is the scheduler's thinking: who may run next. Minor compactions have places of their own, so that memory is
// freed whatever the major ones do; within the major ones a user's request goes before the planner's.
//
// Source: Accumulo 1.x, tserver.compaction.*.concurrent.max and the order of its queue; that a wish passed over too
// often goes first is ours.
type permits struct {
	minorMax, majorMax int
	wishes             []wish // in order of arrival
	minors, majors     int    // permits given
	held               map[protocol.JobID]holder
}

type wish struct {
	*protocol.WantPermit
	passed int // how many later wishes went first
}

type holder struct {
	tablet *actor.PID
	kind   protocol.JobKind
}

// passedMost bounds how many later wishes go before one.
const passedMost = 16

func newPermits(minorMax, majorMax int) *permits {
	return &permits{minorMax: minorMax, majorMax: majorMax, held: make(map[protocol.JobID]holder)}
}

// want queues a wish. A wish repeated, or for a job that has its permit, changes nothing.
func (p *permits) want(w *protocol.WantPermit) {
	if _, held := p.held[w.Job]; held {
		return
	}
	for _, other := range p.wishes {
		if other.Job == w.Job {
			return
		}
	}
	p.wishes = append(p.wishes, wish{WantPermit: w})
}

// next takes the wish that is to be granted now, nil if none can be.
func (p *permits) next() *protocol.WantPermit {
	best := -1
	for i := range p.wishes {
		if p.free(p.wishes[i].Kind) && (best < 0 || p.wishes[i].before(&p.wishes[best])) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	w := p.wishes[best].WantPermit
	for i := range best {
		if p.wishes[i].class() == p.wishes[best].class() {
			p.wishes[i].passed++
		}
	}
	p.wishes = append(p.wishes[:best], p.wishes[best+1:]...)
	p.hold(w.Job, holder{w.From, w.Kind})
	return w
}

func (p *permits) free(k protocol.JobKind) bool {
	if k == protocol.Minor {
		return p.minors < p.minorMax
	}
	return p.majors < p.majorMax
}

// hold counts a permit as given.
func (p *permits) hold(job protocol.JobID, h holder) {
	if _, twice := p.held[job]; twice {
		return
	}
	p.held[job] = h
	*p.places(h.kind)++
}

func (p *permits) places(k protocol.JobKind) *int {
	if k == protocol.Minor {
		return &p.minors
	}
	return &p.majors
}

// release gives a permit back, or takes a wish back.
func (p *permits) release(job protocol.JobID) {
	if h, held := p.held[job]; held {
		delete(p.held, job)
		*p.places(h.kind)--
		return
	}
	for i := range p.wishes {
		if p.wishes[i].Job == job {
			p.wishes = append(p.wishes[:i], p.wishes[i+1:]...)
			return
		}
	}
}

// forget takes away all that a tablet has and wants.
func (p *permits) forget(tablet *actor.PID) {
	for job, h := range p.held {
		if h.tablet.Equal(tablet) {
			p.release(job)
		}
	}
	kept := p.wishes[:0]
	for _, w := range p.wishes {
		if !w.From.Equal(tablet) {
			kept = append(kept, w)
		}
	}
	clear(p.wishes[len(kept):])
	p.wishes = kept
}

// class orders kinds: a smaller one is served first.
func (w *wish) class() int {
	switch w.Kind {
	case protocol.Minor:
		return 0
	case protocol.User, protocol.Scratch:
		return 1
	}
	return 2
}

// before says whether w, which came later than o, is served first nevertheless.
func (w *wish) before(o *wish) bool {
	if w.class() != o.class() {
		return w.class() < o.class()
	}
	if o.passed >= passedMost {
		return false
	}
	switch w.Kind {
	case protocol.Minor:
		return w.Urgent != o.Urgent && w.Urgent || w.Urgent == o.Urgent && w.Bytes > o.Bytes // the largest frees most
	case protocol.Major:
		return w.Files > o.Files
	}
	return false // users: oldest first
}

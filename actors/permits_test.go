package actors

import (
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
)

var (
	tabletA = actor.NewPID("nonhost", "a")
	tabletB = actor.NewPID("nonhost", "b")
)

// drain takes permits until none can be given, and lists the jobs.
func (p *permits) drain() (jobs []protocol.JobID) {
	for w := p.next(); w != nil; w = p.next() {
		jobs = append(jobs, w.Job)
	}
	return jobs
}

func TestPermitsOrder(t *testing.T) {
	f := func(minor, major int, wishes []*protocol.WantPermit, want ...protocol.JobID) {
		t.Helper()
		p := newPermits(minor, major)
		for _, w := range wishes {
			w.From = tabletA
			p.want(w)
		}
		var got []protocol.JobID
		for { // give back at once, so that the whole order shows
			w := p.next()
			if w == nil {
				break
			}
			got = append(got, w.Job)
			p.release(w.Job)
		}
		if len(got) != len(want) {
			t.Errorf("order %v, want %v", got, want)
			return
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("order %v, want %v", got, want)
				return
			}
		}
		if p.minors != 0 || p.majors != 0 || len(p.held) != 0 {
			t.Errorf("permits are left: %+v", p)
		}
	}
	W := func(job protocol.JobID, k protocol.JobKind, files int, bytes int64, urgent bool) *protocol.WantPermit {
		return &protocol.WantPermit{Job: job, Kind: k, Files: files, Bytes: bytes, Urgent: urgent}
	}
	f(1, 1, []*protocol.WantPermit{
		W(1, protocol.Major, 3, 0, false), W(2, protocol.Major, 9, 0, false), W(3, protocol.User, 1, 0, false),
		W(4, protocol.Minor, 0, 10, false), W(5, protocol.Minor, 0, 20, false), W(6, protocol.Minor, 0, 1, true), W(7, protocol.Scratch, 50, 0, false),
	}, 6, 5, 4, 3, 7, 2, 1)
}

func TestPermitsLimits(t *testing.T) {
	p := newPermits(1, 2)
	for i := range 3 {
		p.want(&protocol.WantPermit{From: tabletA, Job: protocol.JobID(1 + i), Kind: protocol.Minor})
		p.want(&protocol.WantPermit{From: tabletB, Job: protocol.JobID(11 + i), Kind: protocol.Major})
	}
	if got := p.drain(); len(got) != 3 {
		t.Errorf("granted %v, want one minor and two major", got)
	}
	p.want(&protocol.WantPermit{From: tabletA, Job: 1, Kind: protocol.Minor}) // has it
	p.want(&protocol.WantPermit{From: tabletA, Job: 2, Kind: protocol.Minor}) // waits for it
	p.release(13)                                                             // a wish taken back
	p.forget(tabletB)
	if p.majors != 0 || p.minors != 1 || len(p.wishes) != 2 {
		t.Errorf("after a tablet's end: %d major, %d minor, %d wishes", p.majors, p.minors, len(p.wishes))
	}
	p.release(1)
	p.release(1) // twice
	if got := p.drain(); len(got) != 1 || got[0] != 2 {
		t.Errorf("granted %v, want job 2", got)
	}
}

// A wish is not passed over for ever by better ones that come later.
func TestPermitsAge(t *testing.T) {
	p := newPermits(1, 1)
	p.want(&protocol.WantPermit{From: tabletA, Job: 1, Kind: protocol.Major, Files: 2})
	for i := range protocol.JobID(100) {
		p.want(&protocol.WantPermit{From: tabletB, Job: 100 + i, Kind: protocol.Major, Files: 10})
		w := p.next()
		if w.Job == 1 {
			if i != passedMost {
				t.Errorf("passed over %d times, want %d", i, passedMost)
			}
			return
		}
		p.release(w.Job)
	}
	t.Error("passed over 100 times")
}

package actors_test

import (
	"testing"
	"time"

	"millrace/actors"
	"millrace/actors/actortest"
	"millrace/actors/protocol"
)

func TestSchedulerCountsPermits(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		a, b := k.Probe("a"), k.Probe("b")
		sched := k.Spawn("sched", actors.SchedulerSpec(1, 1))
		want := func(p *actortest.Probe, job protocol.JobID, kind protocol.JobKind) {
			p.Send(sched, &protocol.WantPermit{From: p.PID(), Job: job, Kind: kind, Files: int(job)})
		}
		permit := func(p *actortest.Probe, job protocol.JobID) {
			t.Helper()
			if got := actortest.Expect[*protocol.Permit](p, time.Second); got.Job != job {
				t.Errorf("permit for job %d, want %d", got.Job, job)
			}
		}
		want(a, 1, protocol.Major)
		permit(a, 1)
		want(a, 2, protocol.Minor)
		permit(a, 2) // minor compactions have places of their own
		want(b, 3, protocol.Major)
		want(b, 4, protocol.Major)
		b.ExpectNone(time.Hour)
		a.Send(sched, &protocol.Release{From: a.PID(), Job: 1})
		permit(b, 4)
		b.ExpectNone(time.Hour)
		// A tablet that ends gives back what it had.
		k.AllowDeadLetters(&protocol.Permit{})
		k.Stop(b.PID())
		want(a, 5, protocol.Major)
		permit(a, 5)
	})
}

// A new scheduler learns of permits that its predecessor gave.
func TestSchedulerIsToldWhatIsHeld(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		p := k.Probe("tablet")
		sched := k.Spawn("sched", actors.SchedulerSpec(1, 1))
		p.Send(sched, &protocol.Holding{From: p.PID(), Job: 1, Kind: protocol.User})
		p.Send(sched, &protocol.WantPermit{From: p.PID(), Job: 2, Kind: protocol.Major})
		p.ExpectNone(time.Hour)
		p.Send(sched, &protocol.Release{From: p.PID(), Job: 1})
		if got := actortest.Expect[*protocol.Permit](p, time.Second); got.Job != 2 {
			t.Errorf("permit for job %d", got.Job)
		}
	})
}

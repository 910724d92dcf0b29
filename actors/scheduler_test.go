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
		sched := k.Spawn("sched", actors.SchedulerSpec(k.Runtime(), oneEach))
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
		sched := k.Spawn("sched", actors.SchedulerSpec(k.Runtime(), oneEach))
		p.Send(sched, &protocol.Holding{From: p.PID(), Job: 1, Kind: protocol.User})
		p.Send(sched, &protocol.WantPermit{From: p.PID(), Job: 2, Kind: protocol.Major})
		p.ExpectNone(time.Hour)
		p.Send(sched, &protocol.Release{From: p.PID(), Job: 1})
		if got := actortest.Expect[*protocol.Permit](p, time.Second); got.Job != 2 {
			t.Errorf("permit for job %d", got.Job)
		}
	})
}

var oneEach = actors.ServerSettings{MinorMax: 1, MajorMax: 1, MemoryBytes: 1000}

func TestSchedulerWatchesMemory(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		a, b, binner := k.Probe("a"), k.Probe("b"), k.Probe("binner")
		sched := k.Spawn("sched", actors.SchedulerSpec(k.Runtime(), oneEach))
		binner.Send(sched, &protocol.BinnerIs{Binner: binner.PID()})
		report := func(p *actortest.Probe, active, flushing int64) {
			t.Helper()
			p.Send(sched, &protocol.MemoryIs{From: p.PID(), Active: active, Flushing: flushing})
			actortest.Expect[*protocol.MemorySeen](p, time.Second)
		}
		report(a, 200, 0)
		report(b, 290, 0)
		k.Settle()
		if a.Pending()+b.Pending()+binner.Pending() > 0 {
			t.Error("something was done below the threshold")
		}
		// At the next tick it shows that as much again would pass it: the larger is flushed, once a tick.
		k.Advance(250 * time.Millisecond)
		actortest.Expect[*protocol.FlushMemory](b, time.Second)
		report(b, 0, 290)
		report(b, 500, 290) // enough is on its way, but there is too much of it all
		if got := actortest.Expect[*protocol.Hold](binner, time.Second); !got.On {
			t.Error("writers go on above 95 percent")
		}
		next := k.Probe("next binner")
		next.Send(sched, &protocol.BinnerIs{Binner: next.PID()})
		if got := actortest.Expect[*protocol.Hold](next, time.Second); !got.On {
			t.Error("a new binner goes on above 95 percent")
		}
		binner.Send(sched, &protocol.BinnerIs{Binner: binner.PID()})
		actortest.Expect[*protocol.Hold](binner, time.Second)
		report(b, 500, 0)
		if got := actortest.Expect[*protocol.Hold](binner, time.Second); got.On {
			t.Error("writers are held at 70 percent")
		}
		actortest.Expect[*protocol.FlushMemory](b, time.Second)
		// A tablet that ends takes its memory with it; then nobody looks any more.
		k.Stop(b.PID())
		report(a, 0, 0)
		k.Advance(time.Hour)
		a.ExpectNone(time.Hour)
	})
}

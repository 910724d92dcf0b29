package actors_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors"
	"millrace/actors/actortest"
	"millrace/actors/protocol"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/hosted"
	"millrace/tablet/manifest"
)

// What a tablet has not heard of from the log is two windows of batches at most; the next are turned away, and may be sent
// again.
func TestTabletTurnsAwayWhatNoWindowAllows(t *testing.T) {
	runTablet(t, func(tt *tabletTest) {
		tt.Settle() // the log's stand-in has begun
		tt.durable.Silent = true
		const most = 2 * protocol.ApplyWindow
		for i := range uint64(most + 3) {
			tt.other.Send(tt.tablet, &protocol.Apply{From: tt.other.PID(), Batch: i, Mutations: []*tablet.Mutation{put("a")}})
		}
		for i := range uint64(3) {
			m := actortest.Expect[*protocol.Applied](tt.other, time.Second)
			if o := tablet.OutcomeOf(m.Err); m.Batch != most+i || !o.Retryable || errors.Is(m.Err, actors.ErrUnknownOutcome) {
				t.Errorf("batch %d: %v", m.Batch, m.Err)
			}
		}
		tt.other.ExpectNone(time.Second)
		tt.AllowDeadLetters(&protocol.Applied{})
		tt.Stop(tt.tablet)
		for range most {
			if m := actortest.Expect[*protocol.Applied](tt.other, time.Second); !errors.Is(m.Err, actors.ErrUnknownOutcome) {
				t.Errorf("batch %d: %v", m.Batch, m.Err)
			}
		}
	})
}

// Until the scheduler has seen a report there is no other, however much is written; the next one has it all.
func TestTabletReportsMemoryOnceAtATime(t *testing.T) {
	runTablet(t, func(tt *tabletTest) {
		const each = 40_000 // more than is not worth a report
		for i := range 10 {
			tt.apply(fmt.Sprint(i, strings.Repeat("x", each)))
		}
		tt.Settle()
		if n := tt.sched.Pending(); n != 1 {
			t.Fatalf("%d reports wait", n)
		}
		if m := tt.memory(); m.Active < each || m.Active > 3*each {
			t.Errorf("first report %+v", m)
		}
		if m := tt.memory(); m.Active < 10*each {
			t.Errorf("second report %+v", m)
		}
		tt.sched.ExpectNone(time.Minute)
	})
}

// pairs has every two neighbouring files of a tablet compacted.
type pairs struct{}

func (pairs) Next(s hosted.Situation) (numbers []uint64, reason string) {
	busy := map[uint64]bool{}
	for _, r := range s.Running {
		for _, f := range r.Inputs {
			busy[f.Number] = true
		}
	}
	for i := 1; i < len(s.Files); i++ {
		if a, b := s.Files[i-1].Number, s.Files[i].Number; !busy[a] && !busy[b] {
			return []uint64{a, b}, "a pair"
		}
	}
	return nil, ""
}
func (pairs) TakeAlong(hosted.Situation) (uint64, bool) { return 0, false }
func (pairs) Validate() error                           { return nil }

// However many compactions are due, a tablet wishes for a bounded number at once, and for more as they end.
func TestTabletWishesForSoManyJobs(t *testing.T) {
	runTablet(t, func(tt *tabletTest) {
		tt.Settle()
		tt.env.Plan(none{})
		for i := range 60 {
			tt.flush(fmt.Sprint(i))
		}
		tt.Settle()
		tt.env.Plan(pairs{})
		tt.flush("last")
		wishes := tt.wishes()
		if len(wishes) != 16 {
			t.Fatalf("%d wishes", len(wishes))
		}
		tt.permit(wishes[0])
		tt.released(wishes[0])
		if more := tt.wishes(); len(more) != 1 {
			t.Errorf("%d more wishes after a job has ended", len(more))
		}
	})
}

// none has nothing compacted.
type none struct{}

func (none) Next(hosted.Situation) ([]uint64, string)  { return nil, "" }
func (none) TakeAlong(hosted.Situation) (uint64, bool) { return 0, false }
func (none) Validate() error                           { return nil }

// A job is told once that it is to end, whoever wants it to.
func TestTabletCancelsAJobOnce(t *testing.T) {
	runTablet(t, func(tt *tabletTest) {
		tt.flush("a")
		tt.shut()
		tt.compact(protocol.CompactOrder{})
		w := tt.wish(protocol.User)
		tt.permit(w)
		tt.Settle()
		job := tt.Tap(tt.job(w))
		tt.other.Send(tt.tablet, &protocol.CancelCompact{Request: tt.requests})
		tt.compacted()
		tt.other.Send(tt.tablet, &protocol.Split{From: tt.other.PID(), Request: 9, Row: []byte("a"), Low: 100, High: 101})
		tt.Settle()
		tt.gate.open()
		tt.released(w)
		tt.Settle()
		n := 0
		for job.Pending() > 0 {
			if _, is := actortest.Fish[any](job, nil).(*protocol.Cancel); is {
				n++
			}
		}
		if n != 1 {
			t.Errorf("told %d times", n)
		}
	})
}

// A tablet that has not reported since it was asked to flush is not asked again, by whomever.
func TestSchedulerAsksATabletOnce(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		a, log := k.Probe("a"), k.Probe("log")
		sched := k.Spawn("sched", actors.SchedulerSpec(k.Runtime(), oneEach))
		flushes := func() (n int) {
			for k.Settle(); a.Pending() > 0; {
				if _, is := actortest.Fish[any](a, nil).(*protocol.FlushMemory); is {
					n++
				}
			}
			return n
		}
		a.Send(sched, &protocol.MemoryIs{From: a.PID(), Active: 900})
		for i := range uint64(20) {
			log.Send(sched, &protocol.FlushThese{From: log.PID(), Request: i, Tablets: []*actor.PID{a.PID()}})
			if m := actortest.Expect[*protocol.TabletsAsked](log, time.Second); m.Request != i || m.Err != nil {
				t.Errorf("%+v", m)
			}
			k.Advance(time.Second) // ticks
		}
		if n := flushes(); n != 1 {
			t.Errorf("asked %d times", n)
		}
		a.Send(sched, &protocol.MemoryIs{From: a.PID(), Active: 900})
		k.Advance(time.Second)
		if n := flushes(); n != 1 {
			t.Errorf("asked %d times after the report", n)
		}
	})
}

// While the log does not answer, as a log on a slow disk, the manifest gathers what that is to be told.
func TestManifestTellsTheLogOneThingAtATime(t *testing.T) {
	runDurable(t, nil, (*actors.CoreTest).ManifestSpec, func(d *durableTest) {
		tab := d.core.Number()
		record := func(e manifest.Edit) {
			t.Helper()
			d.batch++
			d.other.Send(d.pid, &protocol.Record{From: d.other.PID(), Request: d.batch, Edits: []manifest.Edit{e}})
			if m := actortest.Expect[*protocol.Recorded](d.other, time.Minute); m.Err != nil {
				t.Fatal(m.Err)
			}
		}
		told := func(want uint64) {
			t.Helper()
			m := actortest.Expect[*protocol.InFiles](d.inlog, time.Second)
			if !slices.Equal(m.Filed, []protocol.Filed{{Tablet: tab, Session: want}}) {
				t.Errorf("the log is told %+v", m)
			}
			d.inlog.ExpectNone(time.Second)
			d.inlog.Send(d.pid, &protocol.InFilesTaken{Request: m.Request})
		}
		record(manifest.CreateTable{Table: "t", ID: d.core.Number(), Tablets: []uint64{tab}})
		for session := range uint64(50) {
			record(manifest.Install{Tablet: tab, Session: session + 1})
		}
		told(1)
		told(50)
		d.inlog.ExpectNone(time.Second)
		record(manifest.Install{Tablet: tab, Session: 51})
		record(manifest.Install{Tablet: tab, Session: 52})
		k := actortest.Expect[*protocol.InFiles](d.inlog, time.Second)
		d.Kill(d.pid) // what is left to tell is told nevertheless
		d.other.Send(d.pid, &protocol.GetState{From: d.other.PID()})
		if m := actortest.Expect[*protocol.InFiles](d.inlog, time.Second); k.Filed[0].Session != 51 || m.Filed[0].Session != 52 {
			t.Errorf("told %+v, then %+v", k, m)
		}
		d.AllowDeadLetters()
		d.pid = d.other.Spawn("next", d.core.ManifestSpec())
	})
}

// The log's timers do not outlive the groups that they are for, however many groups there are on a fast disk.
func TestLogLeavesNoTimers(t *testing.T) {
	runDurable(t, nil, (*actors.CoreTest).LogSpec, func(d *durableTest) {
		tap := d.Tap(d.pid)
		for range 100 {
			d.append("a", tablet.DurabilitySync)
			d.append("b", tablet.DurabilitySync)
			d.appended(d.batch - 1)
			d.appended(d.batch)
		}
		d.Advance(time.Second / 2)
		gathered, timers := false, 0
		for tap.Pending() > 0 {
			switch m := actortest.Fish[any](tap, nil).(type) {
			case *protocol.SyncNow:
				if m.Round > 0 {
					timers++
				}
				gathered = gathered || m.Round > 1
			}
		}
		if timers > 2 {
			t.Errorf("%d timers of groups that were written long ago; gathered: %v", timers, gathered)
		}
	})
}

// stuck keeps the actor of one name from its messages while it is on.
type stuck struct {
	name string
	on   atomic.Bool
	free chan struct{}
}

func (s *stuck) received(to *actor.PID, _ any) {
	if s.on.Load() && strings.HasPrefix(to.Id, s.name) && !strings.Contains(to.Id[len(s.name):], "/") {
		<-s.free
	}
}

func runStuck(t *testing.T, name string, f func(t *testing.T, s *actors.Store, k *stuck)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		k := &stuck{name: name, free: make(chan struct{})}
		s := openStore(t, vfs.Mem(), actors.WithHooks(actors.Hooks{Received: k.received}))
		if err := s.CreateTable(t.Context(), "ci", nil, nil); err != nil {
			t.Fatal(err)
		}
		k.on.Store(true)
		f(t, s, k)
		closeStore(t, s)
		time.Sleep(2 * time.Second)
	})
}

func markOf(s *actors.Store, kind string) actors.Mark {
	for _, m := range s.Runtime().Marks() {
		if m.Kind == kind {
			return m
		}
	}
	return actors.Mark{}
}

// Whoever asks the engine for something and loses patience leaves the request behind. While the engine does not come to
// them there are so many at most; who comes then waits, and in the end everybody is served.
func TestRequestsAreAdmitted(t *testing.T) {
	runStuck(t, "millrace", func(t *testing.T, s *actors.Store, k *stuck) {
		for range 2000 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if _, err := s.Stats(ctx, ""); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			cancel()
		}
		if m := markOf(s, "engine"); m.High < 100 || m.High > 300 {
			t.Errorf("%d requests wait", m.High)
		}
		done := make(chan error, 1)
		go func() { _, err := s.Stats(t.Context(), ""); done <- err }()
		time.Sleep(time.Minute)
		k.on.Store(false)
		close(k.free)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Scans that are begun and given up again are no more than so many messages, and nobody who closes one waits for ever.
func TestScansAreAdmitted(t *testing.T) {
	runStuck(t, "millrace/scans.1", func(t *testing.T, s *actors.Store, k *stuck) {
		const all = 1500
		done := make(chan error, all)
		for range all {
			go func() {
				sc, err := s.Scan(t.Context(), "ci", actors.ScanOptions{})
				if err == nil {
					sc.Close()
				}
				done <- err
			}()
		}
		time.Sleep(time.Minute)
		if m := markOf(s, "scans"); m.High < 1000 || m.High > 1024 {
			t.Errorf("%d messages wait", m.High)
		}
		k.on.Store(false)
		close(k.free)
		for range all {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		if _, leases := s.OpenFiles(); leases > 0 {
			t.Errorf("%d leases are left", leases)
		}
	})
}

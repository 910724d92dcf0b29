package actors_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors"
	"millrace/actors/actortest"
	"millrace/actors/protocol"
	"millrace/compactor/plan"
	"millrace/internal/vfs"
	"millrace/reader/scan"
	"millrace/tablet"
	"millrace/tablet/iter"
)

// tabletTest is a tablet among probes: its scheduler, the files actor, and a neighbour that plays binner and engine.
type tabletTest struct {
	*actortest.Kit
	t                   *testing.T
	sched, files, other *actortest.Probe
	fs                  *vfs.MemFS
	env                 *actors.TabletTest
	tablet              *actor.PID
	view                func() (protocol.View, error)
	durable             actors.Durable
	requests            uint64
	gate                *gateFS // if set before a job starts, the job waits at it
}

func runTablet(t *testing.T, f func(tt *tabletTest), rules ...vfs.Rule) {
	t.Helper()
	actortest.Run(t, func(k *actortest.Kit) {
		tt := &tabletTest{Kit: k, t: t, sched: k.Probe("sched"), files: k.Probe("files"), other: k.Probe("other"), fs: vfs.Mem()}
		if err := tt.fs.MkdirAll("data"); err != nil {
			t.Fatal(err)
		}
		tt.gate = newGate(vfs.Faulty(tt.fs, rules...))
		durable := k.Spawn("durable", tt.durable.Spec())
		tt.env = actors.NewTabletTest(k.Runtime(), tt.gate, plan.V1_5, tt.files.PID(), durable, &tt.durable)
		tt.gate.open()
		spec, view, err := tt.env.Spec(map[string]string{"table.file.compress.type": "none"}, tt.sched.PID())
		if err != nil {
			t.Fatal(err)
		}
		tt.tablet, tt.view = k.Spawn("tablet", spec), view
		f(tt)
	})
}

// apply writes rows, and takes the answer and the report of memory, if one is due.
func (tt *tabletTest) apply(rows ...string) {
	tt.t.Helper()
	m := &protocol.Apply{From: tt.other.PID(), Batch: 1}
	for _, r := range rows {
		m.Mutations = append(m.Mutations, put(r))
	}
	tt.other.Send(tt.tablet, m)
	if got := actortest.Expect[*protocol.Applied](tt.other, time.Second); got.Err != nil || len(got.Refused) > 0 {
		tt.t.Fatalf("apply: %+v", got)
	}
}

// wish takes the tablet's next wish, past its reports of memory.
func (tt *tabletTest) wish(kind protocol.JobKind) *protocol.WantPermit {
	tt.t.Helper()
	w := actortest.Fish[*protocol.WantPermit](tt.sched, nil)
	if w.Kind != kind {
		tt.t.Fatalf("wish for a %v job, want %v", w.Kind, kind)
	}
	return w
}

// memory takes the tablet's next report of memory, as a scheduler does.
func (tt *tabletTest) memory() *protocol.MemoryIs {
	tt.t.Helper()
	m := actortest.Expect[*protocol.MemoryIs](tt.sched, time.Second)
	tt.sched.Send(tt.tablet, &protocol.MemorySeen{})
	return m
}

// wishes lets an hour pass and takes all wishes there are.
func (tt *tabletTest) wishes() (all []*protocol.WantPermit) {
	tt.t.Helper()
	for tt.Advance(time.Hour); tt.sched.Pending() > 0; {
		if w, ok := actortest.Fish[any](tt.sched, nil).(*protocol.WantPermit); ok {
			all = append(all, w)
		}
	}
	return all
}

func (tt *tabletTest) permit(w *protocol.WantPermit) {
	tt.sched.Send(tt.tablet, &protocol.Permit{Job: w.Job})
}

// released waits until the permit comes back.
func (tt *tabletTest) released(w *protocol.WantPermit) {
	tt.t.Helper()
	actortest.Fish(tt.sched, func(m *protocol.Release) bool { return m.Job == w.Job })
}

// shut makes jobs that start from now on wait until the gate is opened.
func (tt *tabletTest) shut() { tt.gate.gate = make(chan struct{}) }

// flush asks for a flush and sees it through.
func (tt *tabletTest) flush(rows ...string) {
	tt.t.Helper()
	tt.apply(rows...)
	tt.requests++
	tt.other.Send(tt.tablet, &protocol.Flush{From: tt.other.PID(), Request: tt.requests})
	w := tt.wish(protocol.Minor)
	tt.permit(w)
	if m := actortest.Expect[*protocol.Flushed](tt.other, time.Minute); m.Err != nil || m.Request != tt.requests {
		tt.t.Fatalf("flush: %+v", m)
	}
	tt.released(w)
}

func (tt *tabletTest) compact(o protocol.CompactOrder) {
	tt.requests++
	tt.other.Send(tt.tablet, &protocol.Compact{From: tt.other.PID(), Request: tt.requests, Order: o})
}

func (tt *tabletTest) compacted() *protocol.Compacted {
	tt.t.Helper()
	m := actortest.Expect[*protocol.Compacted](tt.other, time.Minute)
	tt.other.ExpectNone(0)
	return m
}

func (tt *tabletTest) stats() *protocol.TabletStats {
	tt.t.Helper()
	tt.other.Send(tt.tablet, &protocol.GetTabletStats{From: tt.other.PID()})
	return actortest.Expect[*protocol.TabletStats](tt.other, time.Second)
}

// job is the address of a job that runs.
func (tt *tabletTest) job(w *protocol.WantPermit) *actor.PID {
	prefix := "c"
	if w.Kind == protocol.Minor {
		prefix = "f"
	}
	return actor.NewPID("nonhost", fmt.Sprintf("%s/%s.%d", tt.tablet.Id, prefix, w.Job))
}

func (tt *tabletTest) filesAre(n int) {
	tt.t.Helper()
	tt.Settle()
	names, err := tt.fs.List("data")
	if s := tt.stats(); err != nil || len(names) != n || len(s.Files) != n {
		tt.t.Errorf("files %v in the directory, %d in the tablet, want %d (%v)", names, len(s.Files), n, err)
	}
	if n := tt.env.Leases(); n != 0 {
		tt.t.Errorf("%d leases are left", n)
	}
}

// manyRows are more than a job writes in one step.
func manyRows() []string {
	rows := make([]string, 10_000)
	for i := range rows {
		rows[i] = fmt.Sprintf("%06d", i)
	}
	return rows
}

func TestTabletFlushes(t *testing.T) {
	runTablet(t, func(tt *tabletTest) {
		tt.other.Send(tt.tablet, &protocol.Flush{From: tt.other.PID(), Request: 9})
		if m := actortest.Expect[*protocol.Flushed](tt.other, time.Second); m.Request != 9 || m.Err != nil {
			t.Errorf("flush of nothing: %+v", m)
		}
		tt.flush("a", "b")
		tt.filesAre(1)
		if alive := tt.Runtime().Alive(); len(alive) != 6 { // the tablet, the kit, log and manifest in one, and three probes
			t.Errorf("alive after a flush: %v", alive)
		}
		// What comes while a flush waits for its permit is not part of it.
		tt.apply("c")
		tt.other.Send(tt.tablet, &protocol.Flush{From: tt.other.PID(), Request: 20})
		first := tt.wish(protocol.Minor)
		tt.apply("d")
		tt.other.Send(tt.tablet, &protocol.Flush{From: tt.other.PID(), Request: 21})
		tt.permit(first)
		if m := actortest.Expect[*protocol.Flushed](tt.other, time.Minute); m.Request != 20 {
			t.Errorf("answered %d first", m.Request)
		}
		tt.other.ExpectNone(time.Hour)
		tt.permit(tt.wish(protocol.Minor))
		if m := actortest.Expect[*protocol.Flushed](tt.other, time.Minute); m.Request != 21 {
			t.Errorf("answered %d second", m.Request)
		}
		tt.filesAre(3)
	})
}

func TestTabletFlushesAtTheSchedulersWord(t *testing.T) {
	runTablet(t, func(tt *tabletTest) {
		tt.sched.Send(tt.tablet, &protocol.FlushMemory{}) // nothing there
		if m := tt.memory(); m.Active != 0 || m.Flushing != 0 {
			t.Errorf("reported %+v", m)
		}
		tt.sched.ExpectNone(time.Hour)
		tt.apply("a")
		tt.sched.Send(tt.tablet, &protocol.FlushMemory{})
		tt.sched.Send(tt.tablet, &protocol.FlushMemory{}) // again, before the tablet's report
		if m := tt.memory(); m.Active != 0 || m.Flushing == 0 {
			t.Errorf("reported %+v", m)
		}
		w := tt.wish(protocol.Minor)
		if m := tt.memory(); m.Active != 0 || m.Flushing == 0 { // for the second time
			t.Errorf("reported %+v", m)
		}
		tt.sched.ExpectNone(time.Hour)
		tt.permit(w)
		tt.released(w)
		if m := tt.memory(); m.Active != 0 || m.Flushing != 0 {
			t.Errorf("reported %+v", m)
		}
		tt.filesAre(1)
	})
}

// Three files of a size meet the ratio. The files they become leave once the last view of them is released.
func TestTabletCompacts(t *testing.T) {
	runTablet(t, func(tt *tabletTest) {
		for i := range 3 {
			tt.flush(fmt.Sprint(i))
		}
		v, err := tt.view()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Sources(scan.TakeKit(), tablet.Families{}); err != nil {
			t.Fatal(err)
		}
		w := tt.wish(protocol.Major)
		if w.Files != 3 || w.Bytes == 0 {
			t.Errorf("wish %+v", w)
		}
		tt.permit(w)
		tt.released(w)
		tt.files.ExpectNone(time.Hour)
		v.Release()
		for range 3 {
			actortest.Expect[*protocol.FreeFile](tt.files, time.Second)
		}
		s := tt.stats()
		if len(s.Files) != 1 || s.Counts.Compactions != 1 || s.Counts.CompactedRead != 3 || s.Jobs != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestTabletCompactsOnRequest(t *testing.T) {
	runTablet(t, func(tt *tabletTest) {
		tt.compact(protocol.CompactOrder{})
		if m := tt.compacted(); m.Err != nil || m.Result.Passes != 0 {
			t.Errorf("compaction of nothing: %+v", m)
		}
		tt.flush("a")
		tt.flush("b")
		tt.compact(protocol.CompactOrder{Mode: iter.Old})
		w := tt.wish(protocol.User)
		tt.compact(protocol.CompactOrder{Codec: "snappy"}) // waits for the first
		tt.permit(w)
		m := tt.compacted()
		if m.Err != nil || m.Request != tt.requests-1 || len(m.Result.Inputs) != 2 || m.Result.Output.Entries != 2 || m.Result.Books.Read != 2 {
			t.Errorf("%+v", m)
		}
		w = tt.wish(protocol.User)
		tt.permit(w)
		if m := tt.compacted(); m.Err != nil || m.Request != tt.requests || len(m.Result.Inputs) != 1 {
			t.Errorf("%+v", m)
		}
		tt.released(w)
	})
}

func TestTabletScratchCompaction(t *testing.T) {
	runTablet(t, func(tt *tabletTest) {
		tt.flush("a")
		tt.flush("b")
		tt.compact(protocol.CompactOrder{Scratch: true})
		w := tt.wish(protocol.Scratch)
		tt.permit(w)
		m := tt.compacted()
		if m.Err != nil || m.Result.Output.Entries != 2 || m.Result.Hash == [32]byte{} {
			t.Errorf("%+v", m)
		}
		tt.released(w)
		tt.filesAre(2)
	})
}

// A scratch job waits until no other job reads the tablet's files, and none is started until it is done.
func TestTabletScratchCompactionIsAlone(t *testing.T) {
	runTablet(t, func(tt *tabletTest) {
		for i := range 3 {
			tt.flush(fmt.Sprint(i))
		}
		major := tt.wish(protocol.Major)
		tt.compact(protocol.CompactOrder{Scratch: true})
		if w := tt.wishes(); len(w) > 0 {
			t.Errorf("wish %+v beside a compaction", w[0])
		}
		tt.permit(major)
		tt.released(major)
		scratch := tt.wish(protocol.Scratch)
		if scratch.Files != 1 {
			t.Errorf("wish %+v", scratch)
		}
		for i := range 3 {
			tt.flush(fmt.Sprint(i))
		}
		if w := tt.wishes(); len(w) > 0 { // though the ratio is met again
			t.Errorf("wish %+v beside a scratch compaction", w[0])
		}
		tt.permit(scratch)
		if m := tt.compacted(); m.Err != nil || len(m.Result.Inputs) != 4 || m.Result.Books.Read != 6 {
			t.Errorf("%+v", m)
		}
		tt.wish(protocol.Major)
	})
}

// More files than one job may read take several passes, of which only the last is full.
func TestTabletCompactsInPasses(t *testing.T) {
	runTablet(t, func(tt *tabletTest) {
		var majors []*protocol.WantPermit
		for i := range 12 {
			tt.flush(fmt.Sprint(i))
			majors = append(majors, tt.wishes()...)
		}
		tt.compact(protocol.CompactOrder{})
		if len(majors) != 1 { // the wish of the first three files, which the user's request takes over at its permit
			t.Fatalf("%d wishes", len(majors))
		}
		tt.permit(majors[0])
		tt.released(majors[0])
		tt.permit(tt.wish(protocol.User))
		m := tt.compacted()
		if m.Err != nil || m.Result.Passes != 2 || len(m.Result.Inputs) != 12 || m.Result.Output.Entries != 12 || m.Result.Books.Read != 3+12 {
			t.Errorf("%+v", m)
		}
	})
}

// A permit that comes twice starts one job.
func TestTabletTakesAPermitOnce(t *testing.T) {
	runTablet(t, func(tt *tabletTest) {
		tt.apply("a")
		tt.shut()
		tt.other.Send(tt.tablet, &protocol.Flush{From: tt.other.PID(), Request: 1})
		w := tt.wish(protocol.Minor)
		tt.permit(w)
		tt.permit(w)
		tt.Settle()
		tt.gate.open()
		if m := actortest.Expect[*protocol.Flushed](tt.other, time.Second); m.Err != nil {
			t.Error(m.Err)
		}
		tt.filesAre(1)
	})
}

// A job that panics leaves nothing. A flush is tried again with the memtable that is still there; whoever waited is told.
func TestTabletFlushPanics(t *testing.T) {
	runTablet(t, func(tt *tabletTest) {
		tt.AllowDeadLetters(&protocol.Continue{})
		tt.apply("a")
		tt.other.Send(tt.tablet, &protocol.Flush{From: tt.other.PID(), Request: 1})
		w := tt.wish(protocol.Minor)
		tt.Kill(tt.job(w))
		tt.permit(w)
		if m := actortest.Expect[*protocol.Flushed](tt.other, time.Second); m.Err == nil {
			t.Error("the flush that panicked succeeded")
		}
		tt.released(w)
		if s := tt.stats(); s.Counts.JobFailures != 1 || s.MemoryEntries != 1 || len(s.Files) != 0 {
			t.Errorf("%+v", s)
		}
		again := tt.wish(protocol.Minor) // after a while, by itself
		tt.permit(again)
		tt.released(again)
		tt.filesAre(1)
		tt.other.ExpectNone(time.Hour)
	})
}

func TestTabletCompactionPanics(t *testing.T) {
	runTablet(t, func(tt *tabletTest) {
		tt.AllowDeadLetters(&protocol.Continue{})
		tt.flush("a")
		tt.flush("b")
		tt.compact(protocol.CompactOrder{})
		w := tt.wish(protocol.User)
		tt.Kill(tt.job(w))
		tt.permit(w)
		if m := tt.compacted(); m.Err == nil {
			t.Error("the compaction that panicked succeeded")
		}
		tt.released(w)
		tt.filesAre(2)
		tt.compact(protocol.CompactOrder{})
		began := time.Now()
		w = tt.wish(protocol.User)
		if waited := time.Since(began); waited < 50*time.Millisecond {
			t.Errorf("what panicked was tried again after %v", waited)
		}
		tt.permit(w)
		if m := tt.compacted(); m.Err != nil {
			t.Error(m.Err)
		}
	})
}

// Errors of the disk reach who asked; the tablet goes on with what it had, and flushes again when the disk is well.
func TestTabletJobsFail(t *testing.T) {
	boom := errors.New("boom")
	runTablet(t, func(tt *tabletTest) {
		tt.apply("a")
		tt.other.Send(tt.tablet, &protocol.Flush{From: tt.other.PID(), Request: 1})
		tt.permit(tt.wish(protocol.Minor))
		if m := actortest.Expect[*protocol.Flushed](tt.other, time.Second); !errors.Is(m.Err, boom) {
			t.Errorf("flush: %v", m.Err)
		}
		tt.permit(tt.wish(protocol.Minor))
		tt.filesAre(1)
		tt.compact(protocol.CompactOrder{})
		tt.permit(tt.wish(protocol.User))
		if m := tt.compacted(); !errors.Is(m.Err, boom) {
			t.Errorf("compaction: %v", m.Err)
		}
		tt.filesAre(1)
	}, vfs.Rule{Op: vfs.OpSync, N: 1, Err: boom}, vfs.Rule{Op: vfs.OpSync, N: 3, Err: boom})
}

func TestTabletCancels(t *testing.T) {
	runTablet(t, func(tt *tabletTest) {
		tt.flush("a")
		tt.flush("b")
		cancelled := func() {
			t.Helper()
			if m := tt.compacted(); !errors.Is(m.Err, context.Canceled) || m.Request != tt.requests {
				t.Errorf("%+v", m)
			}
		}
		cancel := func() { tt.other.Send(tt.tablet, &protocol.CancelCompact{Request: tt.requests}) }

		tt.compact(protocol.CompactOrder{}) // while it waits for its permit
		w := tt.wish(protocol.User)
		cancel()
		cancelled()
		tt.released(w)
		tt.permit(w) // was under way
		tt.released(w)

		tt.compact(protocol.CompactOrder{Scratch: true})
		w = tt.wish(protocol.Scratch)
		cancel()
		cancelled()
		tt.released(w)

		tt.compact(protocol.CompactOrder{}) // behind another
		first := tt.requests
		w = tt.wish(protocol.User)
		tt.compact(protocol.CompactOrder{})
		cancel()
		cancelled()
		tt.permit(w)
		if m := tt.compacted(); m.Err != nil || m.Request != first {
			t.Errorf("%+v", m)
		}
		tt.released(w)
		cancel() // of what is over
		tt.other.ExpectNone(time.Hour)
	})
}

// A job that runs is cancelled between two steps; its file is gone, and its tablet goes on.
func TestTabletCancelsARunningJob(t *testing.T) {
	runTablet(t, func(tt *tabletTest) {
		tt.AllowDeadLetters(&protocol.Continue{}) // the job is stopped with one on its way
		tt.flush(manyRows()...)
		tt.shut()
		tt.compact(protocol.CompactOrder{})
		w := tt.wish(protocol.User)
		tt.permit(w)
		tt.Settle()
		tt.other.Send(tt.tablet, &protocol.CancelCompact{Request: tt.requests})
		if m := tt.compacted(); !errors.Is(m.Err, context.Canceled) {
			t.Errorf("%+v", m)
		}
		tt.gate.open()
		tt.released(w)
		tt.filesAre(1)
		if s := tt.stats(); s.Counts.JobsCancelled != 1 || s.Jobs != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// A new scheduler hears of wishes, permits and memory.
func TestTabletTellsANewScheduler(t *testing.T) {
	runTablet(t, func(tt *tabletTest) {
		tt.flush("a")
		tt.apply("b")
		tt.compact(protocol.CompactOrder{})
		w := tt.wish(protocol.User)
		next := tt.Probe("next")
		tt.other.Send(tt.tablet, &protocol.SchedulerIs{Scheduler: next.PID()})
		if again := actortest.Expect[*protocol.WantPermit](next, time.Second); again.Job != w.Job {
			t.Errorf("wish %+v", again)
		}
		if m := actortest.Expect[*protocol.MemoryIs](next, time.Second); m.Active == 0 {
			t.Errorf("memory %+v", m)
		}
		next.Send(tt.tablet, &protocol.Permit{Job: w.Job})
		if m := tt.compacted(); m.Err != nil {
			t.Error(m.Err)
		}
		actortest.Fish(next, func(m *protocol.Release) bool { return m.Job == w.Job })
		tt.sched.ExpectNone(time.Hour)
	})
}

// Whoever waits is answered when the tablet ends, once, and its jobs leave nothing.
func TestTabletThatStopsAnswers(t *testing.T) {
	for _, how := range []string{"stop", "panic"} {
		t.Run(how, func(t *testing.T) {
			runTablet(t, func(tt *tabletTest) {
				tt.AllowDeadLetters()
				tt.flush(manyRows()...)
				tt.shut()
				tt.compact(protocol.CompactOrder{})
				tt.permit(tt.wish(protocol.User))
				tt.Settle()
				tt.apply("b")
				tt.other.Send(tt.tablet, &protocol.Flush{From: tt.other.PID(), Request: 77})
				tt.wish(protocol.Minor)
				if how == "stop" {
					go tt.Stop(tt.tablet)
					tt.Settle() // it stops as far as it can while a job waits
				} else {
					tt.Kill(tt.tablet)
					tt.other.Send(tt.tablet, &protocol.Apply{From: tt.other.PID(), Batch: 8})
					if m := actortest.Expect[*protocol.Applied](tt.other, time.Second); m.Err == nil {
						t.Error("the batch that killed its tablet was applied")
					}
				}
				tt.gate.open()
				answers := map[string]int{}
				for tt.Settle(); tt.other.Pending() > 0; {
					answers[fmt.Sprintf("%T", actortest.Fish[any](tt.other, nil))]++
				}
				if answers["*protocol.Flushed"] != 1 || answers["*protocol.Compacted"] != 1 || len(answers) != 2 {
					t.Errorf("answers %v", answers)
				}
				if _, err := tt.view(); !errors.Is(err, tablet.ErrClosed) {
					t.Errorf("view of a tablet that is gone: %v", err)
				}
				names, err := tt.fs.List("data")
				if err != nil || len(names) != 1 || tt.env.Leases() != 0 {
					t.Errorf("files %v, %v, %d leases", names, err, tt.env.Leases())
				}
			})
		})
	}
}

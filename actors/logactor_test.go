package actors_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors"
	"millrace/actors/actortest"
	"millrace/actors/protocol"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/manifest"
)

// durableTest is the log or the manifest among probes.
type durableTest struct {
	*actortest.Kit
	t                   *testing.T
	mem                 *vfs.MemFS
	fs                  *vfs.FaultyFS
	core                *actors.CoreTest
	other, files, inlog *actortest.Probe
	pid                 *actor.PID
	syncs, writes       atomic.Int64 // of log segments
	slow                atomic.Int64 // how long a sync takes
	batch               uint64
}

func runDurable(t *testing.T, properties map[string]string, spec func(*actors.CoreTest) actors.Spec, f func(d *durableTest)) {
	t.Helper()
	actortest.Run(t, func(k *actortest.Kit) {
		d := &durableTest{Kit: k, t: t, mem: vfs.Mem(), other: k.Probe("other"), files: k.Probe("files"), inlog: k.Probe("inlog")}
		d.fs = vfs.Faulty(d.mem)
		traced := vfs.Trace(d.fs, vfs.TraceOptions{Before: func(e vfs.Event) {
			switch e.Op {
			case vfs.OpSync:
				d.syncs.Add(1)
				time.Sleep(time.Duration(d.slow.Load()))
			case vfs.OpWrite:
				d.writes.Add(1)
			}
		}})
		var err error
		if d.core, err = actors.NewCoreTest(k.Runtime(), traced, properties, d.files.PID(), d.inlog.PID()); err != nil {
			t.Fatal(err)
		}
		d.pid = d.other.Spawn("durable", spec(d.core))
		d.Settle()
		d.syncs.Store(0)
		d.writes.Store(0)
		f(d)
		if _, err := actortest.Ask(k, d.pid, &protocol.Drain{}); err != nil {
			t.Error(err)
		}
	})
}

func (d *durableTest) append(row string, level tablet.Durability) {
	d.batch++
	d.other.Send(d.pid, &protocol.Append{From: d.other.PID(), Batch: d.batch, Tablet: 7, Session: 1, Timestamp: 1, Durability: level, Mutations: []*tablet.Mutation{put(row)}})
}

func (d *durableTest) appended(batch uint64) error {
	d.t.Helper()
	m := actortest.Expect[*protocol.Appended](d.other, time.Minute)
	if m.Batch != batch {
		d.t.Fatalf("answer to batch %d, want %d", m.Batch, batch)
	}
	return m.Err
}

func (d *durableTest) segments() int {
	d.t.Helper()
	names, err := d.mem.List("wal")
	if err != nil {
		d.t.Fatal(err)
	}
	return len(names)
}

// rows are what the log holds.
func (d *durableTest) rows() (rows []string) {
	d.t.Helper()
	d.other.Send(d.pid, &protocol.ReadLog{From: d.other.PID(), Read: 1, Tablet: 7, Each: func(e *protocol.Logged) {
		rows = append(rows, string(e.Mutations[0].Row()))
	}})
	if m := actortest.Expect[*protocol.LogRead](d.other, time.Minute); m.Err != nil {
		d.t.Fatal(m.Err)
	}
	return rows
}

// What comes while the log syncs is one group: one write, one sync, and the answers in order.
func TestLogGroups(t *testing.T) {
	runDurable(t, nil, (*actors.CoreTest).LogSpec, func(d *durableTest) {
		d.append("a", tablet.DurabilitySync)
		if err := d.appended(1); err != nil {
			t.Fatal(err)
		}
		d.Advance(time.Second)
		d.syncs.Store(0)
		d.writes.Store(0)
		d.slow.Store(int64(time.Second))
		d.append("b", tablet.DurabilitySync)
		d.Advance(time.Second / 2)
		for _, row := range []string{"c", "d", "e"} {
			d.append(row, tablet.DurabilitySync)
		}
		for batch := uint64(2); batch <= 5; batch++ {
			if err := d.appended(batch); err != nil {
				t.Error(err)
			}
		}
		if s, w := d.syncs.Load(), d.writes.Load(); s != 2 || w != 2 {
			t.Errorf("%d syncs and %d writes for one append and three that came meanwhile", s, w)
		}
	})
}

// An entry that could be written in no segment is void: it never comes back, and the log takes no more until it could say
// so. What was taken before is there.
func TestLogVoidsAndHeals(t *testing.T) {
	runDurable(t, nil, (*actors.CoreTest).LogSpec, func(d *durableTest) {
		d.append("a", tablet.DurabilitySync)
		if err := d.appended(1); err != nil {
			t.Fatal(err)
		}
		d.fs.Add(vfs.Rule{Op: vfs.OpSync, Name: "*.wal", Sticky: true, Err: syscall.EIO, Sync: vfs.SyncKept})
		d.append("b", tablet.DurabilitySync)
		if err := d.appended(2); !errors.Is(err, actors.ErrUnknownOutcome) || !errors.Is(err, syscall.EIO) {
			t.Errorf("an append that was not synced: %v", err)
		}
		d.append("c", tablet.DurabilityLog)
		if err := d.appended(3); errors.Is(err, actors.ErrUnknownOutcome) || !errors.Is(err, tablet.ErrBusy) {
			t.Errorf("an append that was not taken: %v", err)
		}
		d.fs.Heal()
		d.append("d", tablet.DurabilitySync) // too early: tries are spaced
		if err := d.appended(4); !errors.Is(err, tablet.ErrBusy) {
			t.Errorf("an append at once: %v", err)
		}
		d.Advance(time.Second)
		d.append("e", tablet.DurabilitySync)
		if err := d.appended(5); err != nil {
			t.Error(err)
		}
		if rows := d.rows(); !slices.Equal(rows, []string{"a", "e"}) {
			t.Errorf("the log holds %v", rows)
		}
	})
}

// At level log the answer comes at once and the bytes a second later, unless somebody else has them written before.
func TestLogHandsOver(t *testing.T) {
	runDurable(t, nil, (*actors.CoreTest).LogSpec, func(d *durableTest) {
		d.append("a", tablet.DurabilitySync) // the first of a segment is always synced
		if err := d.appended(1); err != nil {
			t.Fatal(err)
		}
		d.Advance(10 * time.Second)
		before := d.writes.Load()
		d.append("b", tablet.DurabilityLog)
		if err := d.appended(2); err != nil {
			t.Error(err)
		}
		d.Advance(900 * time.Millisecond)
		if n := d.writes.Load() - before; n != 0 {
			t.Errorf("%d writes within a second", n)
		}
		d.Advance(200 * time.Millisecond)
		if n := d.writes.Load() - before; n != 1 {
			t.Errorf("%d writes after a second", n)
		}
		d.append("c", tablet.DurabilityLog)
		d.append("d", tablet.DurabilityFlush)
		for batch := uint64(3); batch <= 4; batch++ {
			if err := d.appended(batch); err != nil {
				t.Error(err)
			}
		}
		if n := d.writes.Load() - before; n != 2 {
			t.Errorf("%d writes with one at flush", n)
		}
	})
}

// A segment goes when a durable record says that files have what it holds, not before, and the oldest first.
func TestLogTrims(t *testing.T) {
	runDurable(t, map[string]string{"tserver.wal.max.size": "1K"}, (*actors.CoreTest).LogSpec, func(d *durableTest) {
		for i := range 40 {
			d.append("row that takes some room, so that segments fill", tablet.DurabilitySync)
			if m := actortest.Fish[*protocol.Appended](d.other, nil); m.Err != nil || m.Batch != uint64(i+1) {
				t.Fatalf("%+v", m)
			}
		}
		n := d.segments()
		if n < 3 {
			t.Fatalf("%d segments", n)
		}
		inFiles := func(all ...protocol.Filed) {
			t.Helper()
			d.other.Send(d.pid, &protocol.InFiles{From: d.other.PID(), Request: 5, Filed: all})
			if m := actortest.Fish[*protocol.InFilesTaken](d.other, nil); m.Request != 5 || m.Err != nil {
				t.Errorf("%+v", m)
			}
			d.Settle()
		}
		inFiles(protocol.Filed{Tablet: 8, Session: 9}, protocol.Filed{Tablet: 7})
		if now := d.segments(); now != n {
			t.Errorf("%d of %d segments are left, and nothing is in files", now, n)
		}
		inFiles(protocol.Filed{Tablet: 7, Session: 1})
		if now := d.segments(); now != 1 {
			t.Errorf("%d segments are left, all is in files", now)
		}
	})
}

// A record whose sync fails is in doubt: the state stays, nothing that it names goes, nothing more is recorded, until a new
// file is begun; then its files go.
func TestManifestDoubtsAndHeals(t *testing.T) {
	runDurable(t, nil, (*actors.CoreTest).ManifestSpec, func(d *durableTest) {
		record := func(edits ...manifest.Edit) *protocol.Recorded {
			t.Helper()
			d.batch++
			d.other.Send(d.pid, &protocol.Record{From: d.other.PID(), Request: d.batch, Edits: edits})
			m := actortest.Expect[*protocol.Recorded](d.other, time.Minute)
			if m.Request != d.batch {
				t.Fatalf("answer to %d, want %d", m.Request, d.batch)
			}
			return m
		}
		tab := d.core.Number()
		if m := record(manifest.CreateTable{Table: "t", ID: d.core.Number(), Tablets: []uint64{tab}}); m.Err != nil {
			t.Fatal(m.Err)
		}
		file := func(age uint64) tablet.FileMeta {
			n := d.core.Number()
			return tablet.FileMeta{Number: n, Name: manifest.FileName("F", n), Bytes: 10, Entries: 1, Ages: tablet.AgeRange{Oldest: age, Newest: age},
				FirstRow: []byte("a"), LastRow: []byte("a")}
		}
		install := func(session uint64, f tablet.FileMeta) manifest.Edit {
			return manifest.Install{Tablet: tab, Session: session, Add: &manifest.FileRef{FileMeta: f}}
		}
		first, second, third := file(1), file(2), file(3)
		if m := record(install(1, first)); m.Err != nil {
			t.Fatal(m.Err)
		}
		m := actortest.Expect[*protocol.InFiles](d.inlog, time.Second)
		if !slices.Equal(m.Filed, []protocol.Filed{{Tablet: tab, Session: 1}}) {
			t.Errorf("the log is told %+v", m)
		}
		d.inlog.Send(d.pid, &protocol.InFilesTaken{Request: m.Request})
		d.fs.Add(vfs.Rule{Op: vfs.OpSync, Name: "*.manifest", N: 1, Err: syscall.EIO, Sync: vfs.SyncKept})
		if m := record(install(3, second), manifest.Swap{Tablet: tab, Remove: []uint64{first.Number}}); !m.Doubt || !errors.Is(m.Err, syscall.EIO) {
			t.Errorf("a record that was not synced: %+v", m)
		}
		d.other.Send(d.pid, &protocol.Doubted{File: second})
		d.other.Send(d.pid, &protocol.GetState{From: d.other.PID()})
		s := actortest.Expect[*protocol.StateIs](d.other, time.Second).State
		if s.Named(first.Number) == nil || s.Named(second.Number) != nil {
			t.Error("the state has changed by a record in doubt")
		}
		if m := record(install(3, third)); m.Doubt || !errors.Is(m.Err, tablet.ErrBusy) {
			t.Errorf("a record during a doubt: %+v", m)
		}
		d.files.ExpectNone(200 * time.Millisecond)
		d.inlog.ExpectNone(0)
		d.Advance(time.Second) // its timer
		if m := actortest.Expect[*protocol.FreeFile](d.files, 0); m.Number != second.Number {
			t.Errorf("file %d goes, want %d", m.Number, second.Number)
		}
		if m := record(install(3, third), manifest.Swap{Tablet: tab, Remove: []uint64{first.Number}}); m.Err != nil {
			t.Errorf("a record after the doubt: %v", m.Err)
		}
		if m := actortest.Expect[*protocol.FreeFile](d.files, time.Second); m.Number != first.Number {
			t.Errorf("file %d goes, want %d", m.Number, first.Number)
		}
		actortest.Expect[*protocol.InFiles](d.inlog, time.Second)
		if m := record(install(2, file(9))); m.Doubt || !errors.Is(m.Err, manifest.ErrRefused) {
			t.Errorf("a record of an old session: %+v", m)
		}
	})
}

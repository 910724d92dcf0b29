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
	"millrace/compactor/job"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/memtable"
	"millrace/tablet/rfile"
)

// jobTest is a job under a probe that plays its tablet, on a file system in memory.
type jobTest struct {
	*actortest.Kit
	tablet *actortest.Probe
	fs     *vfs.MemFS
	files  *actors.OpenFiles
}

func newJobTest(k *actortest.Kit) *jobTest {
	fsys := vfs.Mem()
	if err := errors.Join(fsys.MkdirAll("data"), fsys.SyncDir(".")); err != nil {
		k.Failf("%v", err)
	}
	return &jobTest{Kit: k, tablet: k.Probe("tablet"), fs: fsys, files: actors.NewOpenFiles(fsys, 100)}
}

func (j *jobTest) start(t actors.JobTest) *actor.PID {
	if t.FS == nil {
		t.FS = j.fs
	}
	t.ID, t.Name = 7, "data/7.rf"
	t.Spec.Writer.Codec = "none"
	return j.tablet.Spawn("job", actors.JobSpec(j.Runtime(), j.files, t))
}

// memory is a memtable of n rows.
func memory(n int) *memtable.Snapshot {
	m := memtable.New()
	for i := range n {
		m.Apply(put(fmt.Sprintf("%08d", i)), 1)
	}
	return m.Snapshot()
}

// clean checks that nothing of a job is left: no file, no lease.
func (j *jobTest) clean(t *testing.T, want ...string) {
	t.Helper()
	j.Settle()
	names, err := j.fs.List("data")
	if err != nil || len(names) != len(want) {
		t.Errorf("files %v, %v; want %v", names, err, want)
	}
	if _, leases := j.files.Count(); leases != 0 {
		t.Errorf("%d leases are left", leases)
	}
}

func TestJobWritesAndSyncs(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		j := newJobTest(k)
		gate := newGate(j.fs)
		pid := j.start(actors.JobTest{Kind: protocol.Minor, Memory: memory(20_000), Spec: job.Spec{Minor: true}, FS: gate})
		tap := k.Tap(pid)
		gate.open()
		m := actortest.Expect[*protocol.JobDone](j.tablet, time.Minute)
		if m.Err != nil || m.Job != 7 || m.Output.Number != 7 || m.Output.Name != "data/7.rf" || m.Output.Entries != 20_000 || m.Books.Written != 20_000 {
			t.Errorf("%+v", m)
		}
		if n := tap.Pending(); n < 4 { // 20,000 entries in steps of 4096, the first perhaps before the tap
			t.Errorf("the job ran in %d messages", n)
		}
		j.clean(t, "7.rf")
		// What is synced, file and name, is what a power cut would leave.
		after := j.fs.Durable()
		f, err := after.Open("data/7.rf")
		if err != nil {
			t.Fatal(err)
		}
		r, err := rfile.Open(f, rfile.ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		m.Release() // nobody took it
		j.clean(t)
	})
}

func TestJobOfNothingLeavesNoFile(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		j := newJobTest(k)
		j.start(actors.JobTest{Kind: protocol.Major})
		m := actortest.Expect[*protocol.JobDone](j.tablet, time.Minute)
		if m.Err != nil || m.Output.Entries != 0 {
			t.Errorf("%+v", m)
		}
		j.clean(t)
	})
}

func TestJobIsCancelled(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		j := newJobTest(k)
		gate := newGate(j.fs)
		pid := j.start(actors.JobTest{Kind: protocol.Minor, Memory: memory(10_000), Spec: job.Spec{Minor: true}, FS: gate})
		k.Settle()
		k.Runtime().Send(pid, &protocol.Cancel{Job: 7}) // during the first step of three
		gate.open()
		m := actortest.Expect[*protocol.JobDone](j.tablet, time.Minute)
		if !errors.Is(m.Err, context.Canceled) || m.Discard != nil {
			t.Errorf("cancelled: %+v", m)
		}
		j.tablet.Send(pid, &protocol.Cancel{Job: 7}) // too late
		j.tablet.ExpectNone(time.Hour)
		j.clean(t)
	})
}

// A job that panics sends nothing: its end is what its tablet hears. Its file and its leases are gone by then.
func TestJobPanics(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		j := newJobTest(k)
		in := writeRFile(t, j.fs, "data/3.rf", 3, 10)
		gate := newGate(j.fs)
		pid := j.start(actors.JobTest{Kind: protocol.Minor, Memory: memory(10_000), Files: []tablet.FileMeta{in}, Spec: job.Spec{Minor: true}, FS: gate})
		k.Settle()
		if _, leases := j.files.Count(); leases != 1 {
			t.Errorf("%d leases", leases)
		}
		k.Kill(pid) // in the second step
		gate.open()
		j.tablet.ExpectTerminated(pid)
		j.tablet.ExpectNone(time.Hour)
		j.clean(t, "3.rf")
	})
}

func TestJobFails(t *testing.T) {
	boom := errors.New("boom")
	for _, op := range []vfs.Op{vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpSyncDir, vfs.OpClose} {
		t.Run(string(op), func(t *testing.T) {
			actortest.Run(t, func(k *actortest.Kit) {
				j := newJobTest(k)
				j.start(actors.JobTest{Kind: protocol.Minor, Memory: memory(10), Spec: job.Spec{Minor: true},
					FS: vfs.Faulty(j.fs, vfs.Rule{Op: op, Err: boom})})
				m := actortest.Expect[*protocol.JobDone](j.tablet, time.Minute)
				if !errors.Is(m.Err, boom) || m.Output.Entries != 0 {
					t.Errorf("%+v", m)
				}
				j.tablet.ExpectNone(time.Hour)
				j.clean(t)
			})
		})
	}
}

// A scratch job reads the same as a real one, gives the hash of its output, and leaves nothing. Of one set of inputs
// every mode makes the same bytes.
func TestScratchJob(t *testing.T) {
	var hashes [][32]byte
	for _, mode := range []iter.Mode{iter.Old, iter.New} {
		actortest.Run(t, func(k *actortest.Kit) {
			j := newJobTest(k)
			a, b := writeRFile(t, j.fs, "data/3.rf", 3, 1000), writeRFile(t, j.fs, "data/4.rf", 4, 500)
			j.start(actors.JobTest{Kind: protocol.Scratch, Files: []tablet.FileMeta{b, a},
				Spec: job.Spec{Mode: mode, Full: true, MaxVersions: 1, Writer: rfile.WriterOptions{FileID: [16]byte{1}}}})
			m := actortest.Expect[*protocol.JobDone](j.tablet, time.Minute)
			if m.Err != nil || m.Output.Entries != 1000 || m.Books.Read != 1500 || m.Merge.Entries != 1500 {
				t.Errorf("%+v", m)
			}
			hashes = append(hashes, m.Hash)
			j.clean(t, "3.rf", "4.rf")
		})
	}
	if hashes[0] != hashes[1] || hashes[0] == [32]byte{} {
		t.Errorf("hashes %x", hashes)
	}
}

// writeRFile writes a file of n rows.
func writeRFile(t *testing.T, fsys vfs.FS, name string, number uint64, n int) tablet.FileMeta {
	t.Helper()
	f, err := fsys.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := rfile.NewWriter(f, rfile.WriterOptions{Codec: "none"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		k := tablet.NewKey(tablet.Fields{Row: fmt.Appendf(nil, "%08d", i), Family: []byte("f"), Timestamp: int64(number)})
		if err := w.Append(&k, fmt.Appendf(nil, "%d", number)); err != nil {
			t.Fatal(err)
		}
	}
	m, err := w.Finish()
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
	m.Number, m.Name = number, name
	return m
}

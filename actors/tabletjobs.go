package actors

import (
	"fmt"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/tablet"
	"millrace/tablet/hosted"
	"millrace/tablet/manifest"
)

// tabletJob is a compaction from the wish to its end.
type tabletJob struct {
	id   protocol.JobID
	kind protocol.JobKind
	wish *protocol.WantPermit

	minor   hosted.Flush // of a minor one, once it has its permit
	major   hosted.Job   // of a major or user's one
	inputs  []tablet.FileMeta
	made    tablet.AgeRange // of the output of a job without inputs
	request *compactRequest // of a user's or scratch one
	pid     *actor.PID      // once it runs
	name    string          // of its output, once it runs
	// cancelled says that it was told to end.
	cancelled bool
	done      *protocol.JobDone // once it is over and its output is being recorded
}

// wishFor asks the scheduler for a permit.
func (a *tabletActor) wishFor(c actor.Context, j *tabletJob, files int, bytes int64) {
	j.id = protocol.JobID(a.core.number())
	j.wish = &protocol.WantPermit{From: c.Self(), Job: j.id, Kind: j.kind, Files: files, Bytes: bytes}
	a.jobs[j.id] = j
	c.Send(a.scheduler, j.wish)
}

// onPermit starts a job. What it reads is settled only now: the wish may be old.
func (a *tabletActor) onPermit(c actor.Context, m *protocol.Permit) {
	j := a.jobs[m.Job]
	if j == nil || j.pid != nil { // withdrawn meanwhile
		a.release(c, m.Job)
		return
	}
	if wait := a.core.disk.try(a.core.rt.clock.Now()); wait > 0 {
		a.putOff(c, j, wait)
		return
	}
	p, ok := a.planFor(j)
	if !ok {
		a.forget(c, j)
		a.wishFlush(c)
		return
	}
	pid, err := a.core.rt.SpawnChild(c, jobName(j), Spec{
		Kind: jobRule(j.kind), Bulk: true, Bound: jobBound, New: func() actor.Actor { return newJobActor(a.core.rt, p) },
	})
	if err != nil {
		p.release()
		a.failed(c, j, err)
		return
	}
	j.pid = pid
	a.byPID[pid.Id] = j
}

// planFor settles what a job does; false if there is nothing to do any more.
func (a *tabletActor) planFor(j *tabletJob) (*jobPlan, bool) {
	p := &jobPlan{id: j.id, kind: j.kind, fs: a.core.fs, spec: a.core.jobSpec(a.handle.extent, a.settings, uint64(j.id))}
	plan := a.planMajor
	switch j.kind {
	case protocol.Minor:
		plan = a.planMinor
	case protocol.Scratch:
		plan = a.planScratchJob
	}
	if j.generates() {
		plan = a.planGenerateJob
	}
	prefix, ok := plan(j, p)
	if !ok {
		return nil, false
	}
	if r := j.request; r != nil {
		p.spec.User, p.spec.Mode, p.spec.Recode, p.progress = true, r.Order.Mode, r.Order.Recode, r.Order.Progress
		if r.Order.Codec != "" {
			p.spec.Writer.Codec = r.Order.Codec
		}
	}
	p.name = manifest.FileName(prefix, uint64(j.id))
	p.leave = func() { a.core.files.unname(tablet.FileMeta{Number: uint64(p.id), Name: p.name}) }
	j.name = p.name
	for _, meta := range j.inputs {
		p.files = append(p.files, a.core.files.lease(meta))
	}
	return p, true
}

// The plans of the kinds return what the output's name begins with, as in Accumulo: F a flush, M one that merges files,
// C a compaction, A one of all files; S is scratch.

func (a *tabletActor) planMinor(j *tabletJob, p *jobPlan) (prefix string, ok bool) {
	if j.minor, ok = a.t.NextFlush(); !ok {
		return "", false
	}
	j.inputs = j.minor.Merge
	p.memory, p.spec = j.minor.Snapshot, a.core.minorSpec(a.handle.extent, a.settings, uint64(j.id))
	if len(j.inputs) > 0 {
		return "M", true
	}
	return "F", true
}

func (a *tabletActor) planScratchJob(j *tabletJob, p *jobPlan) (prefix string, ok bool) {
	v := a.t.View()
	j.inputs = v.Files()
	v.Release()
	j.request.result.Inputs = j.inputs
	p.spec.Full = true
	p.spec.Writer.FileID = [16]byte{'s', 'c', 'r', 'a', 't', 'c', 'h'} // the bytes depend on the inputs alone
	return "S", true
}

func (a *tabletActor) planMajor(j *tabletJob, p *jobPlan) (prefix string, ok bool) {
	if !a.replan(j) {
		return "", false
	}
	p.spec.Full, j.inputs = j.major.Full, j.major.Inputs
	if r := j.request; r != nil && r.Order.KeepDeletes {
		p.spec.Full = false
	}
	if p.spec.Full {
		return "A", true
	}
	return "C", true
}

// replan chooses a major job's inputs anew, so that what was flushed while it waited is looked at too.
func (a *tabletActor) replan(j *tabletJob) bool {
	a.must(a.t.Cancel(j.major.ID))
	next, ok := a.t.NextJob()
	if !ok {
		return false
	}
	a.setMajor(j, next)
	return true
}

func jobName(j *tabletJob) string {
	if j.kind == protocol.Minor {
		return nameFlush(uint64(j.id))
	}
	return nameCompaction(uint64(j.id))
}

// jobRule is the kind of a job in the table of supervision.
func jobRule(k protocol.JobKind) string {
	if k == protocol.Minor {
		return "flush"
	}
	return "compaction"
}

// onJobDone has what a job has written recorded, or cleans up after it.
func (a *tabletActor) onJobDone(c actor.Context, m *protocol.JobDone) {
	j := a.jobs[m.Job]
	if j == nil || j.pid == nil || j.done != nil { // not a job of ours, or given up: nobody will take its file
		m.Release()
		return
	}
	c.Stop(j.pid)
	switch {
	case m.Err != nil:
		a.failed(c, j, m.Err)
	case j.kind == protocol.Scratch:
		a.finished(c, j, m)
	case j.generates() && m.Output.Entries == 0:
		a.t.ReleaseAges(j.made)
		a.finished(c, j, m)
	default:
		a.record(c, j, m)
	}
}

// record is the one way by which a job's output becomes part of the tablet: as one record of the manifest, which also
// takes away what the output replaces. Nothing changes here until it is durable.
func (a *tabletActor) record(c actor.Context, j *tabletJob, m *protocol.JobDone) {
	j.done = m
	var output *tablet.FileMeta
	var add *manifest.FileRef
	if m.Output.Entries > 0 {
		m.Output.Ages = j.ages()
		output, add = &m.Output, &manifest.FileRef{FileMeta: m.Output}
	}
	var edit manifest.Edit
	switch {
	case j.kind == protocol.Minor:
		a.must(a.t.CheckInstall(j.minor.Age, output))
		edit = manifest.Install{Tablet: a.handle.number, Session: j.minor.Session, Time: a.t.Time(), Remove: numbers(j.inputs), Add: add}
	case j.generates():
		edit = a.taken(j, output)
	default:
		a.must(a.t.CheckSwap(numbers(j.inputs), output))
		edit = manifest.Swap{Tablet: a.handle.number, Remove: numbers(j.inputs), Add: add}
	}
	c.Send(a.core.manifest.get(), &protocol.Record{From: c.Self(), Request: uint64(j.id), Edits: []manifest.Edit{edit}})
}

// onRecorded changes the tablet, now that the change is durable.
func (a *tabletActor) onRecorded(c actor.Context, m *protocol.Recorded) {
	if a.split != nil && m.Request == a.split.record {
		a.onSplitRecorded(c, m)
		return
	}
	j := a.jobs[protocol.JobID(m.Request)]
	if j == nil || j.done == nil {
		return
	}
	if m.Err != nil {
		switch {
		case !m.Doubt:
			j.done.Release()
		case j.done.Output.Entries > 0:
			a.core.doubted.add(j.done.Output)
		}
		a.failed(c, j, passedOn("manifest", m.Err))
		return
	}
	var output *tablet.FileMeta
	if j.done.Output.Entries > 0 {
		output = &j.done.Output
		a.core.files.hold(*output)
	}
	switch {
	case j.kind == protocol.Minor:
		a.must(a.t.Install(j.minor.Age, output))
		a.filed = j.minor.Session
	case j.generates():
		a.must(a.t.Import(j.made, []tablet.FileMeta{*output}))
	default:
		a.must(a.t.Swap(numbers(j.inputs), output))
	}
	a.finished(c, j, j.done)
}

// finished goes on after a job whose output is in its place.
func (a *tabletActor) finished(c actor.Context, j *tabletJob, m *protocol.JobDone) {
	a.core.noteDisk(nil)
	a.forget(c, j)
	a.log().Info("job done", slog.Uint64("job", uint64(j.id)), slog.String("kind", j.kind.String()),
		slog.Int64("entries", m.Output.Entries), slog.Duration("took", m.Took))
	a.account(j, m)
	switch j.kind {
	case protocol.Minor:
		a.flushed(c, j)
	case protocol.Scratch, protocol.User:
		a.passed(c, j, m)
	}
	a.plan(c)
	a.splitOn(c)
}

// ages are those of the output.
func (j *tabletJob) ages() tablet.AgeRange {
	switch {
	case j.kind == protocol.Minor:
		return j.minor.Ages
	case j.generates():
		return j.made
	}
	return j.major.Ages
}

func (a *tabletActor) account(j *tabletJob, m *protocol.JobDone) {
	switch j.kind {
	case protocol.Minor:
		a.counts.Flushes++
		a.counts.FlushedEntries += m.Output.Entries
		a.counts.FlushedBytes += m.Output.Bytes
	case protocol.Major, protocol.User:
		a.counts.Compactions++
		a.counts.CompactedRead += m.Books.Read
		a.counts.Compacted += m.Books.Written
		a.counts.CompactedBytes += m.Output.Bytes
	}
}

// onTerminated hears of a job that died without JobDone. It has removed its own output.
func (a *tabletActor) onTerminated(c actor.Context, m *actor.Terminated) {
	if j := a.byPID[m.Who.Id]; j != nil && j.done == nil {
		a.failed(c, j, fmt.Errorf("job %d: %w", j.id, errJobDied))
	}
}

var errJobDied = fmt.Errorf("died of a panic")

// leaveFiles gives up, when the tablet has ended, whatever its jobs have left: they have removed what they had not handed
// over, but what was handed over may be on its way into the manifest.
func (a *tabletActor) leaveFiles(c actor.Context) {
	for _, j := range ordered(a.jobs) {
		f := tablet.FileMeta{Number: uint64(j.id), Name: j.name}
		switch {
		case j.pid == nil:
		case j.done == nil:
			a.core.doubted.add(f)
		default:
			c.Send(a.core.manifest.get(), &protocol.Doubted{File: f})
		}
	}
}

// forget takes a job off the books and returns its permit or wish.
func (a *tabletActor) forget(c actor.Context, j *tabletJob) {
	delete(a.jobs, j.id)
	if j.pid != nil {
		delete(a.byPID, j.pid.Id)
	}
	if a.flush == j {
		a.flush = nil
	}
	a.release(c, j.id)
}

func (a *tabletActor) release(c actor.Context, id protocol.JobID) {
	c.Send(a.scheduler, &protocol.Release{From: c.Self(), Job: id})
}

// must is for calls that can fail only if this actor's books are wrong.
func (a *tabletActor) must(err error) {
	if err != nil {
		panic(fmt.Errorf("tablet %s: %w", a.name, err))
	}
}

func numbers(files []tablet.FileMeta) []uint64 {
	n := make([]uint64, len(files))
	for i := range files {
		n[i] = files[i].Number
	}
	return n
}

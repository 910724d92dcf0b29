package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/tablet"
	"millrace/tablet/manifest"
)

// generates says whether a request for all files of a tablet that has none is to run the iterators nevertheless: they may
// make entries of nothing.
//
// Source: Accumulo since 1.7.0.
func (a *tabletActor) generates(r *compactRequest) bool {
	return !r.Order.Scratch && len(r.Order.Files) == 0 && len(a.settings.Iterators.Major.Iterators) > 0
}

// planGenerate wishes for the one job of such a request. Its output is older than whatever is frozen from now on, and
// comes in like an imported file; memtables frozen before have to be in files first.
func (a *tabletActor) planGenerate(c actor.Context) {
	r := a.requests[0]
	if a.t.FrozenCount() > 0 {
		return
	}
	for _, j := range a.jobs {
		if j.request == r {
			return
		}
	}
	j := &tabletJob{kind: protocol.User, request: r, made: a.t.ReserveAges(1)}
	a.wishFor(c, j, 0, 0)
}

func (a *tabletActor) planGenerateJob(_ *tabletJob, p *jobPlan) (prefix string, ok bool) {
	p.spec.Full = true
	return "A", true
}

// unplan gives up what was set apart for a major job.
func (a *tabletActor) unplan(j *tabletJob) {
	if j.generates() {
		a.t.ReleaseAges(j.made)
		return
	}
	a.must(a.t.Cancel(j.major.ID))
}

// generates says whether the job has no inputs.
func (j *tabletJob) generates() bool { return j.made != tablet.AgeRange{} }

// taken is the record of a job without inputs that wrote something.
func (a *tabletActor) taken(j *tabletJob, output *tablet.FileMeta) manifest.Edit {
	files := []tablet.FileMeta{*output}
	a.must(a.t.CheckImport(j.made, files))
	return manifest.Import{Tablet: a.handle.number, Add: []manifest.FileRef{{FileMeta: *output}}}
}

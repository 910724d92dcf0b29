package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"syscall"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/tablet"
	"millrace/tablet/hosted"
	"millrace/tablet/iter"
)

// compactRequest is a user's wish for a full compaction. One is worked on at a time.
type compactRequest struct {
	*protocol.Compact
	result protocol.TabletCompaction
	// generate says that the tablet had no files, and that the iterators run all the same.
	generate bool
}

// setMajor makes j the job that hosted has chosen.
func (a *tabletActor) setMajor(j *tabletJob, next hosted.Job) {
	j.major, j.kind, j.request = next, protocol.Major, nil
	if next.User {
		j.kind, j.request = protocol.User, a.requests[0]
	}
}

// plan wishes for every compaction that is due, and for a flush that has waited for one.
func (a *tabletActor) plan(c actor.Context) {
	a.planMajors(c)
	a.wishFlush(c)
}

func (a *tabletActor) planMajors(c actor.Context) {
	if a.split != nil {
		return
	}
	if len(a.requests) > 0 && a.requests[0].generate {
		a.planGenerate(c)
	} else if len(a.requests) > 0 && !a.requests[0].Order.Scratch && a.t.Selected() == 0 {
		a.end(c, nil) // jobs that others had asked for have left nothing of its files
		return
	}
	if a.majorWaits {
		return
	}
	if len(a.requests) > 0 && a.requests[0].Order.Scratch {
		a.planScratch(c)
		return // so that the files to be measured stay as they are
	}
	for len(a.jobs) < jobsMost {
		next, ok := a.t.NextJob()
		if !ok {
			return
		}
		j := &tabletJob{}
		a.setMajor(j, next)
		a.wishFor(c, j, len(next.Inputs), next.Bytes())
	}
}

// planScratch wishes for a scratch job once no other job reads the tablet's files.
func (a *tabletActor) planScratch(c actor.Context) {
	if a.t.Jobs() > 0 {
		return
	}
	for _, j := range a.jobs {
		if j.kind == protocol.Scratch {
			return
		}
	}
	a.wishFor(c, &tabletJob{kind: protocol.Scratch, request: a.requests[0]}, a.t.Files(), a.t.FileBytes())
}

// onCompact queues a user's request.
func (a *tabletActor) onCompact(c actor.Context, m *protocol.Compact) {
	if a.split != nil {
		c.Send(m.From, &protocol.Compacted{Request: m.Request, Err: errMoved})
		return
	}
	a.requests = append(a.requests, &compactRequest{Compact: m})
	if len(a.requests) == 1 {
		a.begin(c)
	}
}

// begin turns to the first request, and answers all that have nothing to do.
func (a *tabletActor) begin(c actor.Context) {
	for len(a.requests) > 0 {
		r := a.requests[0]
		r.result.Extent = a.handle.extent
		v := a.t.View()
		r.result.Inputs = v.Files()
		v.Release()
		if a.choose(r) {
			break
		}
		a.requests = a.requests[1:]
		c.Send(r.From, &protocol.Compacted{Request: r.Request, Result: r.result})
	}
	a.plan(c)
}

// choose settles what a request is about; false if that is nothing.
func (a *tabletActor) choose(r *compactRequest) bool {
	switch {
	case r.Order.Scratch:
		return len(r.result.Inputs) > 0
	case len(r.Order.Files) > 0:
		r.result.Inputs = nil // those of its jobs
		return a.t.SelectFiles(r.Order.Files) > 0
	}
	r.generate = a.t.SelectAll() == 0 && a.generates(r)
	return r.generate || a.t.Selected() > 0
}

// end answers the first request and turns to the next.
func (a *tabletActor) end(c actor.Context, err error) {
	r := a.requests[0]
	a.requests[0] = nil
	a.requests = a.requests[1:]
	for _, j := range a.jobs {
		if j.request == r {
			j.request = nil
		}
	}
	a.t.Deselect()
	c.Send(r.From, &protocol.Compacted{Request: r.Request, Result: r.result, Err: err})
	a.begin(c)
}

// passed adds a finished pass to the request it was for, which may be over by now.
func (a *tabletActor) passed(c actor.Context, j *tabletJob, m *protocol.JobDone) {
	r := j.request
	if r == nil {
		return
	}
	res := &r.result
	res.Passes++
	if len(r.Order.Files) > 0 {
		res.Inputs = append(res.Inputs, j.inputs...)
	}
	res.Output, res.Hash = m.Output, m.Hash
	res.Books.Add(m.Books)
	addStats(&res.Merge, m.Merge)
	res.Took += m.Took
	res.CPU += m.CPU
	if r.Order.Scratch || a.t.Selected() == 0 {
		a.end(c, nil)
	}
}

func addStats(to *iter.Stats, s iter.Stats) {
	to.Entries += s.Entries
	to.Comparisons += s.Comparisons
	to.HeapOps += s.HeapOps
	to.Switches += s.Switches
}

// failed cleans up after a job that has no result.
func (a *tabletActor) failed(c actor.Context, j *tabletJob, err error) {
	a.forget(c, j)
	defer a.splitOn(c)
	if errors.Is(err, context.Canceled) {
		a.counts.JobsCancelled++
	} else {
		a.counts.JobFailures++
		a.log().Warn("job failed", slog.Uint64("job", uint64(j.id)), slog.String("kind", j.kind.String()), slog.Any("err", err))
	}
	if isFull(err) {
		a.core.noteDisk(err)
	}
	switch j.kind {
	case protocol.Minor:
		a.flushFailed(c, err, a.delay(a.flushEnds))
	case protocol.Scratch:
	default:
		a.unplan(j)
	}
	if j.kind != protocol.Minor && !errors.Is(err, context.Canceled) {
		a.backOff(c, a.delay(a.majorEnds))
	}
	if j.request != nil {
		a.end(c, fmt.Errorf("compact %s: %w", a.name, err))
		return
	}
	a.plan(c)
}

// delay is how long to wait after one more failure.
func (a *tabletActor) delay(ends *replacements) time.Duration {
	if delay, ok := ends.next(a.core.rt.clock.Now()); ok {
		return delay
	}
	return ends.rule.most
}

// putOff gives a job up before it begins, because there is no space on the disk. While somebody else's try is under way
// nobody is told so yet: that decides.
func (a *tabletActor) putOff(c actor.Context, j *tabletJob, wait time.Duration) {
	open := a.core.disk.trying() && wait > undecidedTick
	if open {
		wait = undecidedTick
	}
	a.forget(c, j)
	switch {
	case j.kind == protocol.Minor && open:
		a.flushLater(c, wait)
	case j.kind == protocol.Minor:
		a.flushFailed(c, errNoSpace, wait)
	case j.kind == protocol.Scratch:
		a.backOff(c, wait)
	default:
		a.unplan(j)
		a.backOff(c, wait)
	}
	if j.request != nil && !open {
		a.end(c, fmt.Errorf("compact %s: %w", a.name, errNoSpace))
	}
}

// undecidedTick is how often a job looks whether another's try on a full disk has ended.
const undecidedTick = 100 * time.Millisecond

var errNoSpace = fmt.Errorf("the disk was full when something was last tried: %w: %w", tablet.ErrBusy, syscall.ENOSPC)

// backOff has major compactions wait for a while: what failed once mostly fails at once again.
func (a *tabletActor) backOff(c actor.Context, delay time.Duration) {
	a.majorWaits = true
	a.core.rt.CancelTimer(a.majorTimer)
	a.majorTimer = a.core.rt.After(delay, c.Self(), &protocol.Retry{Kind: protocol.Major})
	a.wishFlush(c)
}

// onRetry tries again what failed.
func (a *tabletActor) onRetry(c actor.Context, m *protocol.Retry) {
	if m.Kind == protocol.Minor {
		a.flushWaits = false
		a.wishFlush(c)
		return
	}
	a.majorWaits = false
	a.plan(c)
}

// onCancelCompact gives a user's request up. Jobs for it are cancelled; what is committed stays.
func (a *tabletActor) onCancelCompact(c actor.Context, m *protocol.CancelCompact) {
	for i, r := range a.requests {
		if r.Request != m.Request {
			continue
		}
		if i > 0 { // not begun
			a.requests = append(a.requests[:i], a.requests[i+1:]...)
			c.Send(r.From, &protocol.Compacted{Request: r.Request, Err: errCancelled})
			return
		}
		for _, j := range ordered(a.jobs) {
			if j.request == r {
				a.cancel(c, j)
			}
		}
		a.end(c, errCancelled)
		return
	}
}

// cancel withdraws a wish, or has a running job end.
func (a *tabletActor) cancel(c actor.Context, j *tabletJob) {
	j.request = nil
	if j.done != nil { // being recorded
		return
	}
	if j.pid != nil {
		if !j.cancelled {
			j.cancelled = true
			c.Send(j.pid, &protocol.Cancel{Job: j.id})
		}
		return
	}
	if j.kind != protocol.Scratch {
		a.unplan(j)
	}
	a.counts.JobsCancelled++
	a.forget(c, j)
}

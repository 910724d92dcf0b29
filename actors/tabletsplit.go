package actors

import (
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/tablet"
	"millrace/tablet/hosted"
	"millrace/tablet/manifest"
)

// tabletSplit is a split from the request to its end, and beyond: a tablet that was split stays until nothing is on its way
// to it any more, and sends away what still comes.
type tabletSplit struct {
	*protocol.Split
	record uint64 // number of the record, once it is on its way
	over   bool   // durable
}

// onSplit stops taking mutations, and has everything end that is under way: nothing has changed if the row is no place to
// split at.
func (a *tabletActor) onSplit(c actor.Context, m *protocol.Split) {
	err := a.t.CheckSplit(m.Row)
	if err == nil && a.split != nil {
		err = fmt.Errorf("split %s: another split is under way: %w", a.name, tablet.ErrBusy)
	}
	if err != nil {
		c.Send(m.From, &protocol.SplitDone{Request: m.Request, Err: err})
		return
	}
	a.split = &tabletSplit{Split: m}
	for _, r := range a.requests {
		c.Send(r.From, &protocol.Compacted{Request: r.Request, Err: errMoved})
	}
	a.requests = nil
	a.t.Deselect()
	for _, j := range ordered(a.jobs) {
		if j.kind != protocol.Minor {
			a.cancel(c, j)
		}
	}
	a.splitOn(c)
}

// splitOn takes the next step of a split, if it is time for it: memory to files, then the record.
func (a *tabletActor) splitOn(c actor.Context) {
	if a.split == nil || a.split.record != 0 || len(a.pending) > 0 {
		return
	}
	a.setAside(c)
	if a.t.FrozenCount() > 0 || len(a.jobs) > 0 {
		a.wishFlush(c)
		return
	}
	low, high, err := a.t.SplitAt(a.split.Row)
	a.must(err)
	a.split.record = a.core.number()
	edit := manifest.Split{
		Tablet: a.handle.number, Row: a.split.Row,
		Low: half(a.split.Low, low), High: half(a.split.High, high),
	}
	c.Send(a.core.manifest.get(), &protocol.Record{From: c.Self(), Request: a.split.record, Edits: []manifest.Edit{edit}})
}

func half(number uint64, s hosted.State) manifest.Half {
	return manifest.Half{Number: number, Files: numbers(s.Files)}
}

// onSplitRecorded ends the tablet's life, or goes on with it.
func (a *tabletActor) onSplitRecorded(c actor.Context, m *protocol.Recorded) {
	if m.Err != nil {
		a.splitFailed(c, passedOn("manifest", m.Err))
		return
	}
	a.split.over = true
	a.t.Close() // whoever reads from now on finds the halves
	c.Send(a.split.From, &protocol.SplitDone{Request: a.split.Request, Low: a.split.Low, High: a.split.High})
	a.reported = tabletMemory{}
}

// splitFailed has the tablet go on as before.
func (a *tabletActor) splitFailed(c actor.Context, err error) {
	s := a.split
	a.split = nil
	c.Send(s.From, &protocol.SplitDone{Request: s.Request, Err: fmt.Errorf("split %s: %w", a.name, err)})
	a.plan(c)
}

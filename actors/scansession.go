package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/internal/invariant"
	"millrace/reader/scan"
	"millrace/tablet"
)

// scanActor is one session: one scan on one tablet. It reads files, a page a message, as long as its client has given
// credit. Its state is its own and its client's; nobody repairs it.
//
// Its mailbox holds at most the client's window of credits, and one each of continue and idle tick.
type scanActor struct {
	rt    *Runtime
	open  *protocol.ScanOpen
	idle  time.Duration
	kit   *scan.Kit // from Started until the scan is closed
	scan  *scan.Session
	spare []*scan.Page // given back by the client

	credit int
	seq    int
	going  bool // a Continue is on its way
	ended  bool // the client has been told the end; what is left to do is to be stopped
	heard  time.Time
	timer  TimerID
}

const scanOthers = 2 // messages beside credits

// stepEntries is how many entries a job or a scan works on in one message: 1 to 2 ms at most, so that it hears of a
// cancellation in time.
const stepEntries = 4096

func newScanActor(rt *Runtime, open *protocol.ScanOpen, idle time.Duration) *scanActor {
	return &scanActor{rt: rt, open: open, idle: idle, credit: open.Credit}
}

// Receive routes the session's messages.
func (a *scanActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *protocol.Continue:
		a.going = false
		a.onContinue(c)
	case *protocol.Credit:
		a.onCredit(c, m)
	case *actor.Started:
		a.onStarted(c)
	case *protocol.Idle:
		a.onIdle(c)
	case *actor.Stopping: // the client hears of it from scans
		a.rt.CancelTimer(a.timer)
		a.release()
	case *actor.Stopped, *actor.Restarting:
	default:
		invariant.Unexpected("scan", m)
	}
}

var (
	keepOn   = &protocol.Continue{}
	idleTick = &protocol.Idle{}
)

func (a *scanActor) onStarted(c actor.Context) {
	a.heard = a.rt.clock.Now()
	a.timer = a.rt.After(a.idle, c.Self(), idleTick)
	a.kit = scan.TakeKit()
	sources, err := a.open.View.Sources(a.kit, a.open.Spec.Columns.Families())
	if err == nil {
		a.scan, err = scan.Open(a.kit.Merges, sources, a.open.Spec)
	}
	if err != nil {
		a.end(c, err)
		return
	}
	a.goOn(c)
}

func (a *scanActor) onCredit(c actor.Context, m *protocol.Credit) {
	a.credit += m.Batches
	a.spare = append(a.spare, m.Pages...)
	a.heard = a.rt.clock.Now()
	a.goOn(c)
}

// goOn sends a Continue, if there is something to do and none is on its way.
func (a *scanActor) goOn(c actor.Context) {
	if a.going || a.ended || a.scan == nil || a.credit == 0 {
		return
	}
	a.going = true
	c.Send(c.Self(), keepOn)
}

// onContinue sends one page.
func (a *scanActor) onContinue(c actor.Context) {
	if a.ended || a.credit == 0 {
		return
	}
	limits := a.open.Limits
	limits.Work = stepEntries
	p := a.page()
	more, err := a.scan.Fill(a.rt.work, p, limits)
	if err != nil && a.rt.work.Err() != nil && errors.Is(err, context.Canceled) { // not the client's context
		err = fmt.Errorf("scan of %v: %w", a.open.Spec.Range, errClosed)
	}
	if p.Len() > 0 {
		c.Send(a.open.Client, &protocol.ScanBatch{Scan: a.open.Scan, Seq: a.seq, Session: c.Self(), Page: p})
		a.seq++
		a.credit--
	} else {
		a.spare = append(a.spare, p)
	}
	if err != nil || !more {
		a.end(c, err)
		return
	}
	a.goOn(c)
}

func (a *scanActor) page() *scan.Page {
	n := len(a.spare)
	if n == 0 {
		return &scan.Page{}
	}
	p := a.spare[n-1]
	a.spare = a.spare[:n-1]
	return p
}

// onIdle ends a session whose client has not been heard of for too long.
func (a *scanActor) onIdle(c actor.Context) {
	quiet := a.rt.clock.Now().Sub(a.heard)
	if quiet < a.idle {
		a.timer = a.rt.After(a.idle-quiet, c.Self(), idleTick)
		return
	}
	a.end(c, fmt.Errorf("scan of %v: no word from its client for %v: %w", a.open.Spec.Range, quiet, tablet.ErrClosed))
	c.Send(c.Parent(), &protocol.SessionDone{Client: a.open.Client, Scan: a.open.Scan})
}

// end tells the client the end, once, and lets go of everything.
func (a *scanActor) end(c actor.Context, err error) {
	if a.ended {
		return
	}
	a.ended = true
	a.release()
	c.Send(a.open.Client, &protocol.ScanEnd{Scan: a.open.Scan, Err: err})
}

func (a *scanActor) release() {
	if a.scan != nil {
		if err := a.scan.Close(); err != nil {
			a.rt.log.Warn("scan did not close its sources", "err", err)
		}
		a.scan = nil
	}
	if a.kit != nil {
		a.kit.Release()
		a.kit = nil
	}
	a.open.View.Release()
}

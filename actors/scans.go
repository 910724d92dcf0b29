package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/internal/invariant"
)

// scansActor starts a session for each scan, and ends towards the client what a session could not end itself.
type scansActor struct {
	rt       *Runtime
	idle     time.Duration
	started  uint64
	sessions map[scanKey]*actor.PID
	scans    map[string]scanKey // by the session's id
}

// scanKey names a scan among all clients.
type scanKey struct {
	client string
	scan   uint64
}

func newScans(rt *Runtime, idle time.Duration) *scansActor {
	return &scansActor{rt: rt, idle: idle, sessions: make(map[scanKey]*actor.PID), scans: make(map[string]scanKey)}
}

// Receive routes the messages of scans.
func (a *scansActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *protocol.ScanOpen:
		a.onScanOpen(c, m)
	case *protocol.ScanClose:
		m.Taken()
		a.stop(c, scanKey{m.Client.Id, m.Scan})
	case *protocol.SessionDone:
		a.stop(c, scanKey{m.Client.Id, m.Scan})
	case *actor.Terminated:
		a.onTerminated(c, m)
	case *actor.Started, *actor.Stopping, *actor.Stopped, *actor.Restarting:
	default:
		invariant.Unexpected("scans", m)
	}
}

func (a *scansActor) onScanOpen(c actor.Context, m *protocol.ScanOpen) {
	m.Taken()
	a.started++
	pid, err := a.rt.SpawnChild(c, nameScan(a.started), Spec{
		Kind: "scan", Bulk: true, Bound: m.Credit + scanOthers,
		New: func() actor.Actor { return newScanActor(a.rt, m, a.idle) },
	})
	if err != nil {
		m.Release()
		c.Send(m.Client, &protocol.ScanEnd{Scan: m.Scan, Err: err})
		return
	}
	key := scanKey{m.Client.Id, m.Scan}
	a.sessions[key] = pid
	a.scans[pid.Id] = key
}

// stop ends a session that nobody needs any more. It may be gone already.
func (a *scansActor) stop(c actor.Context, key scanKey) {
	if pid := a.sessions[key]; pid != nil {
		a.forget(key, pid)
		c.Stop(pid)
	}
}

func (a *scansActor) forget(key scanKey, session *actor.PID) {
	delete(a.scans, session.Id)
	delete(a.sessions, key)
}

// onTerminated ends a scan whose session is lost, or is stopped because everything stops. Had the session ended the scan
// itself, the client hears of the end twice and ignores the second: it has closed the scan, or is about to.
func (a *scansActor) onTerminated(c actor.Context, m *actor.Terminated) {
	key, lost := a.scans[m.Who.Id]
	if !lost {
		return
	}
	a.forget(key, m.Who)
	c.Send(actor.NewPID(m.Who.Address, key.client), &protocol.ScanEnd{Scan: key.scan, Err: ErrStopped})
}

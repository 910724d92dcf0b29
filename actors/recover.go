package actors

import (
	"fmt"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/tablet"
	"millrace/tablet/manifest"
)

// ErrTabletFailed marks what a tablet refuses that has failed too often to be replaced once more. Closing and opening the
// store tries again.
var ErrTabletFailed = fmt.Errorf("tablet failed too often: %w", tablet.ErrClosed)

// tabletEnded has a tablet replaced that ended without being told to.
func (a *engineActor) tabletEnded(c actor.Context, et *engineTablet, pid *actor.PID) {
	if et.leaving || len(a.stopping) > 0 {
		a.lost(c, et)
		return
	}
	et.dead = true
	delay, ok := et.ends.next(a.core.rt.clock.Now())
	if ok {
		a.core.rt.log.Warn("tablet is replaced after a failure", slog.String("actor", pid.Id))
		a.core.rt.After(delay, c.Self(), &protocol.Replace{Kind: "tablet", Tablet: et.number})
	} else {
		et.failed = fmt.Errorf("%v: %w", et.handle.extent, ErrTabletFailed)
		a.core.rt.log.Error("tablet failed too often; it stays away", slog.String("actor", pid.Id))
		a.publish(c, et.table)
	}
	a.lost(c, et)
}

// recover begins to replace a tablet. What it was is in the manifest and in the log: first the manifest is asked, behind
// whatever the tablet has had recorded last.
func (a *engineActor) recover(c actor.Context, number uint64) {
	if et := a.tablets[number]; et != nil && et.dead && et.failed == nil {
		c.Send(a.core.manifest.get(), &protocol.GetState{From: c.Self(), Request: number})
	}
}

// recoverLater tries again: what it takes is itself being replaced.
func (a *engineActor) recoverLater(c actor.Context, et *engineTablet, err error) {
	a.core.rt.log.Warn("tablet cannot be replaced yet", slog.String("extent", et.handle.extent.String()), slog.Any("err", err))
	a.core.rt.After(et.ends.rule.most, c.Self(), &protocol.Replace{Kind: "tablet", Tablet: et.number})
}

// onStateIs loads what the manifest says, and asks the log for the rest.
func (a *engineActor) onStateIs(c actor.Context, m *protocol.StateIs) {
	et := a.tablets[m.Request]
	if et == nil || !et.dead || len(a.stopping) > 0 {
		return
	}
	if m.Err != nil {
		a.recoverLater(c, et, m.Err)
		return
	}
	now := m.State.Tablet(et.number)
	if now == nil {
		a.recoverHalves(c, et, m.State)
		return
	}
	h, err := loadTablet(a.core, et.number, stateOf(now), et.table.settings)
	if err != nil {
		a.recoverLater(c, et, err)
		return
	}
	et.next = h
	c.Send(a.core.log.get(), &protocol.ReadLog{From: c.Self(), Read: et.number, Tablet: et.number, After: now.Session, Each: h.replay})
}

// recoverHalves takes the two tablets that one became whose split was recorded before it could say so.
func (a *engineActor) recoverHalves(c actor.Context, et *engineTablet, s *manifest.State) {
	var halves []uint64
	if t := s.Table(et.table.name); t != nil {
		for half := range s.Tablets(t) {
			if meet(half.Extent, et.handle.extent) {
				halves = append(halves, half.Number)
			}
		}
	}
	if err := a.putHalves(c, et, s, halves); err != nil {
		a.recoverLater(c, et, err)
	}
}

// onLogRead starts the next incarnation.
func (a *engineActor) onLogRead(c actor.Context, m *protocol.LogRead) {
	et := a.tablets[m.Read]
	if et == nil || et.next == nil {
		return
	}
	h := et.next
	et.next = nil
	if m.Err != nil || len(a.stopping) > 0 {
		h.tablet.Close()
		if m.Err != nil && len(a.stopping) == 0 {
			a.recoverLater(c, et, m.Err)
		}
		return
	}
	et.handle = h
	a.spawnTablet(c, et)
	a.publish(c, et.table)
}

// replay puts an entry of the log into memory.
func (h *tabletHandle) replay(e *protocol.Logged) {
	h.tablet.RaiseSession(e.Session)
	h.tablet.Replay(e.Mutations, e.Timestamp, e.Step)
}

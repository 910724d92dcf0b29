package actors

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/internal/invariant"
	"millrace/tablet"
	"millrace/tablet/wal"
)

// logActor owns the log. It blocks on files. What tablets append while it writes is the next group: the first of a group
// sends a marker, which comes behind everything that has queued up meanwhile, and at which there is one write and at most
// one sync for all of them.
//
// What its mailbox may hold is in bounds.go.
type logActor struct {
	core    *core
	log     *wal.Log
	group   logGroup
	ticking bool // the timer is on its way
	timer   TimerID
	due     time.Time
	told    int     // segments when the engine was told last
	asking  bool    // tablets are being asked to flush
	asks    bool    // they are to be asked once more
	asked   uint64  // times that they were
	trouble backOff // while the log takes nothing
}

// logTick is how long an entry may stay in the process that nobody waits for.
const logTick = time.Second

// logBuffer is how many bytes may.
const logBuffer = 1 << 20

func newLogActor(k *core) *logActor { return &logActor{core: k} }

// Receive routes the log's messages.
func (a *logActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *protocol.Append:
		a.onAppend(c, m)
	case *protocol.SyncNow:
		a.onSyncNow(c, m)
	case *protocol.InFiles:
		a.onInFiles(c, m)
	case *protocol.TabletsAsked:
		a.onTabletsAsked(c, m)
	case *protocol.Heal:
		a.trouble = backOff{}
		a.heal()
	case *protocol.LogTick:
		a.ticking = false
		a.commit(c)
		a.tick(c)
	case *protocol.ReadLog:
		c.Send(m.From, &protocol.LogRead{Read: m.Read, Err: a.read(c, m)})
	case *protocol.Drain:
		a.onDrain(c, m)
	case *actor.Started:
		a.onStarted()
	case *actor.Stopping:
		a.answer(c, fmt.Errorf("%w: %w", ErrUnknownOutcome, ErrStopped))
	case *actor.Stopped, *actor.Restarting:
	default:
		invariant.Unexpected("log", m)
	}
}

// onStarted takes the log that the store was opened with, or opens it anew after a failure.
func (a *logActor) onStarted() {
	if a.log = a.core.openedLog.Swap(nil); a.log != nil {
		return
	}
	log, err := reopenLog(a.core)
	if err != nil {
		panic(err) // and try again, more slowly
	}
	a.log = log
}

// reopenLog begins a log behind the one that there is, of which nothing is given to anybody.
func reopenLog(k *core) (*wal.Log, error) {
	numbers, err := wal.List(k.fs)
	if err != nil {
		return nil, err
	}
	state := k.state.Load()
	from := func(tablet uint64) (uint64, bool) {
		t := state.Tablet(tablet)
		if t == nil {
			return 0, false
		}
		return t.Session, true
	}
	report, err := wal.Replay(context.Background(), k.fs, numbers, from, func(*wal.Entry) error { return nil })
	if err != nil {
		return nil, err
	}
	return wal.New(k.fs, k.logOptions(&report))
}

// unsyncedMax bounds what the log keeps in memory because it is not on stable storage: at levels log and flush it syncs
// beyond. Writers wait for such a sync, so there are few.
const unsyncedMax = 8 << 20

// logOptions are the store's.
func (k *core) logOptions(r *wal.Report) wal.Options {
	return wal.Options{
		NextNumber: k.number, NextLSN: k.state.Load().NextLSN(), Recovered: r,
		MaxBytes: k.server.LogBytes, MaxAge: k.server.LogAge, MaxReferenced: k.server.LogReferenced, MaxUnsynced: unsyncedMax,
	}
}

// onAppend takes an entry. At level log that is all; else the answer comes with the group.
func (a *logActor) onAppend(c actor.Context, m *protocol.Append) {
	a.heal()
	e := &wal.Entry{Tablet: m.Tablet, Session: m.Session, Timestamp: m.Timestamp, Step: m.Step, Mutations: m.Mutations}
	if err := a.log.Append(e, m.Durability); err != nil {
		c.Send(m.From, &protocol.Appended{Batch: m.Batch, Err: err})
		return
	}
	if m.Durability > tablet.DurabilityLog {
		a.take(c, groupEntry{m.From, m.Batch})
		return
	}
	c.Send(m.From, &protocol.Appended{Batch: m.Batch})
	if a.group.state == groupIdle && a.log.Buffered() > logBuffer {
		a.commit(c) // nobody waits for it, so there is nothing to gather
	}
	a.tick(c)
}

// commit writes the group and answers it.
func (a *logActor) commit(c actor.Context) {
	tried := a.heal() == nil // else it was not, and so has not failed once more
	err := a.log.Commit(a.core.rt.clock.Now())
	if err != nil && a.log.Refusal() != nil {
		if tried {
			a.core.rt.log.Warn("log cannot be written", slog.Any("err", err))
			a.core.noteDisk(err)
			a.trouble.failed(a.core.rt.clock.Now())
		}
		err = fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	a.answer(c, err)
	a.tellReferenced(c)
	a.tick(c)
}

// heal tries to write again after a failure, if it is time to.
func (a *logActor) heal() error {
	if a.log.Refusal() == nil {
		return nil
	}
	now := a.core.rt.clock.Now()
	if !a.trouble.due(now) || a.core.disk.try(now) > 0 {
		return a.log.Refusal()
	}
	err := a.log.Heal(now)
	a.core.noteDisk(err)
	if err != nil {
		a.trouble.failed(now)
		return err
	}
	a.trouble = backOff{}
	return nil
}

// tick sees to the next commit that nobody asks for: of entries at level log, and for a segment that gets old.
func (a *logActor) tick(c actor.Context) {
	s := a.log.Stats()
	if s.Buffered == 0 && s.SegmentBytes == 0 {
		return
	}
	wait := a.core.server.LogAge
	if s.Buffered > 0 {
		wait = logTick
	}
	due := a.core.rt.clock.Now().Add(wait)
	if a.ticking {
		if !due.Before(a.due) {
			return
		}
		a.core.rt.CancelTimer(a.timer) // it was for the segment's age
	}
	a.ticking, a.due = true, due
	a.timer = a.core.rt.After(wait, c.Self(), &protocol.LogTick{})
}

// tellReferenced has those tablets flushed that keep the log long, whenever it has grown by a segment.
func (a *logActor) tellReferenced(c actor.Context) {
	n := a.log.Stats().Segments
	if n > a.told {
		a.askFlushes(c)
	}
	a.told = n
}

// askFlushes names the tablets that keep the log long, but not before those have been asked that were named last.
func (a *logActor) askFlushes(c actor.Context) {
	if a.asks = a.asking; a.asking {
		return
	}
	if tablets := a.log.Referenced(); len(tablets) > 0 {
		a.asking = true
		a.asked++
		c.Send(c.Parent(), &protocol.FlushTablets{From: c.Self(), Request: a.asked, Tablets: tablets})
	}
}

func (a *logActor) onTabletsAsked(c actor.Context, m *protocol.TabletsAsked) {
	if m.Request != a.asked { // a second answer
		return
	}
	a.asking = false
	switch {
	case m.Err != nil:
		a.told-- // so that the next commit asks again
	case a.asks:
		a.askFlushes(c)
	}
}

// onInFiles removes segments that nobody needs any more.
func (a *logActor) onInFiles(c actor.Context, m *protocol.InFiles) {
	for _, f := range m.Filed {
		a.log.Flushed(f.Tablet, f.Session)
	}
	c.Send(m.From, &protocol.InFilesTaken{Request: m.Request})
	if _, err := a.log.Trim(); err != nil {
		a.core.rt.log.Warn("log segment could not be removed", slog.Any("err", err))
	}
	if n := a.log.Stats().Segments; n > a.core.server.LogReferenced {
		a.told = n - 1 // ask once more: they may have written meanwhile
		a.tellReferenced(c)
	}
}

// read gives what the log holds of a tablet beyond its files. What was refused does not count, though it may stand there.
func (a *logActor) read(c actor.Context, m *protocol.ReadLog) error {
	if err := a.heal(); err != nil {
		return err
	}
	a.commit(c)
	if err := a.log.Refusal(); err != nil {
		return err
	}
	numbers, err := wal.List(a.core.fs)
	if err != nil {
		return err
	}
	from := func(tablet uint64) (uint64, bool) { return m.After, tablet == m.Tablet }
	_, err = wal.Replay(a.core.rt.work, a.core.fs, numbers, from, func(e *wal.Entry) error {
		m.Each(&protocol.Logged{Session: e.Session, Timestamp: e.Timestamp, Step: e.Step, Mutations: e.Mutations})
		return nil
	})
	return err
}

// onDrain ends the log.
func (a *logActor) onDrain(c actor.Context, m *protocol.Drain) {
	a.commit(c)
	if err := a.log.Close(a.core.rt.clock.Now()); err != nil {
		m.Refuse(err)
		return
	}
	m.Answer(&protocol.Drained{})
}

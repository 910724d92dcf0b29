package actors

import (
	"errors"
	"log/slog"
	"math"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/internal/invariant"
	"millrace/tablet"
	"millrace/tablet/manifest"
)

// manifestActor owns the manifest. It blocks on files. It alone says which files and which entries of the log are wanted no
// more: after the record is durable, and never while it is not known whether one is.
//
// What its mailbox may hold is in bounds.go.
type manifestActor struct {
	core    *core
	writer  *manifest.Writer
	healing bool // the timer is on its way
	trouble backOff
	filed   map[uint64]uint64 // sessions by tablet, which the log has still to be told
	telling bool              // it was told of others, and has not answered
	tells   uint64
}

func newManifestActor(k *core) *manifestActor {
	return &manifestActor{core: k, filed: make(map[uint64]uint64)}
}

// Receive routes the manifest's messages.
func (a *manifestActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *protocol.Record:
		a.onRecord(c, m)
	case *protocol.GetState:
		c.Send(m.From, &protocol.StateIs{Request: m.Request, State: a.writer.State()})
	case *protocol.Doubted:
		a.core.doubted.add(m.File)
		a.unnameDoubted()
	case *protocol.InFilesTaken:
		if m.Request == a.tells {
			a.telling = false
			a.tellFiled(c)
		}
	case *protocol.Heal:
		a.healing = false
		a.heal(c)
	case *protocol.Drain:
		a.onDrain(m)
	case *actor.Started:
		a.onStarted(c)
	case *actor.Stopping: // nobody else will
		a.telling = false
		a.tellFiled(c)
	case *actor.Stopped, *actor.Restarting:
	default:
		invariant.Unexpected("manifest", m)
	}
}

// onStarted takes the manifest that the store was opened with; after a failure it begins a new file, with the state that
// was the last to be certain.
func (a *manifestActor) onStarted(c actor.Context) {
	if a.writer = a.core.openedManifest.Swap(nil); a.writer != nil {
		return
	}
	w, err := manifest.NewWriter(a.core.fs, a.core.state.Load(), manifest.Options{NextNumber: a.core.number, SameRun: true})
	if err != nil {
		panic(err) // and try again, more slowly
	}
	a.writer = w
	a.core.state.Store(w.State())
}

func (a *manifestActor) onRecord(c actor.Context, m *protocol.Record) {
	if !a.mayTry() {
		c.Send(m.From, &protocol.Recorded{Request: m.Request, Err: a.busy()})
		return
	}
	done, err := a.writer.Record(m.Edits...)
	switch {
	case err == nil:
		a.core.noteDisk(nil)
		a.trouble = backOff{}
		a.recorded(c, m.Edits, done)
	case !errors.Is(err, manifest.ErrRefused):
		a.failed(c, err)
	}
	c.Send(m.From, &protocol.Recorded{Request: m.Request, Err: err, Doubt: errors.Is(err, manifest.ErrInDoubt)})
}

// mayTry says whether it is time to write, after a failure. The record of a job that was let through on a full disk is part
// of that job's try: were it a try of its own, it would come too early each time, and the job would be done in vain.
func (a *manifestActor) mayTry() bool {
	now := a.core.rt.clock.Now()
	return a.trouble.fails == 0 || a.trouble.due(now) && (a.core.disk.trying() || a.core.disk.try(now) == 0)
}

// busy is why nothing is recorded for now.
func (a *manifestActor) busy() error {
	if err := a.writer.InDoubt(); err != nil {
		return errors.Join(tablet.ErrBusy, errors.Unwrap(err))
	}
	return errBusyManifest
}

var errBusyManifest = errors.Join(errors.New("no manifest file could be begun a moment ago"), tablet.ErrBusy)

// recorded tells everybody what is certain now.
func (a *manifestActor) recorded(c actor.Context, edits []manifest.Edit, done manifest.Recorded) {
	before := a.core.state.Swap(done.State)
	for _, f := range done.Unnamed {
		a.core.files.unname(f)
	}
	a.unnameDoubted()
	for _, e := range edits {
		switch e := e.(type) {
		case manifest.Install:
			a.filed[e.Tablet] = max(a.filed[e.Tablet], e.Session)
		case manifest.Split:
			a.filed[e.Tablet] = math.MaxUint64
		case manifest.DropTable:
			for t := range before.Tablets(before.Table(e.Table)) {
				a.filed[t.Number] = math.MaxUint64
			}
		}
	}
	a.tellFiled(c)
}

// tellFiled tells the log what it need not keep, but not before it has heard what it was told last: it may be slower.
func (a *manifestActor) tellFiled(c actor.Context) {
	if a.telling || len(a.filed) == 0 {
		return
	}
	a.telling = true
	a.tells++
	m := &protocol.InFiles{From: c.Self(), Request: a.tells}
	for tablet, session := range ordered(a.filed) {
		m.Filed = append(m.Filed, protocol.Filed{Tablet: tablet, Session: session})
	}
	clear(a.filed)
	c.Send(a.core.log.get(), m)
}

// unnameDoubted gives up the files of records that were in doubt, once it is certain that they count for nothing.
func (a *manifestActor) unnameDoubted() {
	if a.writer.InDoubt() != nil {
		return
	}
	a.writer.Doubted() // tablets have told of the same
	for _, f := range a.core.doubted.take(a.writer.State()) {
		a.core.files.unname(f)
	}
}

// failed sees to it that a new file is tried, more and more slowly.
func (a *manifestActor) failed(c actor.Context, err error) {
	a.core.rt.log.Warn("manifest could not be written", slog.Any("err", err))
	a.core.noteDisk(err)
	wait := a.trouble.delay()
	a.trouble.failed(a.core.rt.clock.Now())
	if !a.healing {
		a.healing = true
		a.core.rt.After(wait, c.Self(), &protocol.Heal{})
	}
}

// heal ends a doubt, if it can.
func (a *manifestActor) heal(c actor.Context) {
	if wait := a.core.disk.try(a.core.rt.clock.Now()); wait > 0 {
		a.healing = true
		a.core.rt.After(wait, c.Self(), &protocol.Heal{})
		return
	}
	if err := a.writer.Heal(); err != nil {
		a.failed(c, err)
		return
	}
	a.core.noteDisk(nil)
	a.trouble = backOff{}
	a.unnameDoubted()
}

// onDrain ends the manifest.
func (a *manifestActor) onDrain(m *protocol.Drain) {
	a.unnameDoubted() // nothing more will be recorded that could name them
	if err := a.writer.Close(); err != nil {
		m.Refuse(err)
		return
	}
	m.Answer(&protocol.Drained{})
}

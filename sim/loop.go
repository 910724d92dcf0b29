package sim

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"millrace/actors"
	"millrace/internal/clock"
)

// ErrCrashed is what every wait ends with once the engine has crashed.
var ErrCrashed = errors.New("simulated crash")

// ErrDeadlock marks the error of a wait that nothing can end, or that has taken longer than anything may.
var ErrDeadlock = errors.New("deadlock")

// loop runs everything on one goroutine: it picks a mailbox and has it deliver one message, or lets one of those who wait
// go on, or moves the clock when there is nobody to run.
type loop struct {
	clock   *Clock
	log     *eventLog
	choose  chooser
	faults  *faults
	perStep time.Duration
	most    uint64        // steps of one wait
	longest time.Duration // virtual time of one wait

	step       uint64
	order      uint64 // tasks that became ready so far
	ready      []*task
	boxes      map[*actors.Mailbox]*task // those that are ready or delayed
	waiting    []*waiter                 // in order of arrival
	current    *waiter                   // a client's, while it runs
	delivering *task
	crashed    bool
}

// task is something that could run now: a mailbox, or one who waited and need not any more.
type task struct {
	name  string
	hash  uint64 // of the name
	since uint64 // order in which tasks became ready
	box   *actors.Mailbox
	up    *waiter
}

// waiter is the main goroutine, or a client, while it waits.
type waiter struct {
	name   string
	client *Client // nil: the main goroutine
	ctx    context.Context
	what   actors.Waiting
	ready  func() bool
	began  time.Duration
	first  uint64 // step at which the wait began
	err    error  // why it ended without being ready
	queued bool   // it is among the ready tasks
	chosen bool   // it is its turn
}

// life is the loop and the clock as one engine sees them: from its opening to its end. Of what comes from an engine that
// is gone, a timer or a message, nothing follows.
type life struct {
	*loop
	over bool
}

var (
	_ actors.Scheduler = (*life)(nil)
	_ clock.Clock      = (*life)(nil)
)

// Runnable implements actors.Scheduler.
func (l *life) Runnable(m *actors.Mailbox) {
	if !l.over {
		l.loop.runnable(m)
	}
}

// Now implements clock.Clock.
func (l *life) Now() time.Time { return l.clock.Now() }

// AfterFunc implements clock.Clock.
func (l *life) AfterFunc(d time.Duration, f func()) clock.Timer {
	return l.clock.AfterFunc(d, func() {
		if !l.over {
			f()
		}
	})
}

func (l *loop) note(who, what string, a, b int64) {
	l.log.add(event{step: l.step, at: l.clock.Elapsed(), who: who, what: what, a: a, b: b})
}

func (l *loop) runnable(m *actors.Mailbox) {
	if l.crashed {
		return
	}
	id, kind := m.Actor()
	t := &task{name: id, hash: hashOf(id), box: m}
	l.boxes[m] = t
	if d := l.faults.delay(kind); d > 0 {
		l.note(id, "delayed", int64(d), 0)
		l.clock.AfterFunc(d, func() {
			if l.boxes[m] == t {
				l.makeReady(t)
			}
		})
		return
	}
	l.makeReady(t)
}

func (l *loop) makeReady(t *task) {
	l.order++
	t.since = l.order
	l.ready = append(l.ready, t)
}

func hashOf(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// Delivering implements actors.Scheduler.
func (l *loop) Delivering(m *actors.Mailbox, msg any) {
	id, _ := m.Actor()
	a, b := facts(msg)
	l.note(id, l.log.typeName(msg), a, b)
}

// Wait implements actors.Scheduler.
func (l *loop) Wait(ctx context.Context, what actors.Waiting, ready func() bool) error {
	if l.delivering != nil {
		panic(fmt.Sprintf("sim: %s waits for %s inside an actor", l.delivering.name, what.On))
	}
	w := &waiter{name: "main", ctx: ctx, what: what, ready: ready, began: l.clock.Elapsed(), first: l.step}
	if c := l.current; c != nil {
		w.name, w.client = c.name, c.client
		return w.client.wait(l, w)
	}
	l.waiting = append(l.waiting, w)
	defer func() { l.waiting = slices.DeleteFunc(l.waiting, func(o *waiter) bool { return o == w }) }()
	for !w.chosen {
		if err := l.once(); err != nil {
			return err
		}
	}
	return w.err
}

// once takes one step.
func (l *loop) once() error {
	if err := l.died(); err != nil {
		return err
	}
	for l.clock.runDue() {
	}
	l.wakeUp()
	for len(l.ready) == 0 {
		if !l.clock.skip() {
			return fmt.Errorf("%w: nothing can run and no timer is set\n%s", ErrDeadlock, l.report())
		}
		for l.clock.runDue() {
		}
		l.wakeUp()
	}
	at := l.choose.choose(l.ready)
	t := l.ready[at]
	l.step++
	if t.box == nil {
		l.takeOut(at)
		l.resume(t.up)
	} else if !l.deliver(t, at) {
		l.step-- // it had nothing
		return l.died()
	}
	l.clock.Pass(l.perStep)
	l.faults.stepped(l)
	return l.died()
}

func (l *loop) died() error {
	if l.crashed {
		return ErrCrashed
	}
	return nil
}

// deliver has a mailbox hand over one message; false when it has none.
func (l *loop) deliver(t *task, at int) bool {
	l.delivering = t
	more := t.box.Deliver()
	l.delivering = nil
	if !more {
		if at < len(l.ready) && l.ready[at] == t { // always, unless the engine has crashed meanwhile
			l.takeOut(at)
		}
		if l.boxes[t.box] == t {
			delete(l.boxes, t.box)
		}
		return false
	}
	l.order++
	t.since = l.order // back to the end of the line
	return true
}

func (l *loop) takeOut(at int) {
	last := len(l.ready) - 1
	l.ready[at] = l.ready[last]
	l.ready[last] = nil
	l.ready = l.ready[:last]
}

// wakeUp makes those ready who need not wait any more.
func (l *loop) wakeUp() {
	for _, w := range l.waiting {
		if w.queued || !w.over(l) {
			continue
		}
		w.queued = true
		l.makeReady(&task{name: w.name, hash: hashOf(w.name), up: w})
	}
}

// over says whether a wait has come to its end, whichever.
func (w *waiter) over(l *loop) bool {
	switch {
	case w.ready():
	case w.ctx.Err() != nil:
		w.err = context.Cause(w.ctx)
	case l.clock.Elapsed()-w.began > l.longest || l.step-w.first > l.most:
		w.err = fmt.Errorf("%w: %s waits for %s since step %d\n%s", ErrDeadlock, w.name, w.subject(), w.first, l.report())
	default:
		return false
	}
	return true
}

func (l *loop) resume(w *waiter) {
	l.note(w.name, "goes on", bit(w.err != nil), 0)
	w.chosen = true
	if w.client != nil {
		l.waiting = slices.DeleteFunc(l.waiting, func(o *waiter) bool { return o == w })
		w.client.resume(l)
	}
}

func (w *waiter) subject() string {
	if w.what.For == nil {
		return w.what.On
	}
	return fmt.Sprintf("the answer of %s to %T", w.what.On, w.what.For)
}

// report says who could run, who waits for what, and what happened last.
func (l *loop) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "at step %d, virtual time %v\n", l.step, l.clock.Elapsed())
	for _, t := range l.ready {
		fmt.Fprintf(&b, "  ready: %s\n", t.name)
	}
	for _, w := range l.waiting {
		fmt.Fprintf(&b, "  %s waits for %s since step %d\n", w.name, w.subject(), w.first)
	}
	fmt.Fprintf(&b, "last events:\n%s", l.log.tail())
	return b.String()
}

// crash makes every wait fail, now and later, until restart.
func (l *loop) crash() {
	l.note("world", "crash", 0, 0)
	l.crashed = true
	l.ready = nil
	clear(l.boxes)
}

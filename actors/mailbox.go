package actors

import (
	"context"
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// turnMessages is how many messages an actor handles before it gives its goroutine back and queues for another: at
// 0.3 µs a change it costs 1 ns a message, and no actor keeps a goroutine for itself.
const turnMessages = 256

// Mailbox queues the messages of one actor: system messages first, then users' in order of arrival. It differs from
// the library's in what happens at the end: messages left behind at a stop go to dead letters, so that requests among
// them are refused and buffers released, and a handler that leaves its goroutine does not wedge the actor.
//
// It is unbounded; the protocol bounds it. HighWater tells how far it was filled.
type Mailbox struct {
	id, kind   string
	invoker    actor.MessageInvoker
	dispatcher actor.Dispatcher
	scheduler  Scheduler // instead of the dispatcher, in a simulation
	dead       func(msg any)
	run        func() // m.drain, made once: a method value is an allocation
	last       bool   // nobody supervises the actor: its guard deals with failures, Goexit included

	mu        sync.Mutex
	system    ring
	user      ring
	running   bool // a goroutine drains the box, or is about to
	suspended bool // the actor failed and waits for its supervisor
	closed    bool // the actor is gone
	high      int
	delivered uint64 // users' messages handed over so far
}

// Scheduler runs mailboxes one message at a time in an order of its own: the simulator's, drawn from a seed.
type Scheduler interface {
	// Runnable says that m has something to deliver. It is called once until Deliver has returned false.
	Runnable(m *Mailbox)
	// Delivering is called by Deliver with what it is about to hand over, the library's own messages included.
	Delivering(m *Mailbox, msg any)
	// Wait is called on the goroutine of whoever waits outside the actors. It returns nil once ready has returned true,
	// and an error when the context has ended or nothing that could happen would make it true.
	Wait(ctx context.Context, what Waiting, ready func() bool) error
}

var _ actor.Mailbox = (*Mailbox)(nil)

func newMailbox(s Scheduler, last bool, dead func(msg any)) *Mailbox {
	m := &Mailbox{scheduler: s, last: last, dead: dead}
	m.run = m.drain
	return m
}

// PostUserMessage queues a message.
func (m *Mailbox) PostUserMessage(msg any) {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		m.dead(msg)
		return
	}
	m.user.push(msg)
	m.high = max(m.high, m.user.n)
	m.wake(!m.suspended)
}

// PostSystemMessage queues a message of the library's own, ahead of all others.
func (m *Mailbox) PostSystemMessage(msg any) {
	m.mu.Lock()
	m.system.push(msg)
	m.wake(true)
}

// wake has the box drained if it is idle and there is work. It gives up the lock.
func (m *Mailbox) wake(work bool) {
	start := work && !m.running
	m.running = m.running || start
	m.mu.Unlock()
	switch {
	case !start:
	case m.scheduler != nil:
		m.scheduler.Runnable(m)
	default:
		m.dispatcher.Schedule(m.run)
	}
}

// RegisterHandlers connects the box with its actor.
func (m *Mailbox) RegisterHandlers(i actor.MessageInvoker, d actor.Dispatcher) {
	m.invoker, m.dispatcher = i, d
}

// Start does nothing: the box runs from its first message on.
func (m *Mailbox) Start() {}

// Actor is the id of the box's actor, and its kind.
func (m *Mailbox) Actor() (id, kind string) { return m.id, m.kind }

// UserMessageCount is the number of messages that wait.
func (m *Mailbox) UserMessageCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.user.n
}

// HighWater is the largest number of messages that ever waited.
func (m *Mailbox) HighWater() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.high
}

// drain delivers messages until there is none, or its turn is over.
func (m *Mailbox) drain() {
	left := true
	defer func() {
		if left { // by runtime.Goexit in a handler, or because the turn is over
			m.dispatcher.Schedule(m.run)
		}
	}()
	for range turnMessages {
		if !m.Deliver() {
			left = false
			return
		}
	}
}

// Deliver hands over one message. It returns false when there was none; the box is idle from then on.
func (m *Mailbox) Deliver() bool {
	msg, origin := m.next()
	if m.scheduler != nil && origin != fromNowhere {
		m.scheduler.Delivering(m, msg)
	}
	switch origin {
	case fromNowhere:
		return false
	case fromDead:
		m.dead(msg)
	default:
		m.invoke(msg, origin)
	}
	return true
}

type origin uint8

const (
	fromNowhere origin = iota
	fromSystem
	fromUser
	fromDead
)

func (m *Mailbox) next() (any, origin) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.system.n > 0 {
		msg := m.system.pop()
		switch msg.(type) {
		case *actor.SuspendMailbox:
			m.suspended = true
		case *actor.ResumeMailbox:
			m.suspended = false
		default:
			return msg, fromSystem
		}
	}
	switch {
	case m.user.n == 0 || m.suspended && !m.closed:
		m.running = false
		return nil, fromNowhere
	case m.closed:
		return m.user.pop(), fromDead
	}
	m.delivered++
	return m.user.pop(), fromUser
}

func (m *Mailbox) invoke(msg any, l origin) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if reason := recover(); !m.last {
			m.invoker.EscalateFailure(reason, msg)
		}
	}()
	if l == fromSystem {
		m.invoker.InvokeSystemMessage(msg)
	} else {
		m.invoker.InvokeUserMessage(msg)
	}
	returned = true
}

// close makes whatever waits, and whatever still comes, a dead letter. The actor's guard calls it in Stopped.
func (m *Mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
}

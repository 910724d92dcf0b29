package protocol

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// Asked is embedded in a request whose sender waits outside the actors. T is what the answer carries. The first Answer
// or Refuse counts; later ones return false and do nothing. A request that was sent without a port ignores both.
type Asked[T any] struct {
	Admitted // with what is given back with the answer, whether anybody waits for that or not
	port     *Port
	token    uint64
}

// Bind ties the request to the port that its answer goes to. Only the asking side calls it, before it sends.
func (a *Asked[T]) Bind(p *Port) { a.port, a.token = p, p.state.Load() }

// Answer gives the answer. v is not changed afterwards.
func (a *Asked[T]) Answer(v *T) bool { return a.end(answer{value: v}) }

// Refuse gives an error instead of an answer.
func (a *Asked[T]) Refuse(err error) bool { return a.end(answer{err: err}) }

func (a *Asked[T]) end(with answer) bool {
	a.Taken()
	return a.port.put(a.token, with)
}

// Abandoned says that nobody waits any more, so that work which has not begun need not begin.
func (a *Asked[T]) Abandoned() bool { return a.port != nil && a.port.state.Load() != a.token }

// Request is a message that embeds Asked[T].
type Request[T any] interface {
	Bind(*Port)
	Admit(Ticket)
	Answer(*T) bool
	Refusable
}

// Refusable is a request that can be answered with an error by whoever finds it left behind.
type Refusable interface{ Refuse(error) bool }

// Ticket is a share of something bounded. Return gives it back, once, however often it is called.
type Ticket interface{ Return() }

// Admitted is embedded in a message from outside the actors of which there may be so many at once. The zero value was let
// in freely.
type Admitted struct{ ticket Ticket }

// Admit ties the message to what it was admitted with. Only the sending side calls it, before it sends.
func (a *Admitted) Admit(t Ticket) { a.ticket = t }

// Taken gives the ticket back. The receiver calls it.
func (a *Admitted) Taken() {
	if a.ticket != nil {
		a.ticket.Return()
	}
}

// Refuse implements Refusable, for messages that nobody receives. Where an answer is expected it is shadowed.
func (a *Admitted) Refuse(error) bool {
	a.Taken()
	return true
}

// Answerable is a request of one actor to another. Refusal is the answer that the runtime sends in the receiver's
// stead when the request is left behind by a stop, reaches nobody, or makes its receiver panic.
type Answerable interface {
	Refusal(err error) (to *actor.PID, answer any)
}

// Releaser is a message that owns something. Release is called once by whoever drops the message undelivered.
type Releaser interface{ Release() }

// Port is the one-shot way back to a goroutine that waits. It is reused, but only after an answer was received: a late
// answer to an abandoned question finds nobody.
type Port struct {
	// state counts uses: it moves on when the answer is given, when the wait is given up, and when the port is reused.
	state atomic.Uint64
	ch    chan answer
}

type answer struct {
	value any
	err   error
}

func (p *Port) put(token uint64, a answer) bool {
	if p == nil || !p.state.CompareAndSwap(token, token+1) {
		return false
	}
	p.ch <- a // never blocks: one place, and only one put of a token succeeds
	return true
}

// Answered says that an answer waits to be received.
func (p *Port) Answered() bool { return len(p.ch) > 0 }

// Ports recycles ports. The zero value is ready; it is safe for concurrent use.
type Ports struct{ pool sync.Pool }

// Get returns an unused port.
func (s *Ports) Get() *Port {
	if p, ok := s.pool.Get().(*Port); ok {
		return p
	}
	return &Port{ch: make(chan answer, 1)}
}

// Wait waits for the answer to a request bound to p, or for the context's end, and then takes the port back. T is the
// request's.
func Wait[T any](ctx context.Context, s *Ports, p *Port) (*T, error) {
	token := p.state.Load() &^ 1 // uses advance by two, so that an answer already given does not hide the token
	select {
	case a := <-p.ch:
		return take[T](s, p, a)
	case <-ctx.Done():
	}
	if p.state.CompareAndSwap(token, token+1) {
		return nil, context.Cause(ctx) // left to the collector: its holder may still try to answer
	}
	return take[T](s, p, <-p.ch) // the answer won the race
}

func take[T any](s *Ports, p *Port, a answer) (*T, error) {
	p.state.Add(1)
	s.pool.Put(p)
	if a.err != nil {
		return nil, a.err
	}
	v, ok := a.value.(*T)
	if !ok {
		panic(fmt.Sprintf("protocol: port was answered with %T, asked for %T", a.value, v))
	}
	return v, nil
}

package actors

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
)

// Ask sends a request from outside the actors and waits for its one answer, or the context's end. The request may then
// still take effect.
func Ask[T any](ctx context.Context, rt *Runtime, to *actor.PID, q protocol.Request[T]) (*T, error) {
	p := rt.ports.Get()
	q.Bind(p)
	rt.Send(to, q)
	return answer[T](ctx, rt, to, q, p)
}

// AskLater sends a request now; the function it returns waits for the answer and must be called once.
func AskLater[T any](rt *Runtime, to *actor.PID, q protocol.Request[T]) func(context.Context) (*T, error) {
	p := rt.ports.Get()
	q.Bind(p)
	rt.Send(to, q)
	return func(ctx context.Context) (*T, error) { return answer[T](ctx, rt, to, q, p) }
}

func answer[T any](ctx context.Context, rt *Runtime, to *actor.PID, q any, p *protocol.Port) (*T, error) {
	return protocol.Wait[T](rt.settle(ctx, to.Id, q, answered{p}), &rt.ports, p)
}

// answered is what Ask waits for.
type answered struct{ *protocol.Port }

func (a answered) ready() bool { return a.Answered() }

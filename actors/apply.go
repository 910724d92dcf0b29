package actors

import (
	"context"
	"fmt"

	"millrace/actors/protocol"
	"millrace/tablet"
)

// Mutations go to the binner in pieces, so that no actor works on one message for more than a millisecond or two.
const (
	pieceMutations = 1024
	pieceBytes     = 256 << 10
)

// writeBytes is what a piece takes besides its mutations, about: the message, its port, and what the binner and its tablet
// keep of it. It is admitted with them, so that small pieces are bounded too.
const writeBytes = 1 << 10

// Ack is a write that was admitted and whose end may still be to come.
type Ack struct {
	waits []func(context.Context) (*protocol.Written, error)
	err   error
}

// WriteOption is an argument of Apply that need not be given.
type WriteOption func(*writeOptions)

type writeOptions struct{ durability tablet.Durability }

// WithDurability says how safe mutations are to be before they are acknowledged. Default: as the table's properties say.
func WithDurability(d tablet.Durability) WriteOption {
	return func(o *writeOptions) { o.durability = d }
}

// Apply applies mutations and returns when readers see all of them, and they are as safe as their durability says.
// A mutation is applied whole or not at all; those
// that a constraint stands against are told in a *RefusedError, and the others are applied. Mutations of one row keep
// their order. The store keeps the mutations; they must not be changed any more.
//
// After an ErrUnknownOutcome some may be there or not, and what is not may appear later without being written again: when a
// failed tablet is replaced, or the store is opened anew. After another error that is safe to retry, by tablet.OutcomeOf,
// those it was about are not there, and never will be.
//
// When the context ends, mutations that were let in may still be applied.
func (s *Store) Apply(ctx context.Context, table string, mutations []*tablet.Mutation, options ...WriteOption) error {
	ack, err := s.ApplyAsync(ctx, table, mutations, options...)
	if err != nil {
		return err
	}
	return ack.Wait(ctx)
}

// ApplyAsync returns as soon as there is room for the mutations on their way to memory. Of two calls one after the other,
// the mutations of the first count first.
func (s *Store) ApplyAsync(ctx context.Context, table string, mutations []*tablet.Mutation, options ...WriteOption) (*Ack, error) {
	var o writeOptions
	for _, set := range options {
		set(&o)
	}
	ack := &Ack{}
	for len(mutations) > 0 {
		piece, bytes := nextPiece(mutations)
		mutations = mutations[len(piece):]
		t, err := s.writes.enter(ctx, bytes+writeBytes)
		if err != nil {
			ack.err = fmt.Errorf("write to table %s: %w", table, err)
			return ack, ack.err
		}
		w := &protocol.Write{Table: table, Mutations: piece, Durability: o.durability}
		w.Admit(t)
		ack.waits = append(ack.waits, AskLater(s.core.rt, s.core.binner.get(), w))
	}
	return ack, nil
}

// nextPiece cuts off what goes in one message.
func nextPiece(mutations []*tablet.Mutation) (piece []*tablet.Mutation, bytes int64) {
	n := 0
	for n < len(mutations) && n < pieceMutations && (n == 0 || bytes < pieceBytes) {
		bytes += int64(mutations[n].EstimatedMemory())
		n++
	}
	return mutations[:n:n], bytes
}

// Wait returns when readers see the mutations. It is called once.
func (a *Ack) Wait(ctx context.Context) error {
	var refused []protocol.Refusal
	err := a.err
	for _, wait := range a.waits {
		w, e := wait(ctx)
		switch {
		case e == nil:
			refused = append(refused, w.Refused...)
		case err == nil:
			err = e
		}
	}
	if err == nil && len(refused) > 0 {
		err = &RefusedError{Refused: refused}
	}
	return err
}

// RefusedError names the mutations that constraints stood against. It wraps tablet.ErrUsage.
type RefusedError struct{ Refused []protocol.Refusal }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%d mutations refused, the first: %v", len(e.Refused), e.Refused[0].Err)
}

// Unwrap is what the mutations were refused for.
func (e *RefusedError) Unwrap() []error {
	errs := make([]error, len(e.Refused))
	for i := range e.Refused {
		errs[i] = e.Refused[i].Err
	}
	return errs
}

// Package protocol holds the messages of the engine's actors, one file a conversation; the head of each file says who
// speaks to whom. Whoever writes an actor, a test or a simulator starts here.
//
// A message is a pointer to a struct that nobody changes after it was sent, the slices it reaches included. A request
// is an imperative and is answered once, failure included; a fact is past tense or a state.
//
//   - Port, Asked, Request: how a goroutine outside the actors gets its one answer.
//   - Answerable, Refusable, Releaser: what the runtime does with a message that its receiver left behind.
//   - Messages: a sample of every message, for tests that hold for all of them.
//
// The package knows addresses (PIDs) and nothing else of the actor library. It decides nothing.
package protocol

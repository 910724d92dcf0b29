// Package actors holds every actor of the engine, its supervision and the wiring of a system. It is the only package
// that knows how protoactor is driven.
//
// In the order one meets them:
//
//   - Open, Store: the engine for callers that never see an actor. Plain Go: contexts, errors, iterators.
//   - Runtime: what an actor may ask of the world. It spawns (Spec), names, tells the time, keeps timers, and counts.
//   - Mailbox, dispatcher: how messages reach an actor, and on which goroutine.
//   - Guard: stands before every actor, so that a panic keeps its stack, fails the request it came with and never
//     keeps an actor from stopping.
//   - Ask: one request, one answer, from outside the actors. Inbox: an address outside them.
//   - supervision.go: one table, who fails how and who replaces it.
//   - engineActor, schedulerActor, binnerActor, logActor, manifestActor, tabletActor, jobActor, scansActor, scanActor,
//     filesActor: a file or a few each. Their messages are in actors/protocol, their thinking in the pure packages below
//     and, where it is about the engine as a whole, in permits.go, memory.go, admission.go, openfiles.go and diskgate.go.
//
// The package writes nothing to the host's standard streams, touches no global of the library, and never shuts down a
// system that it did not create.
package actors

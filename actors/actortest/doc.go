// Package actortest tests actors by their messages alone, in virtual time.
//
//	func TestGreeter(t *testing.T) {
//		actortest.Run(t, func(k *actortest.Kit) {
//			client := k.Probe("client")
//			greeter := k.Spawn("greeter", actors.Spec{New: newGreeter})
//			client.Send(greeter, &Hello{From: client.PID()})
//			actortest.Expect[*Welcome](client, time.Second)
//			client.ExpectNone(time.Hour) // costs no real time
//		})
//	}
//
// In the order one meets them:
//
//   - Run: a test inside a testing/synctest bubble, where hours are free and "all mailboxes are empty" is one call.
//   - Kit: spawns the actor under test, kills it, taps it, moves time, and checks at the end that nothing is left.
//   - Probe: an actor that plays a neighbour. It records what it gets; it can be a parent.
//   - Expect, ExpectNone, Fish: what a probe must get, within virtual time.
//   - Tap: a copy of what another actor gets.
//
// At the end of every test the kit stops what it started and fails the test if an actor stays alive or in the registry,
// a message reached nobody without AllowDeadLetters, a panic was neither expected nor made by Kill, something was
// logged at Error, or a mailbox was filled beyond its stated bound. Goroutines that are left fail the bubble itself.
//
// The package never sleeps in real time and never polls.
package actortest

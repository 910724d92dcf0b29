// Package invariant says loudly that the program itself is wrong. What the world or a file's bytes do wrong is an
// error and is returned; what no input can bring about is checked here and panics.
//
// Check, That and Fail are always on; Unexpected is the default case of an actor's Receive. Checks that cost more than
// the work they guard stand inside `if invariant.Enabled { … }`, which the compiler removes without the build tag
// "invariants". The panic's value is a *Violation.
//
// The package never recovers a panic and never logs.
package invariant

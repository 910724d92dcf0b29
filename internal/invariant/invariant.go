package invariant

import "fmt"

// Violation is the value that a failed check panics with.
type Violation struct {
	What string
}

func (v *Violation) Error() string { return "invariant violated: " + v.What }

// Check panics when cond is false. Nothing is formatted when it is true, but the arguments are evaluated, and those
// that are not constants are put on the heap. On a path taken once an entry use That, or
//
//	if !cond {
//		invariant.Fail(format, args...)
//	}
func Check(cond bool, format string, args ...any) {
	if !cond {
		Fail(format, args...)
	}
}

// That panics when cond is false; it is free of cost otherwise.
func That(cond bool, what string) {
	if !cond {
		fail(what)
	}
}

// Fail panics.
func Fail(format string, args ...any) {
	panic(&Violation{What: fmt.Sprintf(format, args...)})
}

// Unexpected panics because an actor got a message that it has no handler for. It tells the message's type and not its
// content, which may hold user data.
func Unexpected(actor string, msg any) {
	panic(&Violation{What: fmt.Sprintf("actor %s got an unexpected message of type %T", actor, msg)})
}

// fail is apart from That so that That is small enough to be inlined.
//
//go:noinline
func fail(what string) {
	panic(&Violation{What: what})
}

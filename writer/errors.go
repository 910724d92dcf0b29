package writer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"millrace/tablet"
)

// Failure is a mutation that was added and is not known to be written, and why.
type Failure struct {
	Mutation *tablet.Mutation
	Extent   tablet.Extent // of the tablet; empty if it did not come to one
	// Err is a *tablet.ConstraintError if a constraint stands against the mutation.
	Err error
	// Unknown says that the mutation may be written all the same, now or later. Otherwise it is not, and never will be.
	Unknown bool
}

// Violation sums up mutations that one constraint of one tablet stands against for the same reason.
type Violation struct {
	Extent     tablet.Extent
	Constraint string
	Code       int
	What       string
	Mutations  int
}

// RejectedError names every mutation that failed before it was made. Once a writer has it, each Add, Flush and Close returns
// it, or a later one that names more; Close's is complete.
type RejectedError struct {
	Failed []Failure // in the order in which they failed
}

// Violations sums up what constraints stand against, by tablet, constraint and code.
func (e *RejectedError) Violations() (sums []Violation) {
	for _, f := range e.Failed {
		var c *tablet.ConstraintError
		if !errors.As(f.Err, &c) {
			continue
		}
		i := slices.IndexFunc(sums, func(v Violation) bool {
			return v.Constraint == c.Constraint && v.Code == c.Code && v.What == c.What && tablet.CompareExtents(v.Extent, f.Extent) == 0
		})
		if i < 0 {
			i = len(sums)
			sums = append(sums, Violation{Extent: f.Extent, Constraint: c.Constraint, Code: c.Code, What: c.What})
		}
		sums[i].Mutations++
	}
	slices.SortFunc(sums, func(a, b Violation) int {
		return cmp.Or(tablet.CompareExtents(a.Extent, b.Extent), cmp.Compare(a.Constraint, b.Constraint), cmp.Compare(a.Code, b.Code))
	})
	return sums
}

// Unknown counts the mutations that may be written all the same.
func (e *RejectedError) Unknown() (n int) {
	for _, f := range e.Failed {
		if f.Unknown {
			n++
		}
	}
	return n
}

func (e *RejectedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d mutations not written", len(e.Failed))
	if n := e.Unknown(); n > 0 {
		fmt.Fprintf(&b, ", of %d of them it is not known", n)
	}
	for _, v := range e.Violations() {
		fmt.Fprintf(&b, "; tablet %v, constraint %s (%d): %s: %d", v.Extent, v.Constraint, v.Code, v.What, v.Mutations)
	}
	for _, why := range e.others() {
		fmt.Fprintf(&b, "; %v", why)
	}
	return b.String()
}

// othersMax is how many reasons beside constraints are told.
const othersMax = 4

// others are different reasons beside constraints, the first ones.
func (e *RejectedError) others() (all []error) {
	for _, f := range e.Failed {
		var c *tablet.ConstraintError
		if errors.As(f.Err, &c) || slices.ContainsFunc(all, func(o error) bool { return o.Error() == f.Err.Error() }) {
			continue
		}
		if all = append(all, f.Err); len(all) == othersMax {
			break
		}
	}
	return all
}

// Unwrap gives the reasons, so that errors.Is finds what they wrap: an ErrUsage for what a constraint refused.
func (e *RejectedError) Unwrap() []error {
	all := e.others()
	for _, f := range e.Failed {
		var c *tablet.ConstraintError
		if errors.As(f.Err, &c) {
			return append(all, c)
		}
	}
	return all
}

// errClosed is for whoever comes after Close.
var errClosed = fmt.Errorf("batch writer: %w", tablet.ErrClosed)

package tablet

import "fmt"

// ConstraintError says which constraint stands against a mutation. It wraps ErrUsage.
type ConstraintError struct {
	Constraint string
	Code       int    // why, to the constraint
	What       string // the code in words
}

func (e *ConstraintError) Error() string {
	return fmt.Sprintf("constraint %s (%d): %s: %v", e.Constraint, e.Code, e.What, ErrUsage)
}

// Is makes errors.Is(err, ErrUsage) true.
func (e *ConstraintError) Is(target error) bool { return target == ErrUsage }

package tablet

import (
	"context"
	"errors"
	"fmt"
)

// Errors that callers test for with errors.Is. Every package wraps these rather than inventing its own.
var (
	// ErrCorrupt marks any error that says a file's bytes cannot be trusted.
	ErrCorrupt = errors.New("corrupt")
	// ErrUnsupported marks input that may be valid but that this program does not handle: an unknown version or codec, an encrypted file.
	ErrUnsupported = errors.New("not supported")
	// ErrClosed marks a call on something already closed.
	ErrClosed = errors.New("closed")
	// ErrLocked marks a store that another process holds.
	ErrLocked = errors.New("locked")
	// ErrBusy marks a request refused for now; it may be repeated.
	ErrBusy = errors.New("busy")
	// ErrUsage marks arguments or settings that are wrong in themselves.
	ErrUsage = errors.New("wrong usage")
	// ErrExpectation marks a measured or stated expectation that was not met.
	ErrExpectation = errors.New("expectation not met")
)

// CorruptError says where a file went wrong.
type CorruptError struct {
	File   string
	Offset int64  // bytes from the start of the file
	What   string // field and value, or the rule that is broken
}

// Corruptf returns a CorruptError whose What is formatted.
func Corruptf(file string, offset int64, format string, args ...any) error {
	return &CorruptError{File: file, Offset: offset, What: fmt.Sprintf(format, args...)}
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s: corrupt at offset %d: %s", e.File, e.Offset, e.What)
}

// Is makes errors.Is(err, ErrCorrupt) true.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Outcome is what an error means to whoever ran the operation.
type Outcome struct {
	Exit      int  // process exit code
	Retryable bool // whether the same call may succeed later without a change by the caller
}

// outcomes is the one table from errors to exit codes; the first match counts.
var outcomes = []struct {
	err error
	out Outcome
}{
	{context.Canceled, Outcome{Exit: 130}},
	{ErrUsage, Outcome{Exit: 2}},
	{ErrCorrupt, Outcome{Exit: 3}},
	{ErrExpectation, Outcome{Exit: 4}},
	{ErrLocked, Outcome{Exit: 5, Retryable: true}},
	{ErrUnsupported, Outcome{Exit: 6}},
	{ErrBusy, Outcome{Exit: 1, Retryable: true}},
	{context.DeadlineExceeded, Outcome{Exit: 1, Retryable: true}},
}

// OutcomeOf classifies an error. A nil error exits with 0, an unknown one with 1.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return Outcome{}
	}
	for _, o := range outcomes {
		if errors.Is(err, o.err) {
			return o.out
		}
	}
	return Outcome{Exit: 1}
}

package tablet

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestOutcomeOf(t *testing.T) {
	f := func(err error, exit int, retryable bool) {
		t.Helper()
		for _, e := range []error{err, wrapped(err)} {
			if got := OutcomeOf(e); got.Exit != exit || got.Retryable != retryable {
				t.Errorf("%v: %+v, want exit %d, retryable %v", e, got, exit, retryable)
			}
		}
	}
	f(nil, 0, false)
	f(errors.New("other"), 1, false)
	f(ErrUsage, 2, false)
	f(ErrCorrupt, 3, false)
	f(Corruptf("f.rf", 7, "magic is %d", 1), 3, false)
	f(ErrExpectation, 4, false)
	f(ErrLocked, 5, true)
	f(ErrUnsupported, 6, false)
	f(ErrBusy, 1, true)
	f(context.DeadlineExceeded, 1, true)
	f(context.Canceled, 130, false)
	f(errors.Join(context.Canceled, ErrCorrupt), 130, false)
}

func wrapped(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("open: %w", err)
}

func TestCorruptError(t *testing.T) {
	err := wrapped(Corruptf("f.rf", 7, "magic is %d", 1))
	var c *CorruptError
	if !errors.As(err, &c) || c.File != "f.rf" || c.Offset != 7 || err.Error() != "open: f.rf: corrupt at offset 7: magic is 1" {
		t.Errorf("got %v", err)
	}
	if errors.Is(err, ErrUsage) {
		t.Error("corrupt is not wrong usage")
	}
}

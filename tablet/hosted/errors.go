package hosted

import "errors"

// Errors that callers test for with errors.Is. After any of them the tablet is as it was.
var (
	// ErrUnknown marks a file, memtable or job that the tablet does not have, or no longer.
	ErrUnknown = errors.New("not of this tablet")
	// ErrDuplicate marks a file that the tablet has already.
	ErrDuplicate = errors.New("already in the tablet")
	// ErrAges marks ages that would put entries out of order.
	ErrAges = errors.New("ages out of order")
	// ErrInUse marks something that has to wait for writes, flushes or jobs under way.
	ErrInUse = errors.New("in use")
)

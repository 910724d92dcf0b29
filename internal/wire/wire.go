package wire

import "errors"

var (
	// ErrShort says that the input ended inside a value.
	ErrShort = errors.New("input ends inside a value")
	// ErrMalformed says that the bytes are not a value of the kind asked for.
	ErrMalformed = errors.New("malformed value")
)

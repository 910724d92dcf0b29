package tablet

import (
	"errors"
	"fmt"
	"math"

	"millrace/internal/wire"
)

// A mutation in a file:
//
//	length of the row, row      lengths and the count are HVLongs in their shortest form
//	number of updates
//	length of the rest, rest    the packed updates, as they are in memory
//
// The updates are copied as one piece: to log a mutation costs no more than to copy it.

// minPacked is the bytes of the smallest update: four empty fields and two flags.
const minPacked = 6

// errMutation marks bytes that are no mutation. Where they lie is for the caller to say.
var errMutation = errors.New("not a mutation")

// AppendTo appends the mutation as ParseMutation reads it.
func (m *Mutation) AppendTo(dst []byte) []byte {
	dst = appendField(dst, m.row)
	dst = wire.AppendHVLong(dst, int64(m.updates))
	return appendField(dst, m.packed)
}

// EncodedBytes is how many bytes AppendTo appends.
func (m *Mutation) EncodedBytes() int {
	return fieldBytes(m.row) + wire.HVLongSize(int64(m.updates)) + fieldBytes(m.packed)
}

// ParseMutation reads the mutation at the front of b, which may be any bytes, and returns what follows it. It accepts only
// what AppendTo writes. The mutation keeps views of b; whoever calls must not modify it any more.
func ParseMutation(b []byte) (m *Mutation, rest []byte, err error) {
	m = &Mutation{}
	if m.row, b, err = parseField(b); err != nil {
		return nil, nil, fmt.Errorf("%w: row: %w", errMutation, err)
	}
	count, b, err := parseLength(b)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: number of updates: %w", errMutation, err)
	}
	if m.packed, rest, err = parseField(b); err != nil {
		return nil, nil, fmt.Errorf("%w: updates: %w", errMutation, err)
	}
	if m.labelled, err = checkPacked(m.packed, count); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errMutation, err)
	}
	m.updates = int32(count)
	return m, rest, nil
}

// checkPacked walks packed updates once, so that All may trust them. labelled says that one has a visibility.
func checkPacked(b []byte, count int64) (labelled bool, err error) {
	if count > int64(len(b)/minPacked) || count > math.MaxInt32 {
		return false, fmt.Errorf("%d updates do not fit %d bytes", count, len(b))
	}
	for i := range count {
		var label int
		if label, b, err = checkUpdate(b); err != nil {
			return false, fmt.Errorf("update %d: %w", i, err)
		}
		labelled = labelled || label > 0
	}
	if len(b) > 0 {
		return false, fmt.Errorf("%d bytes behind the last update", len(b))
	}
	return labelled, nil
}

// checkUpdate returns how long the update's visibility is, and what follows the update.
func checkUpdate(b []byte) (label int, rest []byte, err error) {
	var field []byte
	for _, name := range [...]string{"family", "qualifier", "visibility"} {
		if field, b, err = parseField(b); err != nil {
			return 0, nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	label = len(field)
	timed, b, err := parseBool(b)
	if err != nil {
		return 0, nil, err
	}
	if timed {
		if _, b, err = parseLong(b); err != nil {
			return 0, nil, fmt.Errorf("timestamp: %w", err)
		}
	}
	deleted, b, err := parseBool(b)
	if err != nil {
		return 0, nil, err
	}
	value, rest, err := parseField(b)
	if err != nil {
		return 0, nil, fmt.Errorf("value: %w", err)
	}
	if deleted && len(value) > 0 {
		return 0, nil, errors.New("delete marker with a value")
	}
	return label, rest, nil
}

// parseLong reads an HVLong in its shortest form, so that a mutation has one encoding.
func parseLong(b []byte) (v int64, rest []byte, err error) {
	v, n, err := wire.HVLong(b)
	if err != nil {
		return 0, nil, err
	}
	if n != wire.HVLongSize(v) {
		return 0, nil, fmt.Errorf("%w: %d takes %d bytes", wire.ErrMalformed, v, n)
	}
	return v, b[n:], nil
}

// parseLength reads a number that counts something among the bytes behind it.
func parseLength(b []byte) (n int64, rest []byte, err error) {
	n, rest, err = parseLong(b)
	if err != nil {
		return 0, nil, err
	}
	if n < 0 || n > int64(len(rest)) {
		return 0, nil, fmt.Errorf("%w: %d of %d bytes", wire.ErrShort, n, len(rest))
	}
	return n, rest, nil
}

func parseField(b []byte) (field, rest []byte, err error) {
	n, b, err := parseLength(b)
	if err != nil {
		return nil, nil, err
	}
	return b[:n:n], b[n:], nil
}

func parseBool(b []byte) (v bool, rest []byte, err error) {
	if len(b) == 0 {
		return false, nil, wire.ErrShort
	}
	if b[0] > 1 {
		return false, nil, fmt.Errorf("%w: flag is %d", wire.ErrMalformed, b[0])
	}
	return b[0] == 1, b[1:], nil
}

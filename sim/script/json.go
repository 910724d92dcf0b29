package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"millrace/internal/nearest"
	"millrace/tablet"
)

// SyntaxError says where a script is not JSON. It wraps tablet.ErrUsage.
type SyntaxError struct {
	File string
	Line int // from 1
	What string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s: line %d: %s", e.File, e.Line, e.What) }
func (e *SyntaxError) Unwrap() error { return tablet.ErrUsage }

// checkJSON wants exactly one JSON value.
func checkJSON(file string, text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	var value json.RawMessage
	err := d.Decode(&value)
	at := d.InputOffset()
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		at, err = int64(len(text)), errors.New("the file ends before the script does")
	case err == nil:
		if rest := bytes.TrimLeft(text[at:], " \t\r\n"); len(rest) > 0 {
			at, err = int64(len(text)-len(rest)), errors.New("something stands behind the script")
		}
	}
	if err == nil {
		return nil
	}
	line := 1 + bytes.Count(text[:min(at, int64(len(text)))], []byte("\n"))
	return &SyntaxError{File: file, Line: line, What: strings.TrimPrefix(err.Error(), "json: ")}
}

// object takes a JSON object apart, field by field. The first thing that is wrong is kept, and found by done.
type object struct {
	fields map[string]json.RawMessage
	known  []string // asked for so far
	err    error
	kind   string // of operation
}

func newObject(raw json.RawMessage) *object {
	o := &object{fields: map[string]json.RawMessage{}}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		o.failf("%s is not an object", excerpt(raw))
		return o
	}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		var value json.RawMessage
		if err == nil && ok {
			err = d.Decode(&value)
		}
		if err != nil {
			o.failf("%v", err)
			return o
		}
		if _, twice := o.fields[name]; twice {
			o.failf("field %q stands twice", name)
		}
		o.fields[name] = value
	}
	return o
}

func (o *object) failf(format string, args ...any) {
	if o.err == nil {
		o.err = fmt.Errorf(format, args...)
	}
}

// take removes a field.
func (o *object) take(name string) (json.RawMessage, bool) {
	o.known = append(o.known, name)
	raw, ok := o.fields[name]
	delete(o.fields, name)
	return raw, ok
}

func (o *object) has(name string) bool {
	_, ok := o.fields[name]
	return ok
}

// done is the first error, or one for a field that nobody has asked for.
func (o *object) done() error {
	if o.err != nil || len(o.fields) == 0 {
		return o.err
	}
	var unknown []string
	for name := range o.fields {
		unknown = append(unknown, name)
	}
	name := slices.Min(unknown)
	if len(o.known) == 0 {
		return fmt.Errorf("unknown field %q", name)
	}
	return fmt.Errorf("unknown field %q; the nearest known one is %q", name, nearest.Name(name, o.known))
}

// excerpt is the beginning of a JSON value, for messages.
func excerpt(raw json.RawMessage) string {
	const longest = 40
	text := strings.Join(strings.Fields(string(raw)), " ")
	if len(text) > longest {
		return strconv.Quote(text[:longest]) + "…"
	}
	return strconv.Quote(text)
}

func (o *object) text(name string) string {
	raw, ok := o.take(name)
	var s *string
	if ok && (json.Unmarshal(raw, &s) != nil || s == nil) {
		o.failf("field %q is %s, not a string", name, excerpt(raw))
	}
	if s == nil {
		return ""
	}
	return *s
}

// choice is a string out of some, the first of which is the default.
func (o *object) choice(name string, of ...string) string {
	if !o.has(name) {
		o.take(name)
		return of[0]
	}
	s := o.text(name)
	if o.err == nil && !slices.Contains(of, s) {
		o.failf("field %q is %q, not one of %s", name, s, strings.Join(of, ", "))
	}
	return s
}

// number is a whole number of at least some value; ok is false when the field is absent.
func (o *object) number(name string, least int64) (n int64, ok bool) {
	raw, ok := o.take(name)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		o.failf("field %q is %s, not a whole number of 64 bits", name, excerpt(raw))
	} else if n < least {
		o.failf("field %q is %d, not at least %d", name, n, least)
	}
	return n, true
}

// count is a number that fits an int, and a default for when it is absent.
func (o *object) count(name string, least, otherwise int) int {
	n, ok := o.number(name, int64(least))
	switch {
	case !ok:
		return otherwise
	case n > 1<<31-1:
		o.failf("field %q is %d, more than %d", name, n, 1<<31-1)
	}
	return int(n)
}

func (o *object) flag(name string, otherwise bool) bool {
	raw, ok := o.take(name)
	switch {
	case !ok:
		return otherwise
	case string(raw) == "true":
		return true
	case string(raw) != "false":
		o.failf("field %q is %s, not true or false", name, excerpt(raw))
	}
	return false
}

// list is nil when the field is absent.
func (o *object) list(name string) []json.RawMessage {
	raw, ok := o.take(name)
	if !ok {
		return nil
	}
	l, err := listOf(raw)
	if err != nil {
		o.failf("field %q: %v", name, err)
	}
	return l
}

func listOf(raw json.RawMessage) ([]json.RawMessage, error) {
	var l []json.RawMessage
	if json.Unmarshal(raw, &l) != nil || l == nil {
		return nil, fmt.Errorf("%s is not a list", excerpt(raw))
	}
	return l, nil
}

// must fails when a field is absent.
func (o *object) must(names ...string) {
	for _, name := range names {
		if !o.has(name) {
			o.failf("field %q is missing", name)
		}
	}
}

package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"millrace/internal/nearest"
	"millrace/tablet"
)

// jsonEntry is an entry read from a line of ndjson, the form that cat prints:
//
//	{"row":"72","cf":"66","cq":"71","cv":"","ts":"5","del":false,"val":"76","g":0}
//
// row and ts must be there. The other fields may be missing, and come in any order; g is checked and then ignored.
type jsonEntry struct {
	key   tablet.Key // a view of data
	value []byte

	data, val []byte
	hex       [5][]byte // row, cf, cq, cv, val as they stand in the line
	ts        int64
	del       bool
	seen      uint
	anyTime   bool // the timestamp may be missing
}

// entryFields are the known fields; the first five are hex, in the order of jsonEntry.hex.
var entryFields = []string{"row", "cf", "cq", "cv", "val", "ts", "del", "g"}

const (
	entryRow = iota
	entryFamily
	entryQualifier
	entryVisibility
	entryValue
	entryTimestamp
	entryDeleted
	entryGroup
)

// fieldError is what is wrong with a field of a line.
func fieldError(field string, value []byte, want string) error {
	const longest = 60
	shown := fmt.Sprintf("%q", value[:min(len(value), longest)])
	if len(value) > longest {
		shown += fmt.Sprintf("… (%d bytes)", len(value))
	}
	return fmt.Errorf("field %q is %s, want %s", field, shown, want)
}

// parse reads a line. The entry's slices are its own and are used again by the next call.
func (e *jsonEntry) parse(line []byte) error {
	e.hex, e.ts, e.del, e.seen = [5][]byte{}, 0, false, 0
	s := jsonScanner{b: line}
	if err := s.object(e.field); err != nil {
		return err
	}
	for _, f := range []int{entryRow, entryTimestamp} {
		if !e.has(f) && !(f == entryTimestamp && e.anyTime) {
			return fmt.Errorf("field %q is missing", entryFields[f])
		}
	}
	return e.decode()
}

// has says whether a field was there.
func (e *jsonEntry) has(field int) bool { return e.seen&(1<<field) != 0 }

// field takes one field.
func (e *jsonEntry) field(text []byte, value jsonValue) error {
	f := entryField(text)
	if f < 0 {
		return fmt.Errorf("field %q is not known, nearest is %q", text, nearest.Name(string(text), entryFields))
	}
	name := entryFields[f]
	if e.has(f) {
		return fmt.Errorf("field %q is there twice", name)
	}
	e.seen |= 1 << f
	var err error
	switch f {
	case entryTimestamp:
		if value.kind != jsonString && value.kind != jsonNumber {
			return fieldError(name, value.text, "a decimal number as a string")
		}
		if e.ts, err = strconv.ParseInt(string(value.text), 10, 64); err != nil {
			return fieldError(name, value.text, "a 64-bit decimal number")
		}
	case entryDeleted:
		e.del = string(value.text) == "true"
		if value.kind != jsonWord || !e.del && string(value.text) != "false" {
			return fieldError(name, value.text, "true or false")
		}
	case entryGroup:
		if _, err := strconv.ParseUint(string(value.text), 10, 31); err != nil || value.kind != jsonNumber {
			return fieldError(name, value.text, "the number of a group")
		}
	default:
		if value.kind != jsonString || len(value.text)%2 != 0 {
			return fieldError(name, value.text, "a string of hex, two digits a byte")
		}
		e.hex[f] = value.text
	}
	return nil
}

func entryField(name []byte) int {
	for i, f := range entryFields {
		if f == string(name) {
			return i
		}
	}
	return -1
}

// decode makes key and value of the hex fields.
func (e *jsonEntry) decode() error {
	e.data, e.val = e.data[:0], e.val[:0]
	var ends [5]uint32
	for f, text := range e.hex {
		dst := &e.data
		if f == entryValue {
			dst = &e.val
		}
		var err error
		if *dst, err = hex.AppendDecode(*dst, text); err != nil {
			return fieldError(entryFields[f], text, "hex digits only")
		}
		ends[f] = uint32(len(e.data))
	}
	e.key = tablet.KeyView(e.data, tablet.Ends{Row: ends[entryRow], Family: ends[entryFamily], Qualifier: ends[entryQualifier]}, e.ts, e.del)
	e.value = e.val
	return nil
}

// jsonValue is a string, number or word (true, false, null) as it stands in the line; a string without its quotes, its
// escapes resolved.
type jsonValue struct {
	kind jsonKind
	text []byte
}

type jsonKind uint8

const (
	jsonString jsonKind = iota
	jsonNumber
	jsonWord
)

// jsonScanner reads one flat object from a line: what entries are, several times faster than encoding/json.
type jsonScanner struct {
	b  []byte
	at int
}

// object reads the whole line and calls back for each field.
func (s *jsonScanner) object(field func(name []byte, value jsonValue) error) error {
	if !s.skip('{') {
		return s.unexpected("an object: {")
	}
	if s.skip('}') {
		return s.end()
	}
	for {
		name, err := s.value()
		if err != nil || name.kind != jsonString {
			return s.unexpected("the name of a field")
		}
		if !s.skip(':') {
			return s.unexpected("a colon")
		}
		value, err := s.value()
		if err != nil {
			return err
		}
		if err := field(name.text, value); err != nil {
			return err
		}
		if s.skip('}') {
			return s.end()
		}
		if !s.skip(',') {
			return s.unexpected("a comma or }")
		}
	}
}

func (s *jsonScanner) end() error {
	s.blanks()
	if s.at < len(s.b) {
		return s.unexpected("the end of the line")
	}
	return nil
}

func (s *jsonScanner) blanks() {
	for s.at < len(s.b) && (s.b[s.at] == ' ' || s.b[s.at] == '\t' || s.b[s.at] == '\r') {
		s.at++
	}
}

// skip goes past a character if it is next.
func (s *jsonScanner) skip(c byte) bool {
	s.blanks()
	if s.at < len(s.b) && s.b[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *jsonScanner) unexpected(want string) error {
	s.blanks()
	if s.at >= len(s.b) {
		return fmt.Errorf("line ends where there should be %s", want)
	}
	return fmt.Errorf("%q at byte %d where there should be %s", s.b[s.at:min(len(s.b), s.at+1)], s.at+1, want)
}

// endsToken says which bytes cannot be part of a number or word.
var endsToken = func() (ends [256]bool) {
	for _, b := range []byte(" \t\r,:{}[]\"") {
		ends[b] = true
	}
	return ends
}()

func (s *jsonScanner) value() (jsonValue, error) {
	s.blanks()
	start := s.at
	if s.at < len(s.b) && s.b[s.at] == '"' {
		return s.text()
	}
	for s.at < len(s.b) && !endsToken[s.b[s.at]] {
		s.at++
	}
	token := s.b[start:s.at]
	switch {
	case len(token) == 0:
		return jsonValue{}, s.unexpected("a string, a number, true or false")
	case string(token) == "true", string(token) == "false", string(token) == "null":
		return jsonValue{jsonWord, token}, nil
	case !json.Valid(token):
		s.at = start
		return jsonValue{}, s.unexpected("a string, a number, true or false")
	}
	return jsonValue{jsonNumber, token}, nil
}

// text reads a string. The fast way is one without escapes, as all are that cat prints. Control characters, which JSON
// does not allow, are not looked for: no string that an entry can have holds any.
func (s *jsonScanner) text() (jsonValue, error) {
	start := s.at
	n := bytes.IndexByte(s.b[start+1:], '"')
	if n < 0 {
		s.at = len(s.b)
		return jsonValue{}, s.unexpected(`the closing " of a string`)
	}
	text := s.b[start+1 : start+1+n]
	if bytes.IndexByte(text, '\\') >= 0 {
		return s.escapedText(start)
	}
	s.at = start + n + 2
	return jsonValue{jsonString, text}, nil
}

func (s *jsonScanner) escapedText(start int) (jsonValue, error) {
	for s.at = start + 1; s.at < len(s.b) && s.b[s.at] != '"'; s.at++ {
		if s.b[s.at] == '\\' {
			s.at++
		}
	}
	if s.at >= len(s.b) {
		return jsonValue{}, s.unexpected(`the closing " of a string`)
	}
	s.at++
	var text string
	if err := json.Unmarshal(s.b[start:s.at], &text); err != nil {
		s.at = start
		return jsonValue{}, s.unexpected("a valid string")
	}
	return jsonValue{jsonString, []byte(text)}, nil
}

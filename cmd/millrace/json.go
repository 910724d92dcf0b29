package main

import (
	"bytes"
	"encoding/json"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// writeJSON prints a document, indented.
func (e *env) writeJSON(document any) error {
	text, err := encodeJSON(document)
	if err != nil {
		return err
	}
	return e.writeIndented(text)
}

func (e *env) writeIndented(text []byte) error {
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return err
	}
	_, err := e.out.Write(out.Bytes())
	return err
}

// writeLine prints an object as one line.
func (e *env) writeLine(object any) error {
	text, err := encodeJSON(object)
	if err != nil {
		return err
	}
	_, err = e.out.Write(text)
	return err
}

// encodeJSON is a value as one line of JSON. Whatever does not print is escaped, also where JSON would not ask for it,
// so that a name cannot reach a terminal as more than text.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	text := b.Bytes()
	if bytes.IndexFunc(text, hidden) < 0 {
		return text, nil
	}
	out := make([]byte, 0, len(text)+16)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if hidden(r) {
			for _, unit := range utf16.Encode([]rune{r}) {
				out = append(out, '\\', 'u', hexDigits[unit>>12], hexDigits[unit>>8&15], hexDigits[unit>>4&15], hexDigits[unit&15])
			}
		} else {
			out = append(out, text[:n]...)
		}
		text = text[n:]
	}
	return out, nil
}

// hidden says of a character, which can only stand in a string, whether it prints nothing of its own.
func hidden(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }

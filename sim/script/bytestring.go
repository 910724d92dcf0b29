package script

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// byteString is bytes as scripts spell them:
//
//	"text"                 its UTF-8
//	{"hex": "00ff"}        bytes in hexadecimal
//	{"rep": S, "times": N} S, N times
//	{"cat": [S, …]}        one after the other
//
// In templates {i} stands for a number, and {i:6} for it with zeros in front up to six digits.
type byteString struct {
	pieces []piece // of a literal: text and places of numbers in turn
	parts  []byteString
	times  int // 0 for a literal; of the parts
}

// piece is a literal, or the place of a number with at least so many digits.
type piece struct {
	literal []byte
	number  bool
	digits  int
}

// longestBytes bounds a byte string: so much is made of a few letters by "times".
const longestBytes = 256 << 20

// parseBytes reads a byte string; as a template its text may hold places of numbers.
func parseBytes(raw json.RawMessage, template bool) (byteString, error) {
	b, size, err := parseByteString(raw, template)
	if err == nil && size > longestBytes {
		err = fmt.Errorf("byte string %s is longer than %d bytes", excerpt(raw), longestBytes)
	}
	return b, err
}

// parseByteString also returns the size, numbers taken for their longest; more than longestBytes for anything larger.
func parseByteString(raw json.RawMessage, template bool) (b byteString, size int, err error) {
	if len(raw) > 0 && raw[0] == '"' {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return b, 0, err
		}
		return literal(s, template)
	}
	o := newObject(raw)
	var parts []json.RawMessage
	b.times = 1
	switch {
	case o.has("hex"):
		text := o.text("hex")
		bytes, err := hex.DecodeString(text)
		if err != nil {
			o.failf("%s is not hexadecimal", excerpt(raw))
		}
		b.times, b.pieces = 0, []piece{{literal: bytes}}
		return b, len(bytes), o.done()
	case o.has("rep"):
		part, _ := o.take("rep")
		o.must("times")
		parts, b.times = []json.RawMessage{part}, o.count("times", 0, 0)
		if b.times == 0 {
			parts = nil
		}
	case o.has("cat"):
		parts = o.list("cat")
	default:
		o.failf("%s is no byte string", excerpt(raw))
	}
	for _, part := range parts {
		p, n, err := parseByteString(part, template)
		if err != nil {
			return b, 0, err
		}
		b.parts = append(b.parts, p)
		size = min(size+n, longestBytes+1)
	}
	switch {
	case size == 0:
		b.times = 0 // nothing, however often
	case b.times > longestBytes/size:
		size = longestBytes + 1
	default:
		size *= b.times
	}
	return b, size, o.done()
}

// literal cuts a text into pieces.
func literal(s string, template bool) (b byteString, size int, err error) {
	const mostDigits = 20 // a sign and 19 digits
	for {
		at, length, digits := len(s), 0, 0
		if template {
			at, length, digits = place(s)
		}
		if at > 0 {
			b.pieces = append(b.pieces, piece{literal: []byte(s[:at])})
			size += at
		}
		if length == 0 {
			break
		}
		if digits > 1<<10 {
			return b, 0, fmt.Errorf("a number of %d digits", digits)
		}
		b.pieces = append(b.pieces, piece{number: true, digits: digits})
		size += max(digits, mostDigits)
		s = s[at+length:]
	}
	return b, size, nil
}

// place finds the first {i} or {i:N}; length is 0 when there is none, and at the end of the text.
func place(s string) (at, length, digits int) {
	for from := 0; ; {
		i := strings.Index(s[from:], "{i")
		if i < 0 {
			return len(s), 0, 0
		}
		i += from
		end := i + 2
		if strings.HasPrefix(s[end:], ":") {
			j := end + 1
			for j < len(s) && s[j] >= '0' && s[j] <= '9' {
				j++
			}
			if n, err := strconv.Atoi(s[end+1 : j]); err == nil {
				digits, end = n, j
			}
		}
		if strings.HasPrefix(s[end:], "}") {
			return i, end + 1 - i, digits
		}
		from, digits = i+2, 0
	}
}

// append appends the bytes; i is the number of a template.
func (b *byteString) append(dst []byte, i int64) []byte {
	for _, p := range b.pieces {
		if p.number {
			dst = fmt.Appendf(dst, "%0*d", p.digits, i)
		} else {
			dst = append(dst, p.literal...)
		}
	}
	for range b.times {
		for k := range b.parts {
			dst = b.parts[k].append(dst, i)
		}
	}
	return dst
}

// bytes are never nil.
func (b *byteString) bytes() []byte { return b.append([]byte{}, 0) }

// bytes is an absent field's the empty string.
func (o *object) bytes(name string, template bool) byteString {
	raw, ok := o.take(name)
	if !ok {
		return byteString{}
	}
	b, err := parseBytes(raw, template)
	if err != nil {
		o.failf("field %q: %v", name, err)
	}
	return b
}

// quoted is bytes for a message: printable text as it is, other bytes as \xNN, and cut when they are long.
func quoted(b []byte) string {
	const longest = 24
	rest := ""
	if len(b) > longest {
		b, rest = b[:longest], fmt.Sprintf("…(%d bytes)", len(b))
	}
	return strconv.QuoteToASCII(string(b)) + rest
}

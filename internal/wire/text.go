package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendTString appends s with its length in bytes as a TVInt.
func AppendTString(dst []byte, s string) []byte {
	return append(AppendTVInt(dst, len(s)), s...)
}

// TString decodes the string at the front of b. Its bytes are not checked to be UTF-8. Hadoop's null (length -1) occurs
// in no valid file and is malformed here.
func TString(b []byte) (s string, n int, err error) {
	length, n, err := TVInt(b)
	if err != nil {
		return "", 0, err
	}
	if length < 0 {
		return "", 0, fmt.Errorf("%w: string of length %d", ErrMalformed, length)
	}
	if length > len(b)-n {
		return "", 0, ErrShort
	}
	return string(b[n : n+length]), n + length, nil
}

// AppendJUTF appends s in Java's modified UTF-8 behind a 16-bit length: U+0000 takes two bytes, and a character above
// U+FFFF is a surrogate pair of three bytes each. It fails when that makes more than 65,535 bytes or when s is not UTF-8,
// and then returns dst as it was.
//
// Source: java.io.DataOutput.writeUTF.
func AppendJUTF(dst []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return dst, fmt.Errorf("%w: %q is not UTF-8", ErrMalformed, s)
	}
	start := len(dst)
	out := append(dst, 0, 0)
	for _, r := range s {
		switch {
		case r == 0:
			out = append(out, 0xc0, 0x80)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = appendUnit(appendUnit(out, high), low)
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	length := len(out) - start - 2
	if length > math.MaxUint16 {
		return dst, fmt.Errorf("%w: string takes %d bytes, at most 65535 are allowed", ErrMalformed, length)
	}
	binary.BigEndian.PutUint16(out[start:], uint16(length))
	return out, nil
}

// appendUnit appends one UTF-16 code unit of three bytes; utf8.AppendRune would refuse half a surrogate pair.
func appendUnit(dst []byte, u rune) []byte {
	return append(dst, 0xe0|byte(u>>12), 0x80|byte(u>>6)&0xbf, 0x80|byte(u)&0xbf)
}

// JUTF decodes the string at the front of b. It is strict: only what AppendJUTF writes is accepted, so a string has one
// encoding and half a surrogate pair none.
func JUTF(b []byte) (s string, n int, err error) {
	if len(b) < 2 {
		return "", 0, ErrShort
	}
	length := int(binary.BigEndian.Uint16(b))
	if length > len(b)-2 {
		return "", 0, ErrShort
	}
	text := b[2 : 2+length]
	if isPlainASCII(text) {
		return string(text), 2 + length, nil
	}
	out := make([]byte, 0, length)
	for at := 0; at < length; {
		r, size := javaRune(text[at:])
		if size == 0 {
			return "", 0, fmt.Errorf("%w: byte %d of a string is not modified UTF-8", ErrMalformed, at)
		}
		out = utf8.AppendRune(out, r)
		at += size
	}
	return string(out), 2 + length, nil
}

func isPlainASCII(b []byte) bool {
	for _, c := range b {
		if c == 0 || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// javaRune decodes the character at the front of b; size 0 means that there is none.
func javaRune(b []byte) (r rune, size int) {
	u, size := javaUnit(b)
	if size == 0 || !utf16.IsSurrogate(u) {
		return u, size
	}
	low, lowSize := javaUnit(b[size:])
	if lowSize == 0 {
		return 0, 0
	}
	r = utf16.DecodeRune(u, low)
	if r == utf8.RuneError {
		return 0, 0
	}
	return r, size + lowSize
}

// javaUnit decodes one UTF-16 code unit in its shortest form (U+0000: its two-byte form).
func javaUnit(b []byte) (u rune, size int) {
	if len(b) == 0 {
		return 0, 0
	}
	switch c := b[0]; {
	case c >= 1 && c < 0x80:
		return rune(c), 1
	case c >= 0xc0 && c < 0xe0 && len(b) >= 2 && isTail(b[1]):
		u = rune(c&0x1f)<<6 | rune(b[1]&0x3f)
		if u >= 0x80 || u == 0 {
			return u, 2
		}
	case c >= 0xe0 && c < 0xf0 && len(b) >= 3 && isTail(b[1]) && isTail(b[2]):
		u = rune(c&0x0f)<<12 | rune(b[1]&0x3f)<<6 | rune(b[2]&0x3f)
		if u >= 0x800 {
			return u, 3
		}
	}
	return 0, 0
}

func isTail(c byte) bool { return c&0xc0 == 0x80 }

package iter

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"millrace/internal/nearest"
)

// charset is how bytes are text.
type charset uint8

const (
	utf8Text charset = iota
	asciiText
	latin1Text
	utf16Text // big-endian, unless a byte order mark says otherwise
	utf16BigText
	utf16LittleText
)

var charsets = []string{utf8Text: "UTF-8", asciiText: "US-ASCII", latin1Text: "ISO-8859-1", utf16Text: "UTF-16", utf16BigText: "UTF-16BE", utf16LittleText: "UTF-16LE"}

const charsetNames = "UTF-8, US-ASCII, ISO-8859-1, UTF-16, UTF-16BE, UTF-16LE"

// parseCharset reads a name, in upper or lower case; the empty one is UTF-8.
func parseCharset(option, text string) (charset, error) {
	if text == "" {
		return utf8Text, nil
	}
	name := strings.ToUpper(text)
	i := slices.Index(charsets, name)
	if i < 0 {
		return 0, OptionError(option, text, fmt.Sprintf("want one of %s; nearest is %q", charsetNames, nearest.Name(name, charsets)))
	}
	return charset(i), nil
}

// decode appends the text in UTF-8. What is no text becomes U+FFFD.
func (c charset) decode(dst, field []byte) []byte {
	switch c {
	case asciiText:
		for _, b := range field {
			if b < utf8.RuneSelf {
				dst = append(dst, b)
			} else {
				dst = utf8.AppendRune(dst, utf8.RuneError)
			}
		}
	case latin1Text:
		for _, b := range field {
			dst = utf8.AppendRune(dst, rune(b))
		}
	case utf16LittleText:
		return appendUTF16(dst, field, binary.LittleEndian)
	case utf16BigText:
		return appendUTF16(dst, field, binary.BigEndian)
	case utf16Text:
		if len(field) >= 2 {
			switch binary.BigEndian.Uint16(field) {
			case 0xfffe:
				return appendUTF16(dst, field[2:], binary.LittleEndian)
			case 0xfeff:
				return appendUTF16(dst, field[2:], binary.BigEndian)
			}
		}
		return appendUTF16(dst, field, binary.BigEndian)
	default:
		return append(dst, field...)
	}
	return dst
}

func appendUTF16(dst, field []byte, order binary.ByteOrder) []byte {
	for ; len(field) >= 2; field = field[2:] {
		r := rune(order.Uint16(field))
		if utf16.IsSurrogate(r) && len(field) >= 4 {
			if pair := utf16.DecodeRune(r, rune(order.Uint16(field[2:]))); pair != utf8.RuneError {
				r, field = pair, field[2:]
			}
		}
		dst = utf8.AppendRune(dst, r) // a lone surrogate becomes U+FFFD
	}
	if len(field) > 0 {
		dst = utf8.AppendRune(dst, utf8.RuneError)
	}
	return dst
}

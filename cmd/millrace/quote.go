package main

import (
	"strconv"

	"millrace/tablet"
)

// The text form of keys and values: printable ASCII as it is, all other bytes as \xNN, backslashes doubled. What is
// printed can be given back to flags that take rows and families. In keys, blanks are escaped too, and colons in
// families, so that a line can be taken apart again:
//
//	row family:qualifier [visibility] timestamp[ delete]

const hexDigits = "0123456789abcdef"

// What appendText escapes beside bytes that do not print.
const (
	escapeBlank = 1 << iota
	escapeColon
	escapeList // what separates families and groups in flags
)

// textClass says of each byte which of the above escapes it; 0 for a plain one.
var textClass = func() (class [256]byte) {
	const always = 0xff
	for b := range class {
		if b < 0x20 || b >= 0x7f {
			class[b] = always
		}
	}
	class[' '], class[':'], class['\\'] = escapeBlank, escapeColon, always
	class[','], class[';'], class['='] = escapeList, escapeList, escapeList
	return class
}()

// appendText appends a field in its text form.
func appendText(dst, field []byte, escape byte) []byte {
	escape |= 0x80
	plain := 0
	for i, b := range field {
		if textClass[b]&escape == 0 {
			continue
		}
		dst = append(dst, field[plain:i]...)
		plain = i + 1
		if b == '\\' {
			dst = append(dst, '\\', '\\')
		} else {
			dst = append(dst, '\\', 'x', hexDigits[b>>4], hexDigits[b&15])
		}
	}
	return append(dst, field[plain:]...)
}

// appendKeyText appends a key's text form.
func appendKeyText(dst []byte, k *tablet.Key) []byte {
	dst = appendText(dst, k.Row(), escapeBlank)
	dst = append(dst, ' ')
	dst = appendText(dst, k.Family(), escapeBlank|escapeColon)
	dst = append(dst, ':')
	dst = appendText(dst, k.Qualifier(), escapeBlank)
	dst = append(dst, " ["...)
	dst = appendText(dst, k.Visibility(), escapeBlank)
	dst = append(dst, "] "...)
	dst = strconv.AppendInt(dst, k.Timestamp(), 10)
	if k.Deleted() {
		dst = append(dst, " delete"...)
	}
	return dst
}

// longestField bounds how much of a key's field an overview shows.
const longestField = 80

// shortText is a field for an overview: cut when it is long.
func shortText(field []byte) string {
	if len(field) <= longestField {
		return string(appendText(nil, field, 0))
	}
	return string(appendText(nil, field[:longestField], 0)) + "…(" + strconv.Itoa(len(field)) + " bytes)"
}

// shortKey is a key for an overview.
func shortKey(k *tablet.Key) string {
	if k.Size() <= longestField {
		return string(appendKeyText(nil, k))
	}
	cut := func(field []byte) []byte { return field[:min(len(field), longestField/4)] }
	short := tablet.NewKey(tablet.Fields{Row: cut(k.Row()), Family: cut(k.Family()), Qualifier: cut(k.Qualifier()),
		Visibility: cut(k.Visibility()), Timestamp: k.Timestamp(), Deleted: k.Deleted()})
	return string(appendKeyText(nil, &short)) + " (cut, " + strconv.Itoa(k.Size()) + " bytes)"
}

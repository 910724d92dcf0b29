package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// size is a flag of bytes: a number, or one with K, M or G behind it, powers of 1024.
type size int64

func (s *size) Type() string { return "size" }

func (s *size) String() string {
	n := int64(*s)
	for _, unit := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "G"}, {1 << 20, "M"}, {1 << 10, "K"}} {
		if n >= unit.bytes && n%unit.bytes == 0 {
			return strconv.FormatInt(n/unit.bytes, 10) + unit.name
		}
	}
	return strconv.FormatInt(n, 10)
}

func (s *size) Set(text string) error {
	digits, factor := text, int64(1)
	if n := len(text); n > 0 {
		if i := strings.IndexByte("KMG", text[n-1]&^0x20); i >= 0 {
			digits, factor = text[:n-1], int64(1)<<(10*(i+1))
		}
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return fmt.Errorf("not a size such as 102400, 100K, 64M or 1G")
	}
	if int64(n) > math.MaxInt64/factor {
		return fmt.Errorf("more than %d bytes", int64(math.MaxInt64))
	}
	*s = size(int64(n) * factor)
	return nil
}

// escaped is a flag of arbitrary bytes, given as text with escapes: \\ and \xNN. Nil until it is given.
type escaped []byte

func (b *escaped) Type() string   { return "bytes" }
func (b *escaped) String() string { return string(appendText(nil, *b, 0)) }

func (b *escaped) Set(text string) (err error) {
	*b, err = unescape(text)
	return err
}

// familyList is a flag of families: names with escapes, separated by commas. It may be given several times.
type familyList [][]byte

func (l *familyList) Type() string { return "families" }

func (l *familyList) String() string {
	var names []string
	for _, f := range *l {
		names = append(names, string(appendText(nil, f, escapeList)))
	}
	return strings.Join(names, ",")
}

func (l *familyList) Set(text string) error {
	names, err := splitFamilies(text)
	*l = append(*l, names...)
	return err
}

func splitFamilies(text string) ([][]byte, error) {
	var names [][]byte
	for part := range strings.SplitSeq(text, ",") {
		name, err := unescape(part)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// unescape is the inverse of appendText. The result is not nil.
func unescape(text string) ([]byte, error) {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			out = append(out, text[i])
			continue
		}
		rest := text[i+1:]
		if strings.HasPrefix(rest, `\`) {
			out = append(out, '\\')
			i++
			continue
		}
		if len(rest) < 3 || rest[0] != 'x' {
			return nil, fmt.Errorf(`"\" at byte %d is followed by neither "\" nor "xNN"`, i)
		}
		v, err := strconv.ParseUint(rest[1:3], 16, 8)
		if err != nil {
			return nil, fmt.Errorf(`"\x" at byte %d is followed by %q, not by two hex digits`, i, rest[1:3])
		}
		out = append(out, byte(v))
		i += 3
	}
	return out, nil
}

package manifest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"millrace/tablet"
)

// input decodes a payload. The first error stays; what is read after it is zero. Nothing is allocated by a length that the
// payload does not have.
type input struct {
	b   []byte
	at  int
	err error
}

// unsupported marks payloads of a format that came after ours.
type unsupported string

func (u unsupported) Error() string        { return string(u) }
func (u unsupported) Is(target error) bool { return target == tablet.ErrUnsupported }

func (in *input) fail(what, format string, args ...any) {
	if in.err == nil {
		in.err = fmt.Errorf("%s at byte %d of the record: %s", what, in.at, fmt.Sprintf(format, args...))
	}
}

func (in *input) rest() int { return len(in.b) - in.at }

func (in *input) take(what string, n int) []byte {
	if in.err != nil || n > in.rest() {
		in.fail(what, "%d bytes, of which %d are there", n, in.rest())
		return nil
	}
	in.at += n
	return in.b[in.at-n : in.at : in.at]
}

func (in *input) byte(what string) byte {
	if b := in.take(what, 1); b != nil {
		return b[0]
	}
	return 0
}

func (in *input) uint(what string) uint64 {
	if in.err != nil {
		return 0
	}
	n, size := binary.Uvarint(in.b[in.at:])
	if size <= 0 || size > 1 && in.b[in.at+size-1] == 0 {
		in.fail(what, "not an integer in its shortest form")
		return 0
	}
	in.at += size
	return n
}

func (in *input) int(what string) int64 {
	u := in.uint(what)
	return int64(u>>1) ^ -int64(u&1)
}

// count reads the number of items of which each takes at least so many bytes.
func (in *input) count(what string, least int) int {
	n := in.uint(what)
	if n > uint64(in.rest()/least) {
		in.fail(what, "%d, for which %d bytes are too few", n, in.rest())
		return 0
	}
	return int(n)
}

func (in *input) bytes(what string) []byte { return in.take(what, in.count(what+" length", 1)) }

func (in *input) text(what string) string { return string(in.bytes(what)) }

// row reads a row that may be nil, into memory of its own.
func (in *input) row(what string) []byte {
	n := in.uint(what + " length")
	switch {
	case in.err != nil || n == 0:
		return nil
	case n > math.MaxInt32:
		in.fail(what, "%d bytes, of which %d are there", n-1, in.rest())
		return nil
	}
	b := in.take(what, int(n-1))
	if in.err != nil {
		return nil
	}
	return append([]byte{}, b...)
}

func (in *input) bool(what string) bool {
	b := in.byte(what)
	if b > 1 {
		in.fail(what, "%d is neither 0 nor 1", b)
	}
	return b == 1
}

func (in *input) numbers(what string) []uint64 {
	n := in.count("number of "+what, 1)
	var numbers []uint64
	for range n {
		numbers = append(numbers, in.uint(what))
	}
	return numbers
}

func (in *input) properties() map[string]string {
	n := in.count("number of properties", 2)
	if n == 0 {
		return nil
	}
	p := make(map[string]string)
	last := ""
	for i := range n {
		name := in.text("property name")
		if i > 0 && name <= last {
			in.fail("property name", "%q does not follow %q", clip(name), clip(last))
		}
		if in.err != nil {
			return nil
		}
		p[name], last = in.text("property value"), name
	}
	return p
}

// end checks that nothing is left, and returns the first error.
func (in *input) end() error {
	if in.rest() > 0 {
		in.fail("end", "%d bytes too many", in.rest())
	}
	return in.err
}

// kind reads the two bytes in front.
func (in *input) kind() byte {
	kind, version := in.byte("kind"), in.byte("version")
	switch {
	case in.err != nil:
	case kind < kindHead || kind > kindEdits:
		in.err = unsupported(fmt.Sprintf("record of unknown kind %d", kind))
	case version != formatVersion:
		in.err = unsupported(fmt.Sprintf("%s record of version %d, where %d is the latest known", kindName(kind), version, formatVersion))
	}
	return kind
}

// isUnsupported says whether a payload is of a later format rather than damaged.
func isUnsupported(err error) bool { return errors.Is(err, tablet.ErrUnsupported) }

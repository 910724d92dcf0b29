package tablet

import (
	"bytes"
	"fmt"
)

// Range is a stretch of keys. The zero value is everything.
type Range struct {
	start, end                 Key
	hasStart, hasEnd           bool
	startExclusive, endInclude bool
}

// Bound is one end of a range.
type Bound struct {
	Key       Key
	Inclusive bool
}

// NewRange makes a range from bounds, nil for infinite ones. An end before the start is an error; so is (k,k], while
// [k,k) is legal and empty.
func NewRange(start, end *Bound) (Range, error) {
	var r Range
	if start != nil {
		r.start, r.hasStart, r.startExclusive = start.Key, true, !start.Inclusive
	}
	if end != nil {
		r.end, r.hasEnd, r.endInclude = end.Key, true, end.Inclusive
	}
	if start != nil && end != nil {
		c := Compare(&start.Key, &end.Key)
		if c > 0 || c == 0 && !start.Inclusive && end.Inclusive {
			return Range{}, fmt.Errorf("range ends before it starts: %v to %v: %w", start.Key, end.Key, ErrUsage)
		}
	}
	return r, nil
}

// RowBounds are the arguments of RowRange. Nil rows are infinite.
type RowBounds struct {
	Start, End     []byte
	StartExclusive bool
	EndExclusive   bool
}

// RowRange is the range of all keys whose row lies within the bounds. It is kept as inclusive start, exclusive end.
// Bounds that cross give an empty range.
func RowRange(b RowBounds) Range {
	var r Range
	if b.Start != nil {
		r.start, r.hasStart = RowKey(b.Start), true
		if b.StartExclusive {
			r.start = RowKey(following(b.Start))
		}
	}
	if b.End != nil {
		r.end, r.hasEnd = RowKey(b.End), true
		if !b.EndExclusive {
			r.end = RowKey(following(b.End))
		}
	}
	return r
}

// ExactRow is the range of one row; nil is the empty row.
func ExactRow(row []byte) Range { return Exact(row) }

// Exact is the range of all keys that share the given leading fields: row, then family, qualifier, visibility.
func Exact(fields ...[]byte) Range {
	if len(fields) == 0 {
		return Range{}
	}
	last := len(fields) - 1
	end := append([][]byte(nil), fields...)
	end[last] = following(fields[last])
	return Range{start: seekKey(fields), hasStart: true, end: seekKey(end), hasEnd: true}
}

// Prefix is the range of all keys that share the leading fields, the last of them as a prefix.
func Prefix(fields ...[]byte) Range {
	if len(fields) == 0 {
		return Range{}
	}
	r := Range{start: seekKey(fields), hasStart: true}
	last := len(fields) - 1
	if next, ok := nextPrefix(fields[last]); ok {
		end := append([][]byte(nil), fields...)
		end[last] = next
		r.end, r.hasEnd = seekKey(end), true
	} else if last > 0 {
		r.end, r.hasEnd = Exact(fields[:last]...).end, true
	}
	return r
}

// nextPrefix is the smallest byte string greater than all that start with p; there is none for runs of 0xff.
func nextPrefix(p []byte) ([]byte, bool) {
	for len(p) > 0 && p[len(p)-1] == 0xff { // not bytes.TrimRight: to that, all bytes that are no UTF-8 are one
		p = p[:len(p)-1]
	}
	if len(p) == 0 {
		return nil, false
	}
	next := bytes.Clone(p)
	next[len(next)-1]++
	return next, true
}

// following is the smallest byte string greater than b.
func following(b []byte) []byte {
	next := make([]byte, len(b)+1)
	copy(next, b)
	return next
}

func seekKey(fields [][]byte) Key {
	f := Fields{Timestamp: MaxTimestamp}
	for i, dst := range []*[]byte{&f.Row, &f.Family, &f.Qualifier, &f.Visibility} {
		if i < len(fields) {
			*dst = fields[i]
		}
	}
	return NewKey(f)
}

// Start is the lower bound; ok is false when there is none.
func (r *Range) Start() (b Bound, ok bool) {
	return Bound{Key: r.start, Inclusive: !r.startExclusive}, r.hasStart
}

// End is the upper bound; ok is false when there is none.
func (r *Range) End() (b Bound, ok bool) {
	return Bound{Key: r.end, Inclusive: r.endInclude}, r.hasEnd
}

// BeforeStart says whether a key lies before the range.
func (r *Range) BeforeStart(k *Key) bool {
	if !r.hasStart {
		return false
	}
	c := Compare(k, &r.start)
	return c < 0 || c == 0 && r.startExclusive
}

// AfterEnd says whether a key lies after the range.
func (r *Range) AfterEnd(k *Key) bool {
	if !r.hasEnd {
		return false
	}
	c := Compare(k, &r.end)
	return c > 0 || c == 0 && !r.endInclude
}

// Contains says whether a key lies in the range.
func (r *Range) Contains(k *Key) bool { return !r.BeforeStart(k) && !r.AfterEnd(k) }

// Empty says whether no key can lie in the range.
func (r *Range) Empty() bool {
	if !r.hasStart || !r.hasEnd {
		return false
	}
	c := Compare(&r.start, &r.end)
	return c > 0 || c == 0 && (r.startExclusive || !r.endInclude)
}

// Clip is the part of the range that lies in another; it may be empty.
func (r Range) Clip(to Range) Range {
	if to.hasStart {
		c := -1
		if r.hasStart {
			c = Compare(&r.start, &to.start)
		}
		if c < 0 || c == 0 && to.startExclusive {
			r.start, r.hasStart, r.startExclusive = to.start, true, to.startExclusive
		}
	}
	if to.hasEnd {
		c := 1
		if r.hasEnd {
			c = Compare(&r.end, &to.end)
		}
		if c > 0 || c == 0 && !to.endInclude {
			r.end, r.hasEnd, r.endInclude = to.end, true, to.endInclude
		}
	}
	return r
}

// After is the part of the range that lies behind a key: how a scan that was interrupted goes on.
func (r Range) After(k Key) Range {
	r.start, r.hasStart, r.startExclusive = k, true, true
	return r
}

// WithStart is the range with another inclusive start.
func (r Range) WithStart(k Key) Range {
	r.start, r.hasStart, r.startExclusive = k, true, false
	return r
}

// Clone returns a range that owns its bytes.
func (r Range) Clone() Range {
	r.start, r.end = r.start.Clone(), r.end.Clone()
	return r
}

// String prints the range in interval notation.
func (r Range) String() string {
	open, closing, from, to := "(", ")", "-∞", "+∞"
	if r.hasStart {
		from = r.start.String()
		if !r.startExclusive {
			open = "["
		}
	}
	if r.hasEnd {
		to = r.end.String()
		if r.endInclude {
			closing = "]"
		}
	}
	return open + from + ", " + to + closing
}

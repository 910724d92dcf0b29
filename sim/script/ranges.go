package script

import (
	"encoding/json"
	"strconv"

	"millrace/tablet"
)

// rangeSpec is a range as scripts give it. Only the parts of a bound that are given are compared.
type rangeSpec struct {
	start, end       *boundSpec
	startInc, endInc bool
}

// boundSpec is one to five parts of a key: row, cf, cq, cv, ts.
type boundSpec struct {
	fields [][]byte
	ts     int64
	hasTS  bool
}

func parseRange(raw json.RawMessage) (s rangeSpec, err error) {
	o := newObject(raw)
	if o.has("row") {
		row := o.bytes("row", false)
		b := &boundSpec{fields: [][]byte{row.bytes()}}
		return rangeSpec{start: b, end: b, startInc: true, endInc: true}, o.done()
	}
	s.start, s.end = parseBound(o, "start"), parseBound(o, "end")
	s.startInc, s.endInc = o.flag("startInc", true), o.flag("endInc", true)
	return s, o.done()
}

func parseBound(o *object, name string) *boundSpec {
	if !o.has(name) {
		o.take(name)
		return nil
	}
	parts := o.list(name)
	if len(parts) < 1 || len(parts) > 5 {
		o.failf("field %q has %d parts, not 1 to 5", name, len(parts))
		return nil
	}
	b := &boundSpec{}
	for i, raw := range parts {
		if i == 4 {
			ts, err := strconv.ParseInt(string(raw), 10, 64)
			if err != nil {
				o.failf("field %q: %s is no timestamp", name, excerpt(raw))
			}
			b.ts, b.hasTS = ts, true
			break
		}
		part, err := parseBytes(raw, false)
		if err != nil {
			o.failf("field %q: %v", name, err)
		}
		b.fields = append(b.fields, part.bytes())
	}
	return b
}

// rangeOf takes the field range.
func rangeOf(o *object) rangeSpec {
	raw, ok := o.take("range")
	if !ok {
		return rangeSpec{}
	}
	s, err := parseRange(raw)
	if err != nil {
		o.failf("field %q: %w", "range", err)
	}
	return s
}

// make makes the range. The engine refuses one whose end lies before its start.
func (s *rangeSpec) make() (tablet.Range, error) {
	var start, end *tablet.Bound
	if s.start != nil {
		start = s.start.asStart(s.startInc)
	}
	if s.end != nil {
		end = s.end.asEnd(s.endInc)
	}
	return tablet.NewRange(start, end)
}

// asStart is before the keys that begin with the parts, or behind them. With a timestamp the parts are a whole key.
func (b *boundSpec) asStart(inclusive bool) *tablet.Bound {
	if b.hasTS {
		return &tablet.Bound{Key: b.key(false), Inclusive: inclusive}
	}
	return &tablet.Bound{Key: b.key(!inclusive), Inclusive: true}
}

func (b *boundSpec) asEnd(inclusive bool) *tablet.Bound {
	if b.hasTS {
		return &tablet.Bound{Key: b.key(false), Inclusive: inclusive}
	}
	return &tablet.Bound{Key: b.key(inclusive), Inclusive: false}
}

// key is the smallest key that begins with the parts, or the smallest behind all of those.
func (b *boundSpec) key(behind bool) tablet.Key {
	f := tablet.Fields{Timestamp: tablet.MaxTimestamp}
	if b.hasTS {
		f.Timestamp = b.ts
	}
	for i, dst := range []*[]byte{&f.Row, &f.Family, &f.Qualifier, &f.Visibility} {
		switch {
		case i < len(b.fields)-1:
			*dst = b.fields[i]
		case i == len(b.fields)-1 && behind:
			*dst = append(append([]byte{}, b.fields[i]...), 0)
		case i == len(b.fields)-1:
			*dst = b.fields[i]
		}
	}
	return tablet.NewKey(f)
}

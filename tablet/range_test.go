package tablet

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// TestRowRange is the table of row ranges: always an inclusive start and an exclusive end.
func TestRowRange(t *testing.T) {
	f := func(b RowBounds, start, end string) {
		t.Helper()
		r := RowRange(b)
		s, hasStart := r.Start()
		e, hasEnd := r.End()
		if hasStart != (start != "-") || hasEnd != (end != "-") {
			t.Fatalf("%+v: start %v, end %v", b, hasStart, hasEnd)
		}
		if hasStart {
			if want := RowKey([]byte(start)); !s.Inclusive || Compare(&s.Key, &want) != 0 {
				t.Errorf("%+v: start %v, inclusive %v", b, s.Key, s.Inclusive)
			}
		}
		if hasEnd {
			if want := RowKey([]byte(end)); e.Inclusive || Compare(&e.Key, &want) != 0 {
				t.Errorf("%+v: end %v, inclusive %v", b, e.Key, e.Inclusive)
			}
		}
	}
	a, z := []byte("a"), []byte("z")
	f(RowBounds{}, "-", "-")
	f(RowBounds{Start: a}, "a", "-")
	f(RowBounds{Start: a, StartExclusive: true}, "a\x00", "-")
	f(RowBounds{End: z}, "-", "z\x00")
	f(RowBounds{End: z, EndExclusive: true}, "-", "z")
	f(RowBounds{Start: a, End: z, StartExclusive: true, EndExclusive: true}, "a\x00", "z")
	f(RowBounds{Start: []byte{}, End: []byte{}}, "", "\x00")
	if s, _ := func() (Bound, bool) { r := RowRange(RowBounds{Start: a}); return r.Start() }(); s.Key.Timestamp() != MaxTimestamp || s.Key.Deleted() {
		t.Errorf("a row starts at %v", s.Key)
	}
}

func TestRowRangeHolds(t *testing.T) {
	f := func(b RowBounds, row string, want bool) {
		t.Helper()
		r := RowRange(b)
		for _, k := range []Key{key(row, "", "", "", MaxTimestamp, false), key(row, "f", "q", "v", 1, true), key(row, "\xff", "\xff", "\xff", math.MinInt64, false)} {
			if r.Contains(&k) != want {
				t.Errorf("%v holds %v: %v", r, k, !want)
			}
		}
	}
	b := RowBounds{Start: []byte("b"), End: []byte("d")}
	f(b, "a\xff", false)
	f(b, "b", true)
	f(b, "d", true)
	f(b, "d\x00", false)
	b.StartExclusive, b.EndExclusive = true, true
	f(b, "b", false)
	f(b, "b\x00", true)
	f(b, "c\xff\xff", true)
	f(b, "d", false)
	f(RowBounds{Start: []byte("d"), End: []byte("b")}, "c", false)
}

func TestNewRange(t *testing.T) {
	k, l := key("k", "", "", "", 1, false), key("l", "", "", "", 1, false)
	f := func(start, end *Bound, bad, empty bool) {
		t.Helper()
		r, err := NewRange(start, end)
		if (err != nil) != bad || bad && !errors.Is(err, ErrUsage) {
			t.Errorf("%v, %v: %v", start, end, err)
		}
		if err == nil && r.Empty() != empty {
			t.Errorf("%v: empty %v", r, r.Empty())
		}
	}
	in, ex := func(k Key) *Bound { return &Bound{k, true} }, func(k Key) *Bound { return &Bound{k, false} }
	f(nil, nil, false, false)
	f(in(k), nil, false, false)
	f(nil, ex(k), false, false)
	f(in(k), in(k), false, false)
	f(in(k), ex(k), false, true)
	f(ex(k), in(k), true, false)
	f(ex(k), ex(k), false, true)
	f(in(l), in(k), true, false)
	f(ex(k), ex(l), false, false)
	if r, _ := NewRange(ex(k), in(l)); r.Contains(&k) || !r.Contains(&l) || !r.BeforeStart(&k) || r.AfterEnd(&l) {
		t.Errorf("bounds of %v", r)
	}
	if r, _ := NewRange(in(k), ex(l)); !r.Contains(&k) || r.Contains(&l) || r.BeforeStart(&k) || !r.AfterEnd(&l) {
		t.Errorf("bounds of %v", r)
	}
}

// TestPrefixes holds Exact and Prefix against the fields of random keys.
func TestPrefixes(t *testing.T) {
	r := random(t)
	for range rounds(2000) {
		keys := randomKeys(r, 8)
		like := keys[0]
		fields := [][]byte{like.Row(), like.Family(), like.Qualifier(), like.Visibility()}[:1+r.IntN(4)]
		exact, prefix := Exact(fields...), Prefix(fields...)
		for i := range keys {
			k := &keys[i]
			have := [][]byte{k.Row(), k.Family(), k.Qualifier(), k.Visibility()}
			equal, starts := true, true
			for n, f := range fields {
				equal = equal && string(have[n]) == string(f)
				if n == len(fields)-1 {
					starts = starts && strings.HasPrefix(string(have[n]), string(f))
				} else {
					starts = starts && string(have[n]) == string(f)
				}
			}
			if k.Deleted() && k.Timestamp() == MaxTimestamp {
				continue // sorts before a key made for seeking
			}
			if exact.Contains(k) != equal {
				t.Fatalf("Exact(%q) holds %v: %v", fields, k, !equal)
			}
			if prefix.Contains(k) != starts {
				t.Fatalf("Prefix(%q) = %v holds %v: %v", fields, prefix, k, !starts)
			}
		}
	}
}

func TestPrefixEnds(t *testing.T) {
	f := func(end string, fields ...string) {
		t.Helper()
		var b [][]byte
		for _, field := range fields {
			b = append(b, []byte(field))
		}
		r := Prefix(b...)
		e, ok := r.End()
		got := "-"
		if ok {
			got = e.Key.String()
		}
		if got != end {
			t.Errorf("Prefix(%q) ends at %s, want %s", fields, got, end)
		}
	}
	top := " [\"\"] 9223372036854775807"
	f(`"b" "":""`+top, "a\xff")
	f(`"a\xffb" "":""`+top, "a\xffa")
	f("-", "\xff\xff")
	f("-", "")
	f("-")
	f(`"r" "g":""`+top, "r", "f")
	f(`"r\x00" "":""`+top, "r", "\xff")
	f(`"r" "f\x00":""`+top, "r", "f", "")
	if r := Exact(); !r.Contains(&Key{}) {
		t.Error("Exact of nothing is not everything")
	}
}

// TestRangeAlgebra holds Clip, After and WithStart against membership.
func TestRangeAlgebra(t *testing.T) {
	r := random(t)
	for range rounds(3000) {
		keys := randomKeys(r, 10)
		random := func() Range {
			for {
				var bounds [2]*Bound
				for i := range bounds {
					if r.IntN(4) > 0 {
						bounds[i] = &Bound{keys[r.IntN(len(keys))], r.IntN(2) == 0}
					}
				}
				if rg, err := NewRange(bounds[0], bounds[1]); err == nil {
					return rg
				}
			}
		}
		a, b, at := random(), random(), keys[r.IntN(len(keys))]
		clip, after, from, clone := a.Clip(b), a.After(at), a.WithStart(at), a.Clone()
		for i := range keys {
			k := &keys[i]
			c := Compare(k, &at)
			inEnd := !a.AfterEnd(k)
			if clip.Contains(k) != (a.Contains(k) && b.Contains(k)) {
				t.Fatalf("%v clipped to %v is %v", a, b, clip)
			}
			if clip.Empty() && clip.Contains(k) {
				t.Fatalf("%v is empty and holds %v", clip, k)
			}
			if after.Contains(k) != (c > 0 && inEnd) || from.Contains(k) != (c >= 0 && inEnd) || clone.Contains(k) != a.Contains(k) {
				t.Fatalf("%v at %v: %v and %v", a, at, after, from)
			}
		}
	}
}

func TestRangeString(t *testing.T) {
	f := func(r Range, want string) {
		t.Helper()
		if got := r.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	f(Range{}, "(-∞, +∞)")
	k := key("k", "", "", "", 1, false)
	r, _ := NewRange(&Bound{k, true}, &Bound{k, true})
	f(r, `["k" "":"" [""] 1, "k" "":"" [""] 1]`)
	f(Range{}.After(k), `("k" "":"" [""] 1, +∞)`)
}

package tablet

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// naiveCompare is the order as it is defined, field by field.
func naiveCompare(a, b *Key) int {
	for _, f := range []func(Key) []byte{Key.Row, Key.Family, Key.Qualifier, Key.Visibility} {
		if c := strings.Compare(string(f(*a)), string(f(*b))); c != 0 {
			return c
		}
	}
	switch {
	case a.Timestamp() != b.Timestamp():
		if a.Timestamp() > b.Timestamp() {
			return -1
		}
		return 1
	case a.Deleted() == b.Deleted():
		return 0
	case a.Deleted():
		return -1
	}
	return 1
}

func TestCompareRandom(t *testing.T) {
	r := random(t)
	for range rounds(2000) {
		keys := randomKeys(r, 12)
		for i := range keys {
			for j := range keys {
				a, b := &keys[i], &keys[j]
				want := naiveCompare(a, b)
				if got := Compare(a, b); got != want {
					t.Fatalf("Compare(%v, %v) = %d, want %d", a, b, got, want)
				}
				checkPartial(t, a, b)
				same := bytes.Equal(a.Row(), b.Row()) && bytes.Equal(a.Family(), b.Family()) &&
					bytes.Equal(a.Qualifier(), b.Qualifier()) && bytes.Equal(a.Visibility(), b.Visibility())
				if SameCell(a, b) != same || SameRow(a, b) != bytes.Equal(a.Row(), b.Row()) {
					t.Fatalf("SameCell or SameRow of %v and %v", a, b)
				}
			}
		}
	}
}

// checkPartial compares with keys that are equal behind the depth.
func checkPartial(t *testing.T, a, b *Key) {
	t.Helper()
	cut := func(k *Key, d Depth) Key {
		f := Fields{Row: k.Row()}
		if d >= DepthFamily {
			f.Family = k.Family()
		}
		if d >= DepthQualifier {
			f.Qualifier = k.Qualifier()
		}
		if d >= DepthVisibility {
			f.Visibility = k.Visibility()
		}
		if d >= DepthTimestamp {
			f.Timestamp = k.Timestamp()
		}
		f.Deleted = d == DepthAll && k.Deleted()
		return NewKey(f)
	}
	for d := DepthRow; d <= DepthAll; d++ {
		x, y := cut(a, d), cut(b, d)
		if got, want := ComparePartial(a, b, d), naiveCompare(&x, &y); got != want {
			t.Fatalf("ComparePartial(%v, %v, %d) = %d, want %d", a, b, d, got, want)
		}
	}
}

// TestCompare has the cases that a comparison of the concatenated fields would get wrong.
func TestCompare(t *testing.T) {
	f := func(a, b Key) {
		t.Helper()
		if Compare(&a, &b) != -1 || Compare(&b, &a) != 1 || Compare(&a, &a) != 0 {
			t.Errorf("%v is not before %v", a, b)
		}
	}
	f(key("a", "bc", "", "", 0, false), key("ab", "c", "", "", 0, false))
	f(key("a", "z", "", "", 0, false), key("aa", "", "", "", 0, false))
	f(key("", "", "", "x", 0, false), key("", "", "x", "", 0, false))
	f(key("", "", "x", "", 0, false), key("", "x", "", "", 0, false))
	f(key("", "x", "", "", 0, false), key("x", "", "", "", 0, false))
	f(key("a", "", "", "", 0, false), key("a\x00", "", "", "", 0, false))
	f(key("\x7f", "", "", "", 0, false), key("\x80", "", "", "", 0, false))
	f(key("a", "", "", "", 9, false), key("a", "", "", "", 8, false))
	f(key("a", "", "", "", math.MaxInt64, false), key("a", "", "", "", math.MinInt64, false))
	f(key("a", "", "", "", 9, true), key("a", "", "", "", 9, false))
	f(key("a", "", "", "", 9, false), key("a", "", "", "", 8, true))
	f(key("a", "", "", "", math.MaxInt64, true), RowKey([]byte("a")))
	f(RowKey([]byte("a")), key("a", "", "", "", math.MaxInt64-1, true))
	f(RowKey([]byte("a")), key("a", "\x00", "", "", math.MaxInt64, true))
}

func TestKeyOwnership(t *testing.T) {
	row := []byte("row")
	k := NewKey(Fields{Row: row, Family: []byte("f"), Qualifier: []byte("q"), Visibility: []byte("v"), Timestamp: 7})
	row[0] = 'x'
	if string(k.Row()) != "row" {
		t.Error("NewKey kept the caller's bytes")
	}
	view := KeyView(k.Data(), k.Ends(), k.Timestamp(), k.Deleted())
	clone := view.Clone()
	var own Key
	own.Assign(&view)
	copy(k.Data(), "ROW")
	if string(view.Row()) != "ROW" || string(clone.Row()) != "row" || string(own.Row()) != "row" {
		t.Errorf("view %v, clone %v, assigned %v", view, clone, own)
	}
	if string(own.Family()) != "f" || string(own.Qualifier()) != "q" || string(own.Visibility()) != "v" || own.Timestamp() != 7 || own.Size() != 6 {
		t.Errorf("assigned %v", own)
	}
	// A field must not grow into the next.
	if f := append(own.Row(), '!'); string(own.Family()) != "f" || len(f) != 4 {
		t.Error("append to a field changed its neighbour")
	}
	if got := testing.AllocsPerRun(10, func() { own.Assign(&view) }); got != 0 {
		t.Errorf("Assign allocates %v", got)
	}
	later := own.WithTimestamp(8)
	if later.Timestamp() != 8 || own.Timestamp() != 7 || !SameCell(&later, &own) {
		t.Errorf("%v and %v", later, own)
	}
	e := Entry{Key: view, Value: row}.Clone()
	row[0] = 'y'
	if string(e.Value) != "xow" {
		t.Errorf("cloned value %q", e.Value)
	}
}

func TestKeyString(t *testing.T) {
	f := func(k Key, want string) {
		t.Helper()
		if got := k.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	f(key("r", "f", "q", "a&b", 7, false), `"r" "f":"q" ["a&b"] 7`)
	f(key("\x1b[2J", "\xff", "", "", -1, true), `"\x1b[2J" "\xff":"" [""] -1 delete`)
	f(key(strings.Repeat("x", 100), "", "", "", 0, false), `"`+strings.Repeat("x", 64)+`"…(100 bytes) "":"" [""] 0`)
}

func TestCommonPrefix(t *testing.T) {
	for n := range 40 {
		a := bytes.Repeat([]byte("x"), n)
		if got := CommonPrefix(a, append(bytes.Clone(a), 'y')); got != n {
			t.Errorf("%d bytes and one more: %d", n, got)
		}
		for i := range n {
			b := bytes.Clone(a)
			b[i] = 'y'
			if got := CommonPrefix(a, b); got != i {
				t.Errorf("%d bytes, other at %d: %d", n, i, got)
			}
		}
	}
}

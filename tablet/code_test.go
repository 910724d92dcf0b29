package tablet

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"
)

// naiveCode is the layout as it is drawn, bit by bit.
func naiveCode(base, k *Key) uint64 {
	fields := func(k *Key) [][]byte {
		ts := binary.BigEndian.AppendUint64(nil, ^(uint64(k.Timestamp()) ^ 1<<63))
		flag := []byte{1}
		if k.Deleted() {
			flag[0] = 0
		}
		return [][]byte{k.Row(), k.Family(), k.Qualifier(), k.Visibility(), ts, flag}
	}
	a, b := fields(base), fields(k)
	for f := range a {
		if bytes.Equal(a[f], b[f]) {
			continue
		}
		shared := 0
		for shared < len(a[f]) && shared < len(b[f]) && a[f][shared] == b[f][shared] {
			shared++
		}
		c := min(shared/5, 1023)
		chunk := b[f][min(5*c, len(b[f])):]
		chunk = chunk[:min(5, len(chunk))]
		var padded [8]byte
		copy(padded[3:], chunk)
		return uint64(6-f)<<61 | uint64(1023-c)<<51 | binary.BigEndian.Uint64(padded[:])<<11 | uint64(len(chunk))<<8
	}
	return 0
}

// TestCodesRandom holds what the merge is built on: codes against one base order as the keys do, codes tell what is
// shared, and codes fold by max when entries between are left out.
func TestCodesRandom(t *testing.T) {
	r := random(t)
	for range rounds(5000) {
		keys := randomKeys(r, 3+r.IntN(8))
		slices.SortFunc(keys, func(a, b Key) int { return Compare(&a, &b) })
		for i := range keys {
			var fold uint64
			for j := i; j < len(keys); j++ {
				base, k := &keys[i], &keys[j]
				code := CodeOf(base, k)
				if want := naiveCode(base, k); code != want {
					t.Fatalf("code of %v after %v is %#x, want %#x", k, base, code, want)
				}
				checkThresholds(t, base, k, code)
				if j > i {
					if before := CodeOf(base, &keys[j-1]); before > code {
						t.Fatalf("codes after %v: %v has %#x, %v has %#x", base, &keys[j-1], before, k, code)
					}
					fold = max(fold, CodeOf(&keys[j-1], k))
					if fold != code {
						t.Fatalf("the codes between %v and %v fold to %#x, not %#x", base, k, fold, code)
					}
				}
			}
			if k := &keys[i]; CodeOfFirst(k) != naiveFirst(k) {
				t.Fatalf("first code of %v is %#x, want %#x", k, CodeOfFirst(k), naiveFirst(k))
			}
		}
	}
}

// naiveFirst is the code against nothing: in the row, from its first chunk on.
func naiveFirst(k *Key) uint64 {
	var padded [8]byte
	n := copy(padded[3:], k.Row())
	return 6<<61 | 1023<<51 | binary.BigEndian.Uint64(padded[:])<<11 | uint64(n)<<8
}

func checkThresholds(t *testing.T, base, k *Key, code uint64) {
	t.Helper()
	f := func(what string, got, want bool) {
		t.Helper()
		if got != want {
			t.Fatalf("code %#x of %v after %v: %s %v", code, k, base, what, got)
		}
	}
	f("same", code == 0, Compare(base, k) == 0)
	f("same cell", code < CodeSameCell, SameCell(base, k))
	f("same qualifier", code < CodeSameQualifier, ComparePartial(base, k, DepthQualifier) == 0)
	f("same family", code < CodeSameFamily, ComparePartial(base, k, DepthFamily) == 0)
	f("same row", code < CodeSameRow, SameRow(base, k))
	if code&0xff != 0 {
		t.Fatalf("code %#x has bits where a merge keeps the rank", code)
	}
	if code >= CodeSameCell {
		field := CodeField(code)
		fields := func(k *Key) [][]byte { return [][]byte{k.Row(), k.Family(), k.Qualifier(), k.Visibility()} }
		a, b := fields(base)[field], fields(k)[field]
		shared := CommonPrefix(a, b)
		if got := int(CodeShared(code)); got > shared || shared-got >= 5 && shared < 5120 {
			t.Fatalf("code %#x of %v after %v shares %d, of %d", code, k, base, got, shared)
		}
		if CodeInField(field, uint(shared), b) != code {
			t.Fatalf("CodeInField(%d, %d, %q) is not %#x", field, shared, b, code)
		}
	} else if got := CodeInVersion(base.Timestamp(), k.Timestamp(), base.Deleted(), k.Deleted()); got != code {
		t.Fatalf("CodeInVersion is %#x, not %#x", got, code)
	}
}

// TestCodeLayout has the values by hand.
func TestCodeLayout(t *testing.T) {
	f := func(base, k Key, field, shared int, chunk string) {
		t.Helper()
		var padded [8]byte
		copy(padded[3:], chunk)
		want := uint64(6-field)<<61 | uint64(1023-shared/5)<<51 | binary.BigEndian.Uint64(padded[:])<<11 | uint64(len(chunk))<<8
		if got := CodeOf(&base, &k); got != want {
			t.Errorf("%v after %v: %#x, want %#x", k, base, got, want)
		}
	}
	f(key("a", "", "", "", 0, false), key("b", "", "", "", 0, false), 0, 0, "b")
	f(key("row-1", "", "", "", 0, false), key("row-1x", "", "", "", 0, false), 0, 5, "x")
	f(key("row-12", "", "", "", 0, false), key("row-1345678", "", "", "", 0, false), 0, 5, "34567")
	f(key("r", "f", "", "", 0, false), key("r", "g", "", "", 0, false), 1, 0, "g")
	f(key("r", "f", "", "", 0, false), key("r", "f", "\x00", "", 0, false), 2, 0, "\x00")
	f(key("r", "f", "q", "", 0, false), key("r", "f", "q", "v", 0, false), 3, 0, "v")
	f(key("r", "f", "q", "v", 2, false), key("r", "f", "q", "v", 1, false), 4, 5, "\xff\xff\xfe")
	f(key("r", "f", "q", "v", math.MaxInt64, false), key("r", "f", "q", "v", math.MinInt64, false), 4, 0, "\xff\xff\xff\xff\xff")
	f(key("r", "f", "q", "v", 2, true), key("r", "f", "q", "v", 2, false), 5, 0, "\x01")
	// The fields together are equal, but end elsewhere: the longer row's next byte decides.
	f(key("a", "bc", "", "", 0, false), key("ab", "c", "", "", 0, false), 0, 0, "ab")
	// "ab" and "ab\0" have the same padded bytes, and differ by their number.
	a, b, base := key("ab", "", "", "", 0, false), key("ab\x00", "", "", "", 0, false), key("", "", "", "", 0, false)
	if x, y := CodeOf(&base, &a), CodeOf(&base, &b); x >= y {
		t.Errorf("%#x and %#x", x, y)
	}
}

// TestCodeSaturates has fields that share more than the chunk number can say.
func TestCodeSaturates(t *testing.T) {
	long := func(n int, tail string) Key {
		return key(string(bytes.Repeat([]byte("x"), n))+tail, "", "", "", 0, false)
	}
	for _, n := range []int{5110, 5114, 5115, 5116, 5119, 5120, 5121, 6000, 70000} {
		base, a, b, c := long(n, ""), long(n, "a"), long(n, "b"), long(n-1, "y")
		codes := []uint64{0, CodeOf(&base, &a), CodeOf(&base, &b), CodeOf(&base, &c)}
		if !slices.IsSorted(codes) || codes[1] == 0 {
			t.Errorf("%d bytes shared: %#x do not ascend", n, codes)
		}
		for _, k := range []Key{a, b, c} {
			code := CodeOf(&base, &k)
			if got := CodeShared(code); got > uint(n) || got > 5115 {
				t.Errorf("%d bytes shared: code says %d", n, got)
			}
			if want := naiveCode(&base, &k); code != want {
				t.Errorf("%d bytes shared: %#x, want %#x", n, code, want)
			}
		}
	}
	// From 5,120 bytes on the chunk looked at is shared: different keys, one code.
	base, a, b := long(5120, ""), long(5120, "a"), long(5120, "b")
	if x, y := CodeOf(&base, &a), CodeOf(&base, &b); x != y {
		t.Errorf("%#x and %#x", x, y)
	}
}

func TestBatch(t *testing.T) {
	var b Batch
	keys := []Key{key("a", "f", "q", "", 9, false), key("a", "f", "q", "", 8, true), key("b", "f", "q", "", 1, false)}
	for range 2 {
		b.Reset()
		if b.Len() != 0 || b.Facts != (BatchFacts{}) || b.Raw != nil {
			t.Fatalf("after reset: %+v", b)
		}
		b.Raw = []byte("onetwo")
		for i := range keys {
			code := CodeOfFirst(&keys[i])
			if i > 0 {
				code = CodeOf(&keys[i-1], &keys[i])
			}
			at := uint32(3 * min(i, 2))
			b.AppendKey(&keys[i], code, at, min(at+3, 6))
		}
		for i, want := range []string{"one", "two", ""} {
			if e := b.Entry(i); Compare(&e.Key, &keys[i]) != 0 || string(e.Value) != want {
				t.Errorf("entry %d is %v = %q", i, e.Key, e.Value)
			}
		}
		if !b.Facts.Deletes || b.Facts.MaxCode != CodeOf(&keys[1], &keys[2]) {
			t.Errorf("facts %+v", b.Facts)
		}
	}
}

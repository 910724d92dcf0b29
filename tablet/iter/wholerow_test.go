package iter

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"millrace/tablet"
)

// TestWholeRowBytes has the bytes that Java's DataOutputStream writes.
func TestWholeRowBytes(t *testing.T) {
	in := parseEntries(t, `
		x f:q [a&b] 9 v1
		x g: [] -1 v2
		y f:q [] 1 w`)
	got := mustReadEntries(t, build(t, in, Env{}, "WholeRowIterator=1"), tablet.Range{}, tablet.Families{})
	want := []string{
		"\x00\x00\x00\x02" +
			"\x00\x00\x00\x01f" + "\x00\x00\x00\x01q" + "\x00\x00\x00\x03a&b" + "\x00\x00\x00\x00\x00\x00\x00\x09" + "\x00\x00\x00\x02v1" +
			"\x00\x00\x00\x01g" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00" + "\xff\xff\xff\xff\xff\xff\xff\xff" + "\x00\x00\x00\x02v2",
		"\x00\x00\x00\x01" +
			"\x00\x00\x00\x01f" + "\x00\x00\x00\x01q" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x01" + "\x00\x00\x00\x01w",
	}
	if len(got) != 2 {
		t.Fatalf("got\n%s", show(got))
	}
	var back []tablet.Entry
	for i, e := range got {
		own := tablet.RowKey(e.Key.Row())
		if string(e.Value) != want[i] || tablet.Compare(&e.Key, &own) != 0 {
			t.Errorf("row %d: %v = %q, want %q", i, e.Key, e.Value, want[i])
		}
		row, err := DecodeRow(e)
		if err != nil {
			t.Fatal(err)
		}
		back = append(back, row...)
	}
	if !entriesEqual(back, in) {
		t.Errorf("decoded\n%swant\n%s", show(back), show(in))
	}
}

// TestWholeRowWithinARow has ranges that start or end within a row: the part of the row in the range is encoded.
func TestWholeRowWithinARow(t *testing.T) {
	in := parseEntries(t, "x f:q [] 9 1\nx g:q [] 9 2\ny f:q [] 9 3\ny g:q [] 9 4\nz f:q [] 9 5")
	f := func(r tablet.Range, want ...int) {
		t.Helper()
		it := build(t, in, Env{}, "WholeRowIterator=1")
		var counts []int
		for _, e := range inRange(mustReadEntries(t, it, r, tablet.Families{}), r) {
			row, err := DecodeRow(e)
			if err != nil {
				t.Fatal(err)
			}
			counts = append(counts, len(row))
		}
		if len(counts) != len(want) {
			t.Fatalf("%v: rows of %v, want %v", r, counts, want)
		}
		for i := range want {
			if counts[i] != want[i] {
				t.Errorf("%v: rows of %v, want %v", r, counts, want)
			}
		}
	}
	f(tablet.Range{}, 2, 2, 1)
	f(tablet.Range{}.WithStart(in[1].Key), 1, 2, 1)
	f(tablet.Range{}.After(in[1].Key), 2, 1)
	f(tablet.Range{}.After(tablet.RowKey([]byte("x"))), 2, 1)
	f(tablet.Range{}.WithStart(tablet.RowKey([]byte("x"))), 2, 2, 1)
	f(tablet.Range{}.After(tablet.RowKey([]byte("w"))), 2, 2, 1)
	end, err := tablet.NewRange(nil, &tablet.Bound{Key: in[2].Key, Inclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	f(end, 2, 1)
	f(tablet.ExactRow([]byte("y")).After(tablet.RowKey([]byte("y"))))
}

func TestWholeRowTooLarge(t *testing.T) {
	in := parseEntries(t, "x f:q [] 9 1\ny f:q [] 9 "+strings.Repeat("v", 100)+"\ny g:q [] 9 2")
	f := func(size string, rows int, bad bool) {
		t.Helper()
		it := build(t, in, Env{}, "WholeRowIterator=1,maxBufferSize="+size)
		got, err := readEntries(it, tablet.Range{}, tablet.Families{})
		if (err != nil) != bad || len(got) != rows {
			t.Errorf("%s: %d rows, %v", size, len(got), err)
		}
		if _, ok := it.Top(); ok {
			t.Errorf("%s: a top at the end", size)
		}
		if bad && !strings.Contains(err.Error(), `row "y"`) && !strings.Contains(err.Error(), `row "x"`) {
			t.Errorf("%s: %v does not name the row", size, err)
		}
	}
	f("362", 1, true) // 3 bytes of key and 100 of value, 128 beside them; then 3 and 1 and 128
	f("362B", 1, true)
	f("363", 2, false)
	f("1k", 2, false)
	f("10", 0, true)
}

func TestEncodeRowRefusesMarkers(t *testing.T) {
	if _, err := EncodeRow(nil, parseEntries(t, "x f:q [] 9 delete")); !errors.Is(err, tablet.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}

// TestRowRoundTrip encodes and decodes rows.
func TestRowRoundTrip(t *testing.T) {
	field := rapid.SliceOfN(rapid.Byte(), 0, 5)
	rapid.Check(t, func(t *rapid.T) {
		row := field.Draw(t, "row")
		var in []tablet.Entry
		for range rapid.IntRange(0, 5).Draw(t, "entries") {
			in = append(in, tablet.Entry{Value: field.Draw(t, "value"), Key: tablet.NewKey(tablet.Fields{
				Row: row, Family: field.Draw(t, "family"), Qualifier: field.Draw(t, "qualifier"), Visibility: field.Draw(t, "label"), Timestamp: rapid.Int64().Draw(t, "ts"),
			})})
		}
		value, err := EncodeRow(nil, in)
		if err != nil {
			t.Fatal(err)
		}
		out, err := DecodeRow(tablet.Entry{Key: tablet.RowKey(row), Value: value})
		if err != nil || !entriesEqual(in, out) {
			t.Fatalf("%v, got\n%swant\n%s", err, show(out), show(in))
		}
		for n := range value {
			if _, err := DecodeRow(tablet.Entry{Value: value[:n]}); !errors.Is(err, tablet.ErrCorrupt) {
				t.Fatalf("the first %d of %d bytes: %v", n, len(value), err)
			}
		}
	})
}

// FuzzDecodeRow wants damage refused, and what is not refused to encode to the same bytes.
func FuzzDecodeRow(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x01\x00\x00\x00\x01f\x00\x00\x00\x01q\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01w"))
	f.Add([]byte("\x7f\xff\xff\xff"))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Add([]byte("\x00\x00\x00\x01\x7f\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, value []byte) {
		row, err := DecodeRow(tablet.Entry{Key: tablet.RowKey([]byte("r")), Value: value})
		if err != nil {
			if !errors.Is(err, tablet.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		again, err := EncodeRow(nil, row)
		if err != nil || string(again) != string(value) {
			t.Fatalf("%v, %q became %q", err, value, again)
		}
	})
}

// TestWholeRowMarkers has delete markers on both sides of the row's own key, as compactions meet them.
func TestWholeRowMarkers(t *testing.T) {
	in := parseEntries(t, `
		x : [] 9223372036854775807 delete
		x f:q [] 9 v
		x f:q [] 7 delete
		x g:q [] 7 delete
		x g:r [] 7 w
		y f:q [] 7 delete`)
	row, err := EncodeRow(nil, []tablet.Entry{in[1], in[4]})
	if err != nil {
		t.Fatal(err)
	}
	want := []tablet.Entry{in[0], {Key: tablet.RowKey([]byte("x")), Value: row}, in[2], in[3], in[5]}
	for _, scope := range []Scope{Minor, Major} {
		checkTearDown(t, want, func() Iterator { return build(t, in, Env{Scope: scope}, "WholeRowIterator=1") }, tablet.Families{})
	}
}

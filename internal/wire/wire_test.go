package wire

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// vectors is the part of the shared vector file that speaks of this package.
type vectors struct {
	HVLong    []vector `json:"hadoop_vlong"`
	HVBad     []vector `json:"hadoop_vlong_bad"`
	HVLonger  []vector `json:"hadoop_vlong_noncanonical"`
	TVLong    []vector `json:"tfile_vlong"`
	TVBad     []vector `json:"tfile_vlong_bad"`
	JUTF      []vector `json:"java_utf"`
	TFileText []vector `json:"tfile_string"`
}

type vector struct {
	Value  string  `json:"value"`
	String *string `json:"string"`
	Hex    string  `json:"hex"`
}

func (v vector) number(t *testing.T) int64 {
	t.Helper()
	n, err := strconv.ParseInt(v.Value, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (v vector) bytes(t *testing.T) []byte {
	t.Helper()
	b, err := hex.DecodeString(v.Hex)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func loadVectors(t *testing.T) vectors {
	t.Helper()
	text, err := os.ReadFile("../../tablet/rfile/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.HVLong) < 20 || len(v.TVLong) < 20 || len(v.HVBad) == 0 || len(v.TVBad) == 0 || len(v.HVLonger) == 0 ||
		len(v.JUTF) == 0 || len(v.TFileText) == 0 {
		t.Fatal("vectors are missing")
	}
	return v
}

type decodeLong func([]byte) (int64, int, error)

func checkLong(t *testing.T, name string, decode decodeLong, in []byte, want int64) {
	t.Helper()
	// Bytes behind the value must not be looked at.
	got, n, err := decode(append(in[:len(in):len(in)], 0xff))
	if err != nil || got != want || n != len(in) {
		t.Errorf("%s(%x) = %d, %d, %v; want %d, %d", name, in, got, n, err, want, len(in))
	}
	for cut := range in {
		if _, _, err := decode(in[:cut]); !errors.Is(err, ErrShort) {
			t.Errorf("%s(%x) = %v, want ErrShort", name, in[:cut], err)
		}
	}
}

func TestLongVectors(t *testing.T) {
	v := loadVectors(t)
	for _, x := range v.HVLong {
		checkLong(t, "HVLong", HVLong, x.bytes(t), x.number(t))
		if got := hex.EncodeToString(AppendHVLong(nil, x.number(t))); got != x.Hex {
			t.Errorf("AppendHVLong(%s) = %s, want %s", x.Value, got, x.Hex)
		}
	}
	for _, x := range v.HVLonger {
		checkLong(t, "HVLong", HVLong, x.bytes(t), x.number(t))
	}
	for _, x := range v.TVLong {
		checkLong(t, "TVLong", TVLong, x.bytes(t), x.number(t))
		if got := hex.EncodeToString(AppendTVLong(nil, x.number(t))); got != x.Hex {
			t.Errorf("AppendTVLong(%s) = %s, want %s", x.Value, got, x.Hex)
		}
	}
	for _, x := range v.HVBad {
		if got, _, err := HVLong(x.bytes(t)); err == nil {
			t.Errorf("HVLong(%s) = %d, want an error", x.Hex, got)
		}
	}
	for _, x := range v.TVBad {
		if got, _, err := TVLong(x.bytes(t)); err == nil {
			t.Errorf("TVLong(%s) = %d, want an error", x.Hex, got)
		}
	}
}

func TestInts(t *testing.T) {
	f := func(v int64, fits bool) {
		t.Helper()
		h, hn, herr := HVInt(AppendHVLong(nil, v))
		n, nn, nerr := TVInt(AppendTVLong(nil, v))
		if !fits {
			if !errors.Is(herr, ErrMalformed) || !errors.Is(nerr, ErrMalformed) {
				t.Errorf("%d: %v, %v; want ErrMalformed", v, herr, nerr)
			}
			return
		}
		if herr != nil || int64(h) != v || hn != HVLongSize(v) {
			t.Errorf("HVInt of %d = %d, %d, %v", v, h, hn, herr)
		}
		if nerr != nil || int64(n) != v || nn == 0 {
			t.Errorf("TVInt of %d = %d, %d, %v", v, n, nn, nerr)
		}
	}
	f(0, true)
	f(-33, true)
	f(128, true)
	f(1<<31-1, true)
	f(-1<<31, true)
	f(1<<31, false)
	f(-1<<31-1, false)
	f(1<<63-1, false)
}

func TestOneByteForms(t *testing.T) {
	f := func(in string, hv, tv bool) {
		t.Helper()
		b := []byte(in)
		v, ok := HVLong1(b)
		if ok != hv || ok && v != int64(int8(b[0])) {
			t.Errorf("HVLong1(%x) = %d, %v", in, v, ok)
		}
		v, ok = TVLong1(b)
		if ok != tv || ok && v != int64(int8(b[0])) {
			t.Errorf("TVLong1(%x) = %d, %v", in, v, ok)
		}
	}
	f("", false, false)
	f("\x00", true, true)
	f("\x7f", true, true)
	f("\x8f\x05", false, false)
	f("\x90", true, false)
	f("\xdf\x00", true, false)
	f("\xe0", true, true)
	f("\xff", true, true)
}

// TestLongsRoundTrip draws values of every magnitude, so that each length of both encodings occurs.
func TestLongsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64().Draw(t, "v") >> rapid.IntRange(0, 63).Draw(t, "shift")
		h := AppendHVLong(nil, v)
		if got, n, err := HVLong(h); err != nil || got != v || n != len(h) || n != HVLongSize(v) || n > MaxHVLongBytes {
			t.Fatalf("HVLong(%x) = %d, %d, %v; want %d; HVLongSize %d", h, got, n, err, v, HVLongSize(v))
		}
		b := AppendTVLong(nil, v)
		if got, n, err := TVLong(b); err != nil || got != v || n != len(b) || n > MaxTVLongBytes {
			t.Fatalf("TVLong(%x) = %d, %d, %v; want %d", b, got, n, err, v)
		}
	})
}

func TestStringVectors(t *testing.T) {
	v := loadVectors(t)
	for _, x := range v.JUTF {
		checkString(t, "JUTF", JUTF, x)
		if got, err := AppendJUTF(nil, *x.String); err != nil || hex.EncodeToString(got) != x.Hex {
			t.Errorf("AppendJUTF(%q) = %x, %v; want %s", *x.String, got, err, x.Hex)
		}
	}
	for _, x := range v.TFileText {
		if x.String == nil {
			if _, _, err := TString(x.bytes(t)); !errors.Is(err, ErrMalformed) {
				t.Errorf("TString of null: %v, want ErrMalformed", err)
			}
			continue
		}
		checkString(t, "TString", TString, x)
		if got := AppendTString(nil, *x.String); hex.EncodeToString(got) != x.Hex {
			t.Errorf("AppendTString(%q) = %x, want %s", *x.String, got, x.Hex)
		}
	}
}

func checkString(t *testing.T, name string, decode func([]byte) (string, int, error), x vector) {
	t.Helper()
	in := x.bytes(t)
	got, n, err := decode(append(in[:len(in):len(in)], 'x'))
	if err != nil || got != *x.String || n != len(in) {
		t.Errorf("%s(%s) = %q, %d, %v; want %q", name, x.Hex, got, n, err, *x.String)
	}
	for cut := range in {
		if _, _, err := decode(in[:cut]); !errors.Is(err, ErrShort) {
			t.Errorf("%s(%x) = %v, want ErrShort", name, in[:cut], err)
		}
	}
}

func TestJUTFIsStrict(t *testing.T) {
	f := func(text string) {
		t.Helper()
		in := append([]byte{0, byte(len(text))}, text...)
		if got, _, err := JUTF(in); !errors.Is(err, ErrMalformed) {
			t.Errorf("JUTF(%x) = %q, %v; want ErrMalformed", text, got, err)
		}
	}
	f("a\x00b")                   // a bare zero
	f("\xc1\x81")                 // two bytes where one does
	f("\xe0\x82\x80")             // three where two do
	f("\xf0\x9f\x98\x80")         // the four-byte form
	f("\xc2")                     // cut short
	f("\xc2a")                    // no tail byte
	f("\xe2\x82")                 // cut short
	f("\x80")                     // a tail byte alone
	f("\xed\xa0\xbd")             // half a pair
	f("\xed\xa0\xbda")            // a high half and no low one
	f("\xed\xb8\x80\xed\xa0\xbd") // the halves exchanged
}

func TestAppendJUTFRefuses(t *testing.T) {
	f := func(s string) {
		t.Helper()
		if got, err := AppendJUTF([]byte("x"), s); !errors.Is(err, ErrMalformed) || string(got) != "x" {
			t.Errorf("AppendJUTF of %d bytes: %d bytes, %v; want ErrMalformed", len(s), len(got), err)
		}
	}
	f("\xff")
	f(strings.Repeat("a", 65536))
	f(strings.Repeat("\x00", 32768)) // 65,536 once encoded
	if got, err := AppendJUTF(nil, strings.Repeat("\x00", 32767)+"a"); err != nil || len(got) != 2+65535 {
		t.Errorf("the longest string: %d bytes, %v", len(got), err)
	}
}

func FuzzWire(f *testing.F) {
	for _, s := range []string{"", "\x00", "\x8f\x80", "\x87\x7f", "\x80\xff", "\xcd\x2c", "\x83\xf7\xff\xff\xff", "\x00\x03\xc0\x80a", "\x02gz", "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		check := func(n int, err error) bool {
			if err != nil && !errors.Is(err, ErrShort) && !errors.Is(err, ErrMalformed) {
				t.Fatalf("%x: an error of no kind: %v", b, err)
			}
			if n < 0 || n > len(b) || err == nil && n == 0 {
				t.Fatalf("%x: %d bytes used", b, n)
			}
			return err == nil
		}
		if v, n, err := HVLong(b); check(n, err) {
			if again, _, err := HVLong(AppendHVLong(nil, v)); err != nil || again != v {
				t.Fatalf("HVLong(%x): %d, then %d, %v", b, v, again, err)
			}
		}
		if v, n, err := TVLong(b); check(n, err) {
			if again, _, err := TVLong(AppendTVLong(nil, v)); err != nil || again != v {
				t.Fatalf("TVLong(%x): %d, then %d, %v", b, v, again, err)
			}
		}
		if s, n, err := JUTF(b); check(n, err) {
			again, err := AppendJUTF(nil, s)
			if err != nil || !utf8.ValidString(s) || string(again) != string(b[:n]) {
				t.Fatalf("JUTF(%x): %q, then %x, %v", b, s, again, err)
			}
		}
		_, n, err := TString(b)
		check(n, err)
		_, n, err = HVInt(b)
		check(n, err)
		_, n, err = TVInt(b)
		check(n, err)
	})
}

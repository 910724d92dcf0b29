package iter

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"millrace/tablet"
)

// accepts says which of some entries a filter keeps, by number.
func accepts(t *testing.T, in []tablet.Entry, text string) string {
	t.Helper()
	for i := range in {
		in[i].Value = append(in[i].Value[:len(in[i].Value):len(in[i].Value)], fmt.Sprintf("#%d", i)...)
	}
	var kept []string
	for _, e := range mustReadEntries(t, build(t, in, sampleEnv(Scan), text), tablet.Range{}, tablet.Families{}) {
		kept = append(kept, string(e.Value[strings.LastIndexByte(string(e.Value), '#')+1:]))
	}
	return strings.Join(kept, " ")
}

// entriesAt makes an entry of each timestamp, in rows of rising names.
func entriesAt(timestamps ...int64) (out []tablet.Entry) {
	for i, ts := range timestamps {
		out = append(out, tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: fmt.Appendf(nil, "%d", i), Family: []byte("f"), Timestamp: ts})})
	}
	return out
}

// TestTimestampFilterForms reads dates as java.text.SimpleDateFormat does with the pattern yyyyMMddHHmmssz.
func TestTimestampFilterForms(t *testing.T) {
	base := time.Date(1999, 1, 1, 0, 0, 10, 0, time.UTC).UnixMilli()
	in := func() []tablet.Entry {
		return entriesAt(math.MinInt64, base, base+1000, base+2000, base+21_000, base+21_001, 253402300800001, math.MaxInt64)
	}
	f := func(options, want string) {
		t.Helper()
		if got := accepts(t, in(), "TimestampFilter=1,"+options); got != want {
			t.Errorf("%s: kept %s, want %s", options, got, want)
		}
	}
	for _, start := range []string{"19990101000011GMT", "19990101010011GMT+01:00", "19990101010011GMT+1:00", "19981231190011EST", "19981231190011-0500",
		"19990101053011GMT+5:30", "19990101000011UTC", fmt.Sprintf("LONG%d", base+1000)} {
		f("start="+start+",end=19990101000031GMT", "2 3 4")
		f("startInclusive=false,start="+start+",end=19990101000031GMT", "3 4")
		f("endInclusive=false,start="+start+",end=19990101000031GMT", "2 3")
		f("start="+start, "2 3 4 5 6 7")
		f("end="+start, "0 1 2")
		f("end="+start+",negate=true", "3 4 5 6 7")
	}
	f("end=LONG253402300800001", "0 1 2 3 4 5 6")
	f("start=LONG-9223372036854775808,startInclusive=false", "1 2 3 4 5 6 7")
	f("start=LONG9223372036854775807", "7")
}

func TestAgeOffByTheClock(t *testing.T) {
	in := func() []tablet.Entry {
		return entriesAt(noon+1, noon, noon-1, noon-1000, noon-1001, 0, -1, math.MinInt64, math.MaxInt64)
	}
	f := func(text, want string) {
		t.Helper()
		if got := accepts(t, in(), text); got != want {
			t.Errorf("%s: kept %s, want %s", text, got, want)
		}
	}
	f("AgeOffFilter=1,ttl=0", "0 1 8")
	f("AgeOffFilter=1,ttl=1000", "0 1 2 3 8")
	f("AgeOffFilter=1,ttl=1000,negate=true", "4 5 6 7")
	f("AgeOffFilter=1,ttl=1,currentTime=0", "0 1 2 3 4 5 6 8")
	f("AgeOffFilter=1,ttl=9223372036854775807,currentTime=-1", "0 1 2 3 4 5 6 7 8")
	f("AgeOffFilter=1,ttl=0,currentTime=-9223372036854775808", "0 1 2 3 4 5 6 7 8")
	f("ColumnAgeOffFilter=1,f=1000", "0 1 2 3 8")
	f("ColumnAgeOffFilter=1,%66= 1000 ", "0 1 2 3 8")
	f("ColumnAgeOffFilter=1,f:q=1000", "0 1 2 3 4 5 6 7 8")
	f("ColumnAgeOffFilter=1,f:=1000,negate=true", "4 5 6 7")
	for _, text := range []string{"AgeOffFilter=1,ttl=0", "ColumnAgeOffFilter=1,f=0"} {
		s, err := ParseSetting(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Build(entriesOver(), []Setting{s}, Env{}); !errors.Is(err, tablet.ErrUsage) || !strings.Contains(err.Error(), "clock") {
			t.Errorf("%s without a clock: %v", text, err)
		}
	}
}

// TestRegExFilterMatches has Accumulo's own examples among others.
func TestRegExFilterMatches(t *testing.T) {
	in := `
		boo1 yap:20080202 [] 1 cat
		boo1 yup:20080201 [] 1 dog
		boo2 yip:20080203 [] 1 hamster`
	f := func(options, want string) {
		t.Helper()
		if got := accepts(t, parseEntries(t, in), "RegExFilter=1,"+options); got != want {
			t.Errorf("%s: kept %q, want %q", options, got, want)
		}
	}
	f("rowRegex=.*2", "2")
	f("valueRegex=amst,matchSubstring=true", "2")
	f("colfRegex=ya.*", "0")
	f("colqRegex=.*01", "1")
	f("valueRegex=.*at.*", "0")
	f("valueRegex=.*ap.*", "")
	f("colfRegex=ya.*,valueRegex=.*at.*", "0")
	f("colfRegex=ya.*,valueRegex=.*ap.*", "")
	f("colfRegex=ya.*,valueRegex=.*ap.*,orFields=true", "0")
	f("rowRegex=.*1,valueRegex=.*am.*,orFields=true", "0 1 2")
	f("rowRegex=boo", "")
	f("rowRegex=boo|boo1", "0 1")
	f("rowRegex=b|o,matchSubstring=true", "0 1 2")
	f("rowRegex=(?i)BOO2", "2")
	f(`rowRegex=\Qboo2`, "2")
	f("rowRegex=^boo2$,negate=true", "0 1")
	f("colqRegex=[0-9]{6}0[12]", "0 1")
}

func TestRegExFilterEncodings(t *testing.T) {
	word := "gr\u00fc\u00df\U0001f600"
	utf16be := func(units []uint16) (out []byte) {
		for _, u := range units {
			out = append(out, byte(u>>8), byte(u))
		}
		return out
	}
	swap := func(in []byte) []byte {
		out := slices.Clone(in)
		for i := 0; i+1 < len(out); i += 2 {
			out[i], out[i+1] = out[i+1], out[i]
		}
		return out
	}
	big := utf16be(utf16.Encode([]rune(word)))
	f := func(encoding string, row []byte, pattern string, want bool) {
		t.Helper()
		in := []tablet.Entry{{Key: tablet.NewKey(tablet.Fields{Row: row})}}
		if got := accepts(t, in, "RegExFilter=1,encoding="+encoding+",rowRegex="+pattern) == "0"; got != want {
			t.Errorf("%s: %q matches %q: %v", encoding, row, pattern, got)
		}
	}
	f("", []byte(word), word, true)
	f("UTF-8", []byte(word), "gr..\U0001f600", true)
	f("utf-8", []byte("\xff"), "\ufffd", true)
	f("ISO-8859-1", []byte("gr\xfc\xdf"), "gr\u00fc\u00df", true)
	f("iso-8859-1", []byte("\xff"), ".", true)
	f("US-ASCII", []byte("gr\xfc"), "gr\ufffd", true)
	f("UTF-16BE", big, word, true)
	f("UTF-16LE", swap(big), word, true)
	f("UTF-16LE", big, word, false)
	f("UTF-16", big, word, true)
	f("UTF-16", append([]byte{0xfe, 0xff}, big...), word, true)
	f("UTF-16", append([]byte{0xff, 0xfe}, swap(big)...), word, true)
	f("UTF-16BE", []byte{0xd8, 0x3d, 0x00}, "\ufffd\ufffd", true) // half a pair, half a unit
	f("UTF-16BE", []byte{0xd8, 0x3d, 0x00, 'a'}, "\ufffda", true)
}

func TestSummingArrayTypes(t *testing.T) {
	f := func(options string, values []string, want string) {
		t.Helper()
		var in []tablet.Entry
		for i, v := range values {
			in = append(in, tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: []byte("x"), Timestamp: int64(-i)}), Value: []byte(v)})
		}
		got, err := readEntries(build(t, in, Env{}, "s=1,class=SummingArrayCombiner,all=true,"+options), tablet.Range{}, tablet.Families{})
		if bad, ok := strings.CutPrefix(want, "error "); ok {
			if err == nil || !strings.Contains(err.Error(), bad) {
				t.Errorf("%s %q: %v, want %s", options, values, err, bad)
			}
			return
		}
		if err != nil || len(got) != 1 || string(got[0].Value) != want {
			t.Errorf("%s %q: %v, got\n%swant %q", options, values, err, show(got), want)
		}
	}
	most := fmt.Sprint(math.MaxInt64)
	f("type=STRING", []string{"1,2,3", "4,5", ""}, "5,7,3")
	f("type=STRING", []string{"4,5", "1,2,3"}, "5,7,3")
	f("type=STRING", []string{most + ",1", "1,-1"}, most+",0")
	f("type=STRING", []string{"1,,2"}, "1,0,2")
	f("type=STRING", []string{",,2,,"}, "0,0,2")
	f("type=STRING", []string{",,"}, "")
	f("type=STRING", []string{""}, "0")
	f("type=STRING", []string{"1, 2"}, `error " 2"`)
	f("type=STRING,lossy=true", []string{"1,2", "3,x"}, "1,2")
	f("type=STRING,lossy=true", []string{"x"}, "")
	f("type=VARLEN", []string{"\x02\x01\x7f", "\x03\x01\x01\x05"}, "\x03\x02\x8f\x80\x05")
	f("type=VARLEN,lossy=true", []string{"\x02\x01"}, "\x00")
	f("type=VARLEN", []string{"\x02\x01"}, "error number 1 of 2")
	f("type=VARLEN", []string{"\x01\x01\x01"}, "error 1 bytes behind its 1 numbers")
	f("type=VARLEN", []string{"\xff"}, "error does not start with a count")
	f("type=VARLEN", []string{""}, "error does not start with a count")
	f("type=VARLEN", []string{"\x8c\x7f\xff\xff\xff\x01"}, "error number 1 of 2147483647")
	f("type=FIXEDLEN", []string{"\x01\x00\x00\x00\x00\x00\x00\x01\x00", "\x02" + strings.Repeat("\xff", 16)},
		"\x02\x00\x00\x00\x00\x00\x00\x00\xff"+strings.Repeat("\xff", 8))
	f("type=FIXEDLEN", []string{"\x01\x00"}, "error number 0 of 1")
}

func TestMostAndLeastTypes(t *testing.T) {
	f := func(class, typ string, values []string, want string) {
		t.Helper()
		var in []tablet.Entry
		for i, v := range values {
			in = append(in, tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: []byte("x"), Timestamp: int64(-i)}), Value: []byte(v)})
		}
		got := mustReadEntries(t, build(t, in, Env{}, class+"=1,all=true,lossy=true,type="+typ), tablet.Range{}, tablet.Families{})
		if len(got) != 1 || string(got[0].Value) != want || got[0].Key.Timestamp() != 0 {
			t.Errorf("%s %s %q: got\n%swant %q", class, typ, values, show(got), want)
		}
	}
	f("MaxCombiner", "STRING", []string{"-5", "x", "-3", "-9"}, "-3")
	f("MinCombiner", "STRING", []string{"5", "3", "x", "9"}, "3")
	f("MaxCombiner", "STRING", []string{"x"}, fmt.Sprint(math.MinInt64))
	f("MinCombiner", "STRING", []string{"x"}, fmt.Sprint(math.MaxInt64))
	f("MaxCombiner", "VARLEN", []string{"\x01", "\x8f\x80"}, "\x8f\x80")
	f("MinCombiner", "VARLEN", []string{"\x01", "\xff"}, "\xff")
	f("MaxCombiner", "FIXEDLEN", []string{strings.Repeat("\xff", 8), strings.Repeat("\x00", 8)}, strings.Repeat("\x00", 8))
	f("MinCombiner", "FIXEDLEN", []string{strings.Repeat("\xff", 8), strings.Repeat("\x00", 8)}, strings.Repeat("\xff", 8))
}

// TestOptionsOfClasses wants wrong values refused by name and value.
func TestOptionsOfClasses(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		s, err := ParseSetting(text)
		if err == nil {
			_, err = Build(entriesOver(), []Setting{s}, sampleEnv(Scan))
		}
		if !errors.Is(err, tablet.ErrUsage) {
			t.Errorf("%s: %v", text, err)
			return
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not tell %q", text, err, w)
			}
		}
	}
	f("org.apache.accumulo.core.iterators.user.AgeOfFilter=1", `nearest is "AgeOffFilter"`)
	f("AgeOffFilter=1,tl=5", `tl="5"`, `"ttl"`)
	f("AgeOffFilter=1,ttl=-5", `ttl="-5"`)
	f("AgeOffFilter=1,ttl=5,currentTime=now", `currentTime="now"`)
	f("AgeOffFilter=1,ttl=5,negate=maybe", `negate="maybe"`)
	f("ColumnAgeOffFilter=1", "no column")
	f("ColumnAgeOffFilter=1,negate=true", "no column")
	f("ColumnAgeOffFilter=1,f=5m", `f="5m"`)
	f("ColumnAgeOffFilter=1,f:q:r=5", `f:q:r="5"`)
	f("ColumnAgeOffFilter=1,f%=5", `f%="5"`)
	f("TimestampFilter=1", "start", "end")
	f("TimestampFilter=1,start=19990101000011", `start="19990101000011"`)
	f("TimestampFilter=1,start=19991301000011GMT", `start="19991301000011GMT"`)
	f("TimestampFilter=1,start=19990101000011GMT+25:00", "GMT+25:00")
	f("TimestampFilter=1,start=19990101000011GMT1:00", "GMT1:00")
	f("TimestampFilter=1,start=19990101000011Mars", "Mars")
	f("TimestampFilter=1,end=LONG", `end="LONG"`)
	f("TimestampFilter=1,start=LONG2,end=LONG1", `end="LONG1"`)
	f("TimestampFilter=1,start=LONG1,end=LONG1,endInclusive=false", `end="LONG1"`)
	f("RegExFilter=1", "rowRegex", "valueRegex")
	f("RegExFilter=1,rowRegex=a(", `rowRegex="a("`)
	f("RegExFilter=1,rowRegex=a)|(b", `rowRegex="a)|(b"`)
	f("RegExFilter=1,valueRegex=(?=a)", `valueRegex="(?=a)"`)
	f("RegExFilter=1,rowRegex=a,encoding=UTF8", `encoding="UTF8"`, `"UTF-8"`)
	f("GrepIterator=1", "term")
	f("GrepIterator=1,term=", "term")
	f("GrepIterator=1,term=a,matchColFam=true", "matchColFam", `"matchRow"`)
	f("ColumnSliceFilter=1", "startBound", "endBound")
	f("ColumnSliceFilter=1,startBound=b,endBound=a", `endBound="a"`)
	f("ColumnSliceFilter=1,startBound=a,endBound=a", `endBound="a"`)
	f("ReqVisFilter=1,x=1", `x="1"`, `"negate"`)
	f("WholeRowIterator=1,maxBufferSize=1T", `maxBufferSize="1T"`)
	f("WholeRowIterator=1,maxBufferSize=-1", `maxBufferSize="-1"`)
	f("WholeRowIterator=1,maxBufferSize=8589934592G", `maxBufferSize="8589934592G"`)
	f("FirstEntryInRowIterator=1,scansBeforeSeek=-1", `scansBeforeSeek="-1"`)
	f("SummingArrayCombiner=1,all=true,type=LIST", `type="LIST"`)
	f("MaxCombiner=1,columns=a:b:c,type=STRING", "a:b:c")
	f("MaxCombiner=1,columns=:,type=STRING", `columns=":"`)
}

// TestQualifiedClass builds a class that is named with its package, as in Accumulo's settings.
func TestQualifiedClass(t *testing.T) {
	for _, class := range []string{"ReqVisFilter", "org.apache.accumulo.core.iterators.user.ReqVisFilter"} {
		it, err := Build(entriesOver(FromEntries(parseEntries(t, "x f:q [] 9 v\ny f:q [a] 9 v"), 1)), []Setting{{Name: "r", Class: class, Priority: 1}}, Env{})
		if err != nil {
			t.Fatal(err)
		}
		if got := mustReadEntries(t, it, tablet.Range{}, tablet.Families{}); len(got) != 1 {
			t.Errorf("%s: got\n%s", class, show(got))
		}
	}
	const versions = "org.apache.accumulo.core.iterators.user.VersioningIterator"
	most, rest, err := FuseVersions([]Setting{{Name: "vers", Class: versions, Priority: 20, Options: map[string]string{"maxVersions": "3"}}})
	if most != 3 || len(rest) != 0 || err != nil {
		t.Errorf("versions %d, rest %v, %v", most, rest, err)
	}
	if d, ok := Describe(versions); !ok || d.Class != "VersioningIterator" {
		t.Errorf("described as %+v", d)
	}
	if _, ok := Describe("no such class"); ok {
		t.Error("a class of nobody is described")
	}
}

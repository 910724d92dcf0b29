package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"millrace/tablet"
)

// TestEntryJSON brings any entry through the line that cat prints.
func TestEntryJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		field := rapid.SliceOfN(rapid.Byte(), 0, 20)
		k := tablet.NewKey(tablet.Fields{Row: field.Draw(t, "row"), Family: field.Draw(t, "family"), Qualifier: field.Draw(t, "qualifier"),
			Visibility: field.Draw(t, "visibility"), Timestamp: rapid.Int64().Draw(t, "ts"), Deleted: rapid.Bool().Draw(t, "deleted")})
		value := field.Draw(t, "value")
		line := appendEntryJSON(nil, &k, value, 3, false)
		var e jsonEntry
		if err := e.parse(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			t.Fatal(err)
		}
		if e.key.String() != k.String() || tablet.Compare(&e.key, &k) != 0 || !bytes.Equal(e.value, value) {
			t.Fatalf("%s became %v %q", line, e.key, e.value)
		}
		if !json.Valid(line) {
			t.Fatalf("not JSON: %s", line)
		}
	})
}

// FuzzEntryJSON holds the parser against encoding/json: what that refuses it refuses, and what it takes that reads alike.
func FuzzEntryJSON(f *testing.F) {
	for _, seed := range []string{
		`{"row":"72","cf":"66","cq":"71","cv":"","ts":"5","del":false,"val":"76","g":0}`,
		` { "ts" : -1 , "val":"ff00", "row":"61" } `, `{"row":"7\u0031","ts":"1"}`, `{}`, `{"row":"61","ts":1e3}`, `{"row":"","ts":"1"}x`,
		`{"row":"6","ts":"1"}`, `{"row":null,"ts":"1"}`, `{"row":"61","ts":"1",}`, `{"row":"61" "ts":"1"}`, `{"a":{"b":[1]}}`, "{\"row\":\"\n\"}", `"`, `{"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.IndexByte(line, '\n') >= 0 {
			return // never in a line
		}
		var e jsonEntry
		if err := e.parse(bytes.Clone(line)); err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		var fields map[string]any
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&fields); err != nil {
			t.Fatalf("%q: accepted, but %v", line, err)
		}
		if _, err := d.Token(); err != io.EOF {
			t.Fatalf("%q: accepted with more behind", line)
		}
		for name, hex := range map[string][]byte{"row": e.key.Row(), "cf": e.key.Family(), "cq": e.key.Qualifier(), "cv": e.key.Visibility(), "val": e.value} {
			want, _ := fields[name].(string)
			if got := hexOf(hex); got != strings.ToLower(want) {
				t.Fatalf("%q: %s is %s, want %s", line, name, got, want)
			}
		}
	})
}

func hexOf(b []byte) string { return newKeyDocument(new(tablet.NewKey(tablet.Fields{Row: b}))).Row }

// TestLines reads lines of all lengths, with and without an end, up to a limit.
func TestLines(t *testing.T) {
	f := func(input string, limit int, want ...string) {
		t.Helper()
		l, err := newLineReader("test", strings.NewReader(input), limit)
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range want {
			line, err := l.next()
			if err != nil || string(line) != w {
				t.Fatalf("line %d of %.20q is %.20q, %v, want %.20q", i, input, line, err, w)
			}
		}
		if line, err := l.next(); err != io.EOF {
			t.Fatalf("%.20q: after the end %.20q, %v", input, line, err)
		}
	}
	long := strings.Repeat("x", 1<<20)
	f("", 10)
	f("\n \r\n", 10)
	f("a\nb", 10, "a", "b")
	f("a\r\n\nb\n", 10, "a\r", "b")
	f(long+"\n"+long, 2<<20, long, long)
	f(long[:256<<10]+"\nz", 1<<20, long[:256<<10], "z")
	l, err := newLineReader("test", strings.NewReader("ok\n"+long), 1<<19)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.next(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.next(); err == nil || !strings.Contains(err.Error(), "test: line 2: longer than 524288 bytes") {
		t.Errorf("a line too long: %v", err)
	}
}

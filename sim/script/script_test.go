package script

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/tablet"
)

// wrap puts operations into a script.
func wrap(ops string) string { return `{"format":"kv-ops/1","ops":[` + ops + `]}` }

func TestParseIsExact(t *testing.T) {
	f := func(text, op, want string) {
		t.Helper()
		_, err := Parse("x.json", []byte(text))
		var wrong *OperationError
		if !errors.As(err, &wrong) || !errors.Is(err, tablet.ErrUsage) {
			t.Errorf("%s: %v", text, err)
			return
		}
		if wrong.Op != op || !strings.Contains(wrong.Err.Error(), want) {
			t.Errorf("%s: operation %q, %v; want operation %q, %s", text, wrong.Op, wrong.Err, op, want)
		}
	}
	f(`[]`, "", "not an object")
	f(`{"ops":[]}`, "", `"format" is missing`)
	f(`{"format":"kv-ops/2","ops":[]}`, "", "not kv-ops/1")
	f(`{"format":"kv-ops/1"}`, "", `"ops" is missing`)
	f(`{"format":"kv-ops/1","ops":{}}`, "", "not a list")
	f(`{"format":"kv-ops/1","ops":[],"opss":[]}`, "", `unknown field "opss"; the nearest known one is "ops"`)
	f(`{"format":"kv-ops/1","ops":[],"table":{"maxVersion":1}}`, "", `unknown field "maxVersion"; the nearest known one is "maxVersions"`)
	f(`{"format":"kv-ops/1","ops":[],"table":{"time":"lunar"}}`, "", `"lunar", not one of`)
	f(`{"format":"kv-ops/1","ops":[],"hints":{"cache":1}}`, "", `unknown field "cache"`)
	f(wrap(`{"op":"flush"},{"op":"flusch"}`), "1", `unknown operation "flusch"; the nearest known one is "flush"`)
	f(wrap(`{"flush":true}`), "0", `"op" is missing`)
	f(wrap(`{"op":"flush"},7`), "1", "not an object")
	f(wrap(`{"op":"put"}`), "0", `"row" is missing`)
	f(wrap(`{"op":"put","row":"r","val":"x"}`), "0", `unknown field "val"; the nearest known one is "value"`)
	f(wrap(`{"op":"put","row":"r","Value":"x"}`), "0", `unknown field "Value"`)
	f(wrap(`{"op":"put","row":"r","row":"s"}`), "0", "stands twice")
	f(wrap(`{"op":"put","row":"r","ts":1.5}`), "0", "not a whole number")
	f(wrap(`{"op":"put","row":"r","ts":9223372036854775808}`), "0", "not a whole number of 64 bits")
	f(wrap(`{"op":"put","row":"r","ts":"i"}`), "0", "not a whole number")
	f(wrap(`{"op":"put","row":"r","expect":"maybe"}`), "0", "not one of ok, error")
	f(wrap(`{"op":"put","row":["r"]}`), "0", "not an object")
	f(wrap(`{"op":"put","row":{"hex":"0"}}`), "0", "not hexadecimal")
	f(wrap(`{"op":"put","row":{"hex":"00","x":1}}`), "0", `unknown field "x"`)
	f(wrap(`{"op":"put","row":{"rep":"r"}}`), "0", `"times" is missing`)
	f(wrap(`{"op":"put","row":{"rep":{"rep":"0123456789","times":1000000},"times":1000000}}`), "0", "longer than")
	f(wrap(`{"op":"delete","row":"r","value":"x"}`), "0", `unknown field "value"`)
	f(wrap(`{"op":"mutate","row":"r","updates":[{},{"q":"x"}]}`), "0", "update 0.1")
	f(wrap(`{"op":"batch","mutations":[{"row":"r","updates":[]},{"row":"r"}]}`), "0.1", `"updates" is missing`)
	f(wrap(`{"op":"fill","from":0,"to":1,"step":0,"row":"r"}`), "0", "is 0")
	f(wrap(`{"op":"compact","mode":"partial"}`), "0", `"files" is missing`)
	f(wrap(`{"op":"compact","files":"oldest:2"}`), "0", `unknown field "files"`)
	f(wrap(`{"op":"compact","mode":"partial","files":"eldest:2"}`), "0", "neither oldest:N nor newest:N")
	f(wrap(`{"op":"compact","mode":"partial","files":[-1]}`), "0", "no index of a file")
	f(wrap(`{"op":"config"}`), "0", `"maxVersions" is missing`)
	f(wrap(`{"op":"scan"}`), "0", "nothing is expected")
	f(wrap(`{"op":"scan","expect":[["r","","","",1]]}`), "0", "six parts")
	f(wrap(`{"op":"scan","expect":[],"range":{"start":[]}}`), "0", "0 parts")
	f(wrap(`{"op":"scan","expect":[],"range":{"start":["r"],"inclusive":true}}`), "0", `unknown field "inclusive"`)
	f(wrap(`{"op":"scan","expect":[],"columns":[["f","q","x"]]}`), "0", "neither [cf] nor [cf, cq]")
	f(wrap(`{"op":"scan","expect":[],"auths":[""]}`), "0", "must not be empty")
	f(wrap(`{"op":"scan","expect":[],"pages":[0]}`), "0", "no size of a page")
	f(wrap(`{"op":"iter","steps":[{"seek":{}},{"goto":{}}]}`), "0.1", `"next" is missing`)
	f(wrap(`{"op":"open"}`), "0", `"id" is missing`)
	f(wrap(`{"op":"read","id":"a"}`), "0", "nothing is expected")
	f(wrap(`{"op":"files"}`), "0", "neither")
	f(wrap(`{"op":"parallel","threads":[[{"op":"flush"}]]}`), "0.0.0", "only writes")
	f(wrap(`{"op":"parallel","threads":[[{"op":"put","row":"r"}],[{"op":"put","row":"r","x":1}]]}`), "0.1.0", `unknown field "x"`)
	f(wrap(`{"op":"fault","kind":"eio","on":"write","match":"everything"}`), "0", "not one of data, wal")
	f(wrap(`{"op":"fault","kind":"short","on":"sync","match":"any"}`), "0", "only a write or a read")
}

func TestParseNamesTheLine(t *testing.T) {
	f := func(text string, line int) {
		t.Helper()
		_, err := Parse("dir/x.json", []byte(text))
		var wrong *SyntaxError
		if !errors.As(err, &wrong) || wrong.Line != line || wrong.File != "dir/x.json" || !errors.Is(err, tablet.ErrUsage) {
			t.Errorf("%q: %v, want line %d", text, err, line)
		}
	}
	f("", 1)
	f("{\n\"format\": kv\n}", 2)
	f("{\n\n\"format\": \"kv-ops/1\",\n", 4)
	f("{}\n{}", 2)
	f("{\"a\": 1,}\n", 1)
}

func TestByteStrings(t *testing.T) {
	f := func(raw, want string) {
		t.Helper()
		b, err := parseBytes([]byte(raw), true)
		if err != nil || string(b.append(nil, -7)) != want {
			t.Errorf("%s: %q %v, want %q", raw, b.append(nil, -7), err, want)
		}
	}
	f(`""`, "")
	f(`"a\u00e9"`, "a\xc3\xa9")
	f(`{"hex":"00ff"}`, "\x00\xff")
	f(`{"rep":"ab","times":3}`, "ababab")
	f(`{"rep":"ab","times":0}`, "")
	f(`{"rep":"","times":2000000000}`, "")
	f(`{"cat":["a",{"rep":{"hex":"62"},"times":2},"c"]}`, "abbc")
	f(`"{i}"`, "-7")
	f(`"x{i:6}y{i}"`, "x-00007y-7")
	f(`"{i:}{i {j}{"`, "{i:}{i {j}{")
	f(`{"rep":"{i:3}","times":2}`, "-07-07")
}

func TestRanges(t *testing.T) {
	keys := []string{"a", "b", "b\x00", "c"}
	f := func(raw, want string) {
		t.Helper()
		s, err := parseRange([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if rng, err := s.make(); err != nil {
			got = "refused"
		} else {
			for _, row := range keys {
				for _, family := range []string{"", "f"} {
					for _, ts := range []int64{tablet.MaxTimestamp, 5} {
						k := tablet.NewKey(tablet.Fields{Row: []byte(row), Family: []byte(family), Timestamp: ts})
						if rng.Contains(&k) {
							got += fmt.Sprintf("%x%s%d ", row, family, ts%10)
						}
					}
				}
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
	f(`{"row":"b"}`, "627 625 62f7 62f5 ")
	f(`{"start":["b"],"startInc":false,"end":["c"],"endInc":false}`, "62007 62005 6200f7 6200f5 ")
	f(`{"start":["b"],"startInc":false,"end":["b"],"endInc":false}`, "refused")
	f(`{"start":["b","f"],"end":["b","f"]}`, "62f7 62f5 ")
	f(`{"start":["b",""],"startInc":false,"end":["b"]}`, "62f7 62f5 ")
	f(`{"start":["c","","","",5]}`, "635 63f7 63f5 ")
	f(`{"start":["c","","","",5],"startInc":false}`, "63f7 63f5 ")
	f(`{"end":["a","","","",5],"endInc":false}`, "617 ")
	f(`{"end":["a","","","",5]}`, "617 615 ")
	f(`{"start":["c"],"end":["a"]}`, "refused")
}

// FuzzParse wants an answer for any bytes: a script, or an error that says what is wrong with it.
func FuzzParse(f *testing.F) {
	paths, err := filepath.Glob("testdata/*/*.json")
	if err != nil || len(paths) == 0 {
		f.Fatalf("no scripts: %v", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		if len(text) < 8<<10 {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse("x.json", text)
		var syntax *SyntaxError
		var wrong *OperationError
		switch {
		case err == nil && s == nil:
			t.Fatal("neither a script nor an error")
		case err != nil && !errors.As(err, &syntax) && !errors.As(err, &wrong):
			t.Fatalf("an error of no kind: %v", err)
		case syntax != nil && syntax.Line < 1:
			t.Fatalf("line %d", syntax.Line)
		}
	})
}

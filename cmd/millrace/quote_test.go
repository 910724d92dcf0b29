package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/rfile"
)

// TestText brings any field through its text form and back.
func TestText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		field := rapid.SliceOf(rapid.Byte()).Draw(t, "field")
		escape := byte(rapid.IntRange(0, 7).Draw(t, "escape"))
		text := appendText(nil, field, escape)
		for _, b := range text {
			if b < ' ' || b > '~' || b == ' ' && escape&escapeBlank != 0 || b == ':' && escape&escapeColon != 0 {
				t.Fatalf("%q holds %q", text, b)
			}
		}
		back, err := unescape(string(text))
		if err != nil || !bytes.Equal(back, field) {
			t.Fatalf("%q became %q and that %q, %v", field, text, back, err)
		}
	})
}

func TestUnescape(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got, err := unescape(text); err != nil || string(got) != want || got == nil {
			t.Errorf("unescape(%q) = %q, %v", text, got, err)
		}
	}
	f("", "")
	f("a b", "a b")
	f(`\\\x00\xfF`, "\\\x00\xff")
	for _, bad := range []string{`\`, `a\`, `\x`, `\x1`, `\xg1`, `\n`, `\x+1`} {
		if got, err := unescape(bad); err == nil {
			t.Errorf("unescape(%q) = %q", bad, got)
		}
	}
}

func TestSize(t *testing.T) {
	f := func(text string, want int64, back string) {
		t.Helper()
		var s size
		if err := s.Set(text); err != nil || int64(s) != want || s.String() != back {
			t.Errorf("size %q is %d, %q, %v", text, int64(s), s.String(), err)
		}
	}
	f("0", 0, "0")
	f("1000", 1000, "1000")
	f("4096", 4096, "4K")
	f("100k", 102400, "100K")
	f("64M", 64<<20, "64M")
	f("2G", 2<<30, "2G")
	f("8589934591G", 8589934591<<30, "8589934591G")
	for _, bad := range []string{"", "K", "-1", "1.5G", "1T", "8589934592G", "9223372036854775808", "1 K"} {
		if err := new(size).Set(bad); err == nil {
			t.Errorf("size %q is accepted", bad)
		}
	}
}

func TestOneLine(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := oneLine(text); got != want {
			t.Errorf("oneLine(%q) = %q, want %q", text, got, want)
		}
	}
	f("plain, “quoted” and grün", "plain, “quoted” and grün")
	f("one\ntwo\n", "one; two")
	f("\x1b[31m\r\x00\x7f", `\x1b[31m\x0d\x00\x7f`)
	f("a\xffb", `a\xffb`)
	f("\u200b\u202e", `\u200b\u202e`)
	f("\ufffd", `\xef`+"") // the replacement character itself is taken for a bad byte
}

// TestOutputIsQuoted prints keys, values and names full of control bytes with every command: nothing but text comes out.
func TestOutputIsQuoted(t *testing.T) {
	s := newShell(t)
	nasty := "\x1b[31m\r\n\t\x00\x07\u202e\xff\u0085\x9b"
	name := "na\x1b[2Jm\u202ee.rf"
	makeNasty(t, name, nasty)
	writeFile(t, "bad.ndjson", []byte(`{"row":"`+nasty+`","ts":"1"}`))
	writeFile(t, "bad2.ndjson", []byte(`{"\u001b[31m":"\u001b[31m","ts":"1"}`))
	writeFile(t, "not\x1b[31m.rf", []byte("no RFile, but long enough that somebody might think so\x1b[31m"))
	ndjson := s.ok("rfile", "cat", "--format", "ndjson", name)
	for _, command := range [][]string{
		{"info", name}, {"info", "--format", "json", name}, {"verify", "--format", "ndjson", name}, {"info", "--format", "json", nasty},
		{"convert", "--format", "json", "j" + name, name}, {"diff", "--format", "json", name, "a.rf"},
		{"info", "--format", "csv", name}, {"info", "--format", "markdown", name},
		{"cat", name}, {"cat", "--keys", "-b", `\x1b`, name}, {"verify", "--deep", name}, {"verify", "--format", "csv", name},
		{"cat", "--group", nasty, name}, {"cat", "-b", `\` + nasty, name},
		{"diff", name, "a.rf"}, {"diff", "not\x1b[31m.rf", name}, {"info", nasty}, {"verify", "not\x1b[31m.rf", nasty}, {"create", nasty + "/x"},
		{"create", "-i", "bad.ndjson", "x.rf"}, {"create", "-i", "bad2.ndjson", "x.rf"}, {"create", "c" + name},
		{"convert", "o" + name, name}, {"convert", name, name}, {"convert", "--groups", nasty, "x.rf", name}, {"convert", "--codec", nasty, "x.rf", name},
		{"compact", "p" + name, name}, {"compact", "--iter", nasty, "x.rf", name}, {nasty}, {"cat", "--" + nasty, name}, {"cat", "-\x1b", name},
		{"info", name, "o" + name}, {"splits", "-n", "1", name}, {"splits", "-n", "1", "--format", "markdown", name}, {"split", "--at", `\x1b[31m`, "d" + name, name},
		{"split", "--at", nasty, "--at", "a" + nasty, "--format", "json", "e" + name, name}, {"split", "--at", "a", nasty + "/x", name},
		{"split", "--at", "a", "d" + name, name}, {"split", "--at", "a", "--load-plan", nasty + "/x", "f" + name, name}, {"split", "--splits", name, "x", name},
		{"extents", "--at", nasty, name, nasty}, {"extents", "--format", "csv", name}, {"extents", "--extent", nasty + ",", "--expect-within", name},
		{"extents", "--load-plan", nasty, name, "a.rf"}, {"extents", "--load-plan", "p", nasty}, {"sums", name}, {"sums", "--format", "json", nasty},
		{"verify", "."}, {"verify", "--format", "json", "d" + name, nasty}, {"convert", "--sampler", nasty, "x.rf", name}, {"convert", "--bloom", nasty, "x.rf", name},
	} {
		s.stdin = strings.NewReader("")
		if command[0] == "diff" {
			s.stdin = strings.NewReader(strings.Replace(ndjson, `"ts":"1"`, `"ts":"2"`, 1))
			s.ok("rfile", "create", "--force", "a.rf")
		}
		r := s.run(append([]string{"rfile"}, command...)...)
		checkPlain(t, command, r.out)
		checkPlain(t, command, r.stderr)
		if strings.Count(r.stderr, "\n") > 1 {
			t.Errorf("%q: more than one line: %q", command, r.stderr)
		}
	}
}

// checkPlain finds what a terminal would take for more than text: control characters but for newlines and the tab before
// a value, and characters that turn the direction of writing.
func checkPlain(t *testing.T, command []string, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			t.Errorf("%q prints %q: %.300q", command, r, text)
			return
		}
	}
}

// makeNasty writes a file whose keys, values, families and group hold a text.
func makeNasty(t *testing.T, name, nasty string) {
	t.Helper()
	dir, err := vfs.Dir(".")
	if err != nil {
		t.Fatal(err)
	}
	defer vfs.Close(dir)
	f, err := dir.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := rfile.NewWriter(f, rfile.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	field := []byte(nasty)
	if err := w.StartGroup(strings.ToValidUTF8(nasty, ""), [][]byte{field}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		k := tablet.NewKey(tablet.Fields{Row: fmt.Appendf(nil, "%s%d", nasty, i), Family: field, Qualifier: field, Visibility: field, Timestamp: 1})
		if err := w.Append(&k, field); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

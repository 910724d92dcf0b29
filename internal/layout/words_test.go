package layout

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// unfinished are the words of unfinished work, put together here so that this file does not hold them.
var unfinished = regexp.MustCompile(`\b(` + "TO" + `DO|` + "FIX" + `ME|` + "XX" + `X)\b`)

func wordProblems(s *source) []string {
	var problems []string
	for i, line := range bytes.Split(s.text, []byte("\n")) {
		if word := unfinished.Find(line); word != nil {
			problems = append(problems, fmt.Sprintf("%s:%d: holds the word %s: finish it, or say in the text what is so", s.name, i+1, word))
		}
	}
	return problems
}

func TestNothingUnfinished(t *testing.T) { report(t, wordProblems) }

func TestWordRules(t *testing.T) {
	f := func(text string, want int) {
		t.Helper()
		s, err := parse("sim/x.go", []byte("package x\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		if got := wordProblems(s); len(got) != want {
			t.Errorf("%s: got %q, want %d", text, got, want)
		}
	}
	f("// TO"+"DO: later", 1)
	f("// FIX"+"ME(a)\n// XX"+"X", 2)
	f("// todo, PHOTODO, XX"+"XX", 0)
}

// TestEveryPackageIsDescribed wants a doc.go with a comment that begins as godoc expects in each package.
func TestEveryPackageIsDescribed(t *testing.T) {
	doc := map[string]string{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		if _, ok := doc[s.pkg]; !ok {
			doc[s.pkg] = ""
		}
		if strings.HasSuffix(s.name, "/doc.go") && s.file.Doc != nil {
			doc[s.pkg] = s.file.Doc.Text()
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(doc)) {
		name := pkg[strings.LastIndex(pkg, "/")+1:]
		start := "Package " + name + " "
		switch { // as godoc wants it of a command: the command's name first
		case strings.HasPrefix(pkg, "cmd/"):
			start = "Millrace"
		case pkg == "sim/peers":
			start = "Peers "
		}
		if !strings.HasPrefix(doc[pkg], start) {
			t.Errorf("%s/doc.go must begin with %q; it has %q", pkg, "// "+start+"…", firstLine(doc[pkg]))
		}
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

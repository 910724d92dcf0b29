package visibility

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func auths(t testing.TB, tokens ...string) Authorizations {
	t.Helper()
	a, err := NewAuthorizations(tokens...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestEvaluate holds expressions against the set {red, green, blue, a.b:c/d_e-f, 7, with space, quo"te, back\slash, ü}.
func TestEvaluate(t *testing.T) {
	set := auths(t, "red", "green", "blue", "a.b:c/d_e-f", "7", "with space", `quo"te`, `back\slash`, "ü", "a&b", "(", "\x00\xff")
	f := func(label string, want bool) {
		t.Helper()
		expr, err := Parse([]byte(label))
		if err != nil {
			t.Errorf("%s: %v", label, err)
			return
		}
		if err := Validate([]byte(label)); err != nil {
			t.Errorf("%s parses but is not valid: %v", label, err)
		}
		if got := expr.Evaluate(set); got != want {
			t.Errorf("%s: %v, want %v", label, got, want)
		}
		if expr.String() != label {
			t.Errorf("%s is printed as %s", label, expr)
		}
		if got, err := NewEvaluator(set).Visible([]byte(label)); got != want || err != nil {
			t.Errorf("%s: the evaluator says %v, %v", label, got, err)
		}
		if got := expr.Evaluate(Authorizations{}); got != (label == "") {
			t.Errorf("%s is visible to nobody's authorizations: %v", label, got)
		}
	}
	f("", true)
	f("red", true)
	f("Red", false)
	f("re", false)
	f("redd", false)
	f("black", false)
	f("7", true)
	f("8", false)
	f("a.b:c/d_e-f", true)
	f("-", false)
	f("/", false)
	f("red&green", true)
	f("red&black", false)
	f("black&red", false)
	f("red|black", true)
	f("black|red", true)
	f("black|white", false)
	f("red&green&blue", true)
	f("red&green&blue&black", false)
	f("black|white|grey|blue", true)
	f("(red)", true)
	f("((((red))))", true)
	f("(black)", false)
	f("(red&green)|black", true)
	f("(red&black)|white", false)
	f("red&(black|green)", true)
	f("red&(black|white)", false)
	f("(red|black)&(green|white)", true)
	f("(red|black)&(white|black)", false)
	f("((red&black)|(green&blue))&7", true)
	f("((red&black)|(green&white))&7", false)
	f("(black|(white|(grey|red)))", true)
	f("red&(green&(blue&(7&black)))", false)
	f("(red&green)&(blue&7)", true)
	f("red&red", true)
	f("black|black", false)
	f(`"red"`, true)
	f(`"red"&green`, true)
	f(`("red")`, true)
	f(`"with space"`, true)
	f(`"with  space"`, false)
	f(`"quo\"te"`, true)
	f(`"back\\slash"`, true)
	f(`"back\\slash"&"quo\"te"`, true)
	f(`"ü"`, true)
	f(`"a&b"`, true)
	f(`"a&b"&black`, false)
	f(`"("`, true)
	f(`")"|red`, true)
	f("\"\x00\xff\"", true)
	f("\"\n\"|red", true)
	f(`black|"red"`, true)
	f(`"\\"|"\""`, false)
}

// TestErrors names where each label goes wrong and how.
func TestErrors(t *testing.T) {
	f := func(label string, offset int, what string) {
		t.Helper()
		var syntax *SyntaxError
		_, err := Parse([]byte(label))
		if !errors.As(err, &syntax) || syntax.Offset != offset || !strings.Contains(syntax.What, what) || syntax.Label != label {
			t.Errorf("%s: got %v, want offset %d, %s", label, err, offset, what)
		}
		valid := Validate([]byte(label))
		if valid == nil || err == nil || valid.Error() != err.Error() {
			t.Errorf("%s: Validate says %v, Parse %v", label, valid, err)
		}
		visible, err := NewEvaluator(auths(t, "a", "b", "c", " ")).Visible([]byte(label))
		if visible || !errors.As(err, &syntax) {
			t.Errorf("%s: the evaluator says %v, %v", label, visible, err)
		}
	}
	const (
		start = "should be"
		after = "'&', '|', ')' or the end should be"
		mixed = "mixed without parentheses"
	)
	f("&", 0, `'&' stands where a token or '(' should be`)
	f("|", 0, start)
	f("&a", 0, start)
	f("a&", 2, "the label ends where a token")
	f("a|", 2, "the label ends where a token")
	f("a&&b", 2, start)
	f("a||b", 2, start)
	f("a&|b", 2, start)
	f("a&b|c", 3, mixed)
	f("a|b&c", 3, mixed)
	f("(a|b&c)", 4, mixed)
	f("a&(b|c)|a", 7, mixed)
	f("(a&b)|c&a", 7, mixed)
	f("()", 1, start)
	f("(", 1, "the label ends where a token")
	f(")", 0, start)
	f("(a", 2, "1 '(' without ')'")
	f("((a)", 4, "1 '(' without ')'")
	f("(((a", 4, "3 '(' without ')'")
	f("a)", 1, "')' without '('")
	f("(a))", 3, "')' without '('")
	f("a(b)", 1, after)
	f("(a)b", 3, after)
	f("(a)(b)", 3, after)
	f("a&()", 3, start)
	f("a&(", 3, "the label ends")
	f("(a&)", 3, start)
	f("(&a)", 1, start)
	f(" ", 0, start)
	f(" a", 0, start)
	f("a ", 1, after)
	f("a b", 1, after)
	f("a & b", 1, after)
	f("a\n", 1, after)
	f("ü", 0, start)
	f("aü", 1, after)
	f("a*", 1, after)
	f("a,b", 1, after)
	f("a=b", 1, after)
	f("!a", 0, start)
	f("a\x00", 1, after)
	f("'a'", 0, start)
	f(`""`, 0, "a quoted token is empty")
	f(`a&""`, 2, "a quoted token is empty")
	f(`"`, 0, "does not end")
	f(`"a`, 0, "does not end")
	f(`a|"b`, 2, "does not end")
	f(`"a\"`, 0, "does not end")
	f(`"\`, 1, `may follow '\'`)
	f(`"\a"`, 1, `may follow '\'`)
	f(`"a\n"`, 2, `may follow '\'`)
	f(`"a""b"`, 3, after)
	f(`a"b"`, 1, after)
	f(`"a"b`, 3, after)
	f(`\"a\"`, 0, start)
	f("a|b|c)", 5, "')' without '('")
	f("a|(b", 4, "1 '(' without ')'")
}

func TestErrorTextIsBounded(t *testing.T) {
	err := Validate(bytes.Repeat([]byte("\x1b&"), 1<<20))
	if text := err.Error(); len(text) > 600 || !strings.Contains(text, "(2097152 bytes)") || strings.Contains(text, "\x1b") {
		t.Errorf("message of %d bytes: %.200q", len(text), text)
	}
}

// TestDeepNesting wants neither a limit nor a stack overflow.
func TestDeepNesting(t *testing.T) {
	const depth = 1 << 20
	open, end := strings.Repeat("(", depth), strings.Repeat(")", depth)
	if err := Validate([]byte(open)); err == nil {
		t.Error("only '(' is valid")
	}
	set := auths(t, "a", "b")
	f := func(label string, want bool) {
		t.Helper()
		expr, err := Parse([]byte(label))
		if err != nil {
			t.Fatal(err)
		}
		if got := expr.Evaluate(set); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	f(open+"a"+end, true)
	f(strings.Repeat("(b&", depth/4)+"a"+strings.Repeat(")", depth/4), true)
	f(strings.Repeat("b&(c|(", depth/4)+"a"+strings.Repeat("))", depth/4), true)
	f(strings.Repeat("a&", depth/2)+"c", false)
}

func TestSeveralSets(t *testing.T) {
	e := NewEvaluator(auths(t, "a", "b"), auths(t, "b", "c"))
	f := func(label string, want bool) {
		t.Helper()
		if got, err := e.Visible([]byte(label)); got != want || err != nil {
			t.Errorf("%s: %v, %v", label, got, err)
		}
	}
	f("", true)
	f("b", true)
	f("a", false)
	f("c", false)
	f("a|c", true)
	f("a&c", false)
	f("a&b", false)
	e = NewEvaluator()
	f("", true)
	f("a", false)
	e = NewEvaluator(auths(t, "a"), Authorizations{})
	f("a", false)
}

func TestAuthorizations(t *testing.T) {
	if _, err := NewAuthorizations("a", ""); !errors.Is(err, ErrEmptyAuthorization) {
		t.Errorf("got %v", err)
	}
	a := auths(t, "b", "a", "b")
	if got := strings.Join(a.Tokens(), " "); got != "a b" {
		t.Errorf("tokens %q", got)
	}
	if !a.Contains([]byte("a")) || a.Contains([]byte("c")) || (Authorizations{}).Contains([]byte("a")) {
		t.Error("Contains is wrong")
	}
}

// TestForeignExpressions evaluates the expressions that Apache Accumulo's own library is tested with, where they are.
func TestForeignExpressions(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(fixtures(t), "access", "testdata.json"))
	if err != nil {
		t.Skipf("no foreign fixtures: %v", err)
	}
	var groups []struct {
		Description string
		Auths       [][]string
		Tests       []struct {
			ExpectedResult string
			Expressions    []string
		}
	}
	if err := json.Unmarshal(text, &groups); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, g := range groups {
		var sets []Authorizations
		for _, set := range g.Auths {
			sets = append(sets, auths(t, set...))
		}
		e := NewEvaluator(sets...)
		for _, test := range g.Tests {
			for _, label := range test.Expressions {
				got := "INACCESSIBLE"
				visible, err := e.Visible([]byte(label))
				switch {
				case err != nil:
					got = "ERROR"
				case visible:
					got = "ACCESSIBLE"
				}
				if got != test.ExpectedResult {
					t.Errorf("%s: %s: %s, want %s (%v)", g.Description, label, got, test.ExpectedResult, err)
				}
				if invalid := Validate([]byte(label)) != nil; invalid != (test.ExpectedResult == "ERROR") {
					t.Errorf("%s: %s: not valid: %v", g.Description, label, invalid)
				}
				seen[got]++
			}
		}
	}
	if seen["ACCESSIBLE"] != 82 || seen["INACCESSIBLE"] != 47 || seen["ERROR"] != 113 {
		t.Errorf("results: %v", seen)
	}
}

// fixtures is the directory of files from elsewhere: beside the module, or where MILLRACE_TESTDATA says.
func fixtures(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("MILLRACE_TESTDATA"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "..", "shared", "testdata")
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
	}
}

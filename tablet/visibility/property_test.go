package visibility

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// tree is an expression built from the outside: a token, or an operator over children.
type tree struct {
	token    string
	operator byte
	children []*tree
}

func drawTree(t *rapid.T, depth int) *tree {
	if depth == 0 || rapid.IntRange(0, 2).Draw(t, "kind") == 0 {
		token := rapid.OneOf(
			rapid.SampledFrom([]string{"a", "b", "c", "d", "a.b", "x y", `"`, `\`, "é", "&", "("}),
			rapid.StringN(1, 4, -1),
		).Draw(t, "token")
		return &tree{token: token}
	}
	operator := rapid.SampledFrom([]byte("&|")).Draw(t, "operator")
	node := &tree{operator: operator}
	for range rapid.IntRange(2, 4).Draw(t, "children") {
		node.children = append(node.children, drawTree(t, depth-1))
	}
	return node
}

// print writes the tree as a label, with parentheses where they are needed and sometimes where not.
func (n *tree) print(t *rapid.T, b *strings.Builder, above byte) {
	parentheses := 0
	if n.operator != 0 && above != 0 {
		parentheses = 1
	}
	if rapid.IntRange(0, 9).Draw(t, "extra") == 0 {
		parentheses += rapid.IntRange(1, 3).Draw(t, "parentheses")
	}
	b.WriteString(strings.Repeat("(", parentheses))
	if n.operator == 0 {
		n.printToken(t, b)
	}
	for i, child := range n.children {
		if i > 0 {
			b.WriteByte(n.operator)
		}
		child.print(t, b, n.operator)
	}
	b.WriteString(strings.Repeat(")", parentheses))
}

func (n *tree) printToken(t *rapid.T, b *strings.Builder) {
	label := string(AppendToken(nil, []byte(n.token)))
	if label == n.token && rapid.Bool().Draw(t, "quoted") {
		label = `"` + label + `"`
	}
	b.WriteString(label)
}

func (n *tree) evaluate(set map[string]bool) bool {
	switch n.operator {
	case '&':
		for _, c := range n.children {
			if !c.evaluate(set) {
				return false
			}
		}
		return true
	case '|':
		for _, c := range n.children {
			if c.evaluate(set) {
				return true
			}
		}
		return false
	}
	return set[n.token]
}

func (n *tree) tokens() []string {
	if n.operator == 0 {
		return []string{n.token}
	}
	var all []string
	for _, c := range n.children {
		all = append(all, c.tokens()...)
	}
	return all
}

// TestRandomTrees prints random expressions, parses them, and compares with an evaluation of the tree itself.
func TestRandomTrees(t *testing.T) {
	visible, hidden := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		n := drawTree(t, 4)
		var b strings.Builder
		n.print(t, &b, 0)
		label := []byte(b.String())
		expr, err := Parse(label)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprintf("%q", expr.Tokens()), fmt.Sprintf("%q", n.tokens()); got != want {
			t.Fatalf("tokens %s, want %s", got, want)
		}
		set := map[string]bool{}
		var list []string
		for _, token := range n.tokens() {
			if !set[token] && rapid.Bool().Draw(t, "authorized") {
				set[token] = true
				list = append(list, token)
			}
		}
		a, err := NewAuthorizations(list...)
		if err != nil {
			t.Fatal(err)
		}
		want := n.evaluate(set)
		if got := expr.Evaluate(a); got != want {
			t.Fatalf("%s with %q: %v, want %v", label, list, got, want)
		}
		if want {
			visible++
		} else {
			hidden++
		}
	})
	if !t.Failed() && (visible == 0 || hidden == 0) {
		t.Errorf("%d visible, %d hidden: the property tried one side only", visible, hidden)
	}
}

// referenceValid is the grammar written down as a recursive function, for short labels.
func referenceValid(s string) bool {
	rest, ok := referenceExpression(s)
	return s == "" || ok && rest == ""
}

func referenceExpression(s string) (rest string, ok bool) {
	s, ok = referenceOperand(s)
	if !ok || s == "" || s[0] != '&' && s[0] != '|' {
		return s, ok
	}
	for operator := s[0]; s != "" && s[0] == operator; {
		if s, ok = referenceOperand(s[1:]); !ok {
			return s, false
		}
	}
	return s, true
}

func referenceOperand(s string) (rest string, ok bool) {
	if strings.HasPrefix(s, "(") {
		s, ok = referenceExpression(s[1:])
		return strings.TrimPrefix(s, ")"), ok && strings.HasPrefix(s, ")")
	}
	if strings.HasPrefix(s, `"`) {
		return referenceQuoted(s[1:])
	}
	rest = strings.TrimLeft(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/")
	return rest, len(rest) < len(s)
}

func referenceQuoted(s string) (rest string, ok bool) {
	n := 0
	for ; s != "" && s[0] != '"'; n++ {
		if s[0] == '\\' {
			if s = s[1:]; s == "" || s[0] != '"' && s[0] != '\\' {
				return s, false
			}
		}
		s = s[1:]
	}
	return strings.TrimPrefix(s, `"`), s != "" && n > 0
}

// TestAgainstGrammar tries all labels of up to 6 bytes over an alphabet that has each kind of byte.
func TestAgainstGrammar(t *testing.T) {
	const alphabet = `a&|()"\ `
	longest := 6
	if testing.Short() {
		longest = 5
	}
	valid := 0
	var try func(label []byte)
	try = func(label []byte) {
		want := referenceValid(string(label))
		if err := Validate(label); (err == nil) != want {
			t.Errorf("%s: %v, want valid %v", label, err, want)
		}
		if want {
			valid++
		}
		if len(label) < longest {
			for i := range len(alphabet) {
				try(append(label[:len(label):len(label)], alphabet[i]))
			}
		}
	}
	try(nil)
	if valid < 300 {
		t.Errorf("only %d valid labels tried", valid)
	}
}

// FuzzParse holds the parser against the grammar and against itself.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "a", "a&b", "a|(b&c)", `"a\"b\\"`, "((a))", "a&b|c", `"`, "(", "\xff"} {
		f.Add([]byte(seed))
	}
	set, err := NewAuthorizations("a", "b")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, label []byte) {
		if len(label) > 1<<16 {
			t.Skip("the reference recurses")
		}
		expr, err := Parse(label)
		if want := referenceValid(string(label)); (err == nil) != want {
			t.Fatalf("%q: %v, want valid %v", label, err, want)
		}
		visible, visErr := NewEvaluator(set).Visible(label)
		if err != nil {
			if visible || visErr == nil || Validate(label) == nil {
				t.Fatalf("%q: %v, %v", label, visible, visErr)
			}
			return
		}
		if visErr != nil || visible != expr.Evaluate(set) {
			t.Fatalf("%q: %v, %v", label, visible, visErr)
		}
		for _, token := range expr.Tokens() {
			one, err := Parse(AppendToken(nil, []byte(token)))
			if err != nil || len(one.Tokens()) != 1 || one.Tokens()[0] != token {
				t.Fatalf("token %q does not survive printing: %v", token, err)
			}
		}
	})
}

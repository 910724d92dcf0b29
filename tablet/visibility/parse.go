package visibility

import (
	"fmt"
	"strconv"
)

// SyntaxError says where a label is not an expression.
type SyntaxError struct {
	Label  string
	Offset int // bytes from the start of the label; its length when the end is what is wrong
	What   string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("visibility label %s: offset %d: %s", shorten(e.Label), e.Offset, e.What)
}

// maxShown is how much of a label a message shows, in bytes.
const maxShown = 80

func shorten(label string) string {
	if len(label) <= maxShown {
		return strconv.Quote(label)
	}
	return fmt.Sprintf("%q… (%d bytes)", label[:maxShown], len(label))
}

// Validate returns a *SyntaxError unless the label is empty or an expression.
func Validate(label []byte) error {
	var few [8]level // enough for most labels, without an allocation
	p := parser{label: label, levels: few[:0]}
	return p.parse()
}

// Parse returns the expression that a label is, or a *SyntaxError. It keeps no part of the slice.
func Parse(label []byte) (*Expr, error) {
	var few [8]level
	p := parser{label: label, levels: few[:0], expr: &Expr{label: string(label)}}
	if err := p.parse(); err != nil {
		return nil, err
	}
	return p.expr, nil
}

// level is one depth of parentheses while it is open.
type level struct {
	operator byte // '&' or '|'; 0 until the first is met
	operands int32
}

// parser reads a label from left to right. It does not recurse: its open levels are in a slice that is at most as long
// as the label, so no label can exhaust the stack.
type parser struct {
	label  []byte
	at     int
	levels []level
	expr   *Expr // nil when the label is only to be validated
}

func (p *parser) parse() error {
	if len(p.label) == 0 {
		return nil
	}
	p.levels = append(p.levels, level{})
	for {
		if err := p.operand(); err != nil {
			return err
		}
		more, err := p.afterOperand()
		if !more || err != nil {
			return err
		}
	}
}

// operand reads opening parentheses and the token that follows them.
func (p *parser) operand() error {
	for p.at < len(p.label) && p.label[p.at] == '(' {
		p.levels = append(p.levels, level{})
		p.at++
	}
	if p.at == len(p.label) {
		return p.fail(p.at, "the label ends where a token or '(' should be")
	}
	switch c := p.label[p.at]; {
	case c == '"':
		return p.quoted()
	case unquoted[c]:
		start := p.at
		for p.at < len(p.label) && unquoted[p.label[p.at]] {
			p.at++
		}
		if p.expr != nil {
			p.expr.addToken(p.expr.label[start:p.at])
		}
		p.levels[len(p.levels)-1].operands++
		return nil
	default:
		return p.fail(p.at, fmt.Sprintf("%q stands where a token or '(' should be", c))
	}
}

// quoted reads a token in quotes.
func (p *parser) quoted() error {
	start := p.at
	p.at++
	var text []byte
	for ; p.at < len(p.label); p.at++ {
		switch c := p.label[p.at]; c {
		case '"':
			if p.at == start+1 {
				return p.fail(start, "a quoted token is empty")
			}
			p.at++
			if p.expr != nil {
				p.expr.addToken(string(text))
			}
			p.levels[len(p.levels)-1].operands++
			return nil
		case '\\':
			p.at++
			if p.at == len(p.label) || p.label[p.at] != '"' && p.label[p.at] != '\\' {
				return p.fail(p.at-1, `only '"' and '\' may follow '\'`)
			}
			fallthrough
		default:
			if p.expr != nil {
				text = append(text, p.label[p.at])
			}
		}
	}
	return p.fail(start, "a quoted token does not end")
}

// afterOperand closes parentheses and reads the operator that comes then. more is false at the end of the label.
func (p *parser) afterOperand() (more bool, err error) {
	for p.at < len(p.label) && p.label[p.at] == ')' && len(p.levels) > 1 {
		p.closeLevel()
		p.levels[len(p.levels)-1].operands++
		p.at++
	}
	if p.at == len(p.label) {
		if open := len(p.levels) - 1; open > 0 {
			return false, p.fail(p.at, fmt.Sprintf("%d '(' without ')'", open))
		}
		p.closeLevel()
		return false, nil
	}
	top := &p.levels[len(p.levels)-1]
	switch c := p.label[p.at]; {
	case c == ')':
		return false, p.fail(p.at, "')' without '('")
	case c != '&' && c != '|':
		return false, p.fail(p.at, fmt.Sprintf("%q stands where '&', '|', ')' or the end should be", c))
	case top.operator != 0 && top.operator != c:
		return false, p.fail(p.at, "'&' and '|' are mixed without parentheses")
	default:
		top.operator = c
		p.at++
		return true, nil
	}
}

// closeLevel ends the innermost level, whose operands are all read.
func (p *parser) closeLevel() {
	l := p.levels[len(p.levels)-1]
	p.levels = p.levels[:len(p.levels)-1]
	if p.expr != nil && l.operands > 1 {
		p.expr.addOperator(l.operator, int(l.operands))
	}
}

func (p *parser) fail(offset int, what string) error {
	return &SyntaxError{Label: string(p.label), Offset: offset, What: what}
}

// unquoted tells the bytes that a token may have without quotes.
var unquoted = func() (is [256]bool) {
	for c := range is {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			c == '_', c == '-', c == '.', c == ':', c == '/':
			is[c] = true
		}
	}
	return is
}()

// AppendToken appends a token as it stands in a label, in quotes where it needs them. The token must not be empty.
func AppendToken(dst, token []byte) []byte {
	plain := true
	for _, c := range token {
		plain = plain && unquoted[c]
	}
	if plain {
		return append(dst, token...)
	}
	dst = append(dst, '"')
	for _, c := range token {
		if c == '"' || c == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}

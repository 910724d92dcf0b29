package visibility

// Expr is a parsed label. It is immutable and safe for concurrent use.
type Expr struct {
	label  string
	tokens []string // unescaped, in the order of the label
	steps  []step
}

// step is one step of the expression in postfix order: a token pushes whether it is authorized, an operator takes its
// operands from the stack and pushes what comes out.
//
//	a&(b|c)    a  b  c  |2  &2
type step struct {
	operator byte // 0 for a token
	n        int  // a token's index, or an operator's operands
}

func (e *Expr) addToken(text string) {
	e.steps = append(e.steps, step{n: len(e.tokens)})
	e.tokens = append(e.tokens, text)
}

func (e *Expr) addOperator(operator byte, operands int) {
	e.steps = append(e.steps, step{operator: operator, n: operands})
}

// String is the label that was parsed, byte for byte.
func (e *Expr) String() string { return e.label }

// Tokens are the tokens of the label, unescaped, in its order, with repetitions. The caller must not change the slice.
func (e *Expr) Tokens() []string { return e.tokens }

// Evaluate says whether one set of authorizations satisfies the expression. The empty expression is satisfied by all.
func (e *Expr) Evaluate(auths Authorizations) bool {
	if len(e.steps) == 0 {
		return true
	}
	var few [16]bool // enough for most labels, without an allocation
	stack := few[:0]
	for _, s := range e.steps {
		if s.operator == 0 {
			_, ok := auths.set[e.tokens[s.n]]
			stack = append(stack, ok)
			continue
		}
		operands := stack[len(stack)-s.n:]
		result := s.operator == '&'
		for _, ok := range operands {
			if ok != result {
				result = !result
				break
			}
		}
		stack = append(stack[:len(stack)-s.n], result)
	}
	return stack[0]
}

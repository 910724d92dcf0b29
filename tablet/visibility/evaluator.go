package visibility

const (
	// maxCached bounds how many labels an Evaluator remembers.
	// Source: Accumulo VisibilityFilter, which keeps 1,000.
	maxCached = 1000
	// maxCachedBytes is the longest label it remembers. 1,000 labels of this length are 4 MB.
	maxCachedBytes = 4 << 10
)

// Evaluator says which labels are visible, and remembers the labels it met last. Not safe for concurrent use.
type Evaluator struct {
	sets []Authorizations
	last *verdict // what Visible answered before, since entries with one label often follow each other

	// Two generations of at most maxCached/2 labels stand for the order of use: a label met is put into recent; when
	// recent is full it becomes old, and what was in old and not met since is forgotten.
	recent, old map[string]*verdict
}

// verdict is what a label comes to.
type verdict struct {
	label   string
	visible bool
	err     error
}

// NewEvaluator returns an Evaluator for one or more sets of authorizations; a label is visible when each of them alone
// satisfies it. No set at all is as the empty set.
func NewEvaluator(sets ...Authorizations) *Evaluator {
	if len(sets) == 0 {
		sets = []Authorizations{{}}
	}
	return &Evaluator{sets: append([]Authorizations(nil), sets...)}
}

// Visible says whether a label is visible. The empty label always is; one that is not an expression never is, and
// comes with its *SyntaxError. It keeps no part of the slice, and does not allocate for a label that it remembers.
func (e *Evaluator) Visible(label []byte) (bool, error) {
	if len(label) == 0 {
		return true, nil
	}
	if e.last != nil && e.last.label == string(label) {
		return e.last.visible, e.last.err
	}
	v, ok := e.recent[string(label)]
	if !ok {
		v, ok = e.old[string(label)]
		if !ok {
			v = e.judge(label)
		}
		if len(label) > maxCachedBytes {
			return v.visible, v.err
		}
		e.remember(v)
	}
	e.last = v
	return v.visible, v.err
}

func (e *Evaluator) judge(label []byte) *verdict {
	v := &verdict{label: string(label)}
	expr, err := Parse(label)
	if err != nil {
		v.err = err
		return v
	}
	v.visible = true
	for _, set := range e.sets {
		v.visible = v.visible && expr.Evaluate(set)
	}
	return v
}

// remember puts a verdict into recent. Its memory is reused, so that a hit in old allocates nothing either.
func (e *Evaluator) remember(v *verdict) {
	if len(e.recent) == maxCached/2 {
		e.recent, e.old = e.old, e.recent
		clear(e.recent)
	}
	if e.recent == nil { // a reader of entries without labels never comes here
		e.recent = make(map[string]*verdict)
	}
	e.recent[v.label] = v
}

// cached is the number of labels remembered.
func (e *Evaluator) cached() int {
	n := len(e.recent)
	for label := range e.old {
		if _, ok := e.recent[label]; !ok {
			n++
		}
	}
	return n
}

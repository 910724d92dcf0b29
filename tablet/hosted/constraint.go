package hosted

import (
	"cmp"
	"fmt"
	"slices"

	"millrace/tablet"
	"millrace/tablet/visibility"
)

// Constraint refuses mutations. Check returns 0 for one that is fine, else a code; Describe says what a code means.
type Constraint struct {
	Name     string
	Check    func(m *tablet.Mutation) int
	Describe func(code int) string
}

// Names of the constraints that always hold, and of the check that the row belongs to the tablet.
const (
	ConstraintUpdates    = "updates"
	ConstraintKeySize    = "key size"
	ConstraintSize       = "mutation size"
	ConstraintVisibility = "visibility"
	ConstraintExtent     = "extent"
)

// Reject is one mutation refused by one constraint.
type Reject struct {
	Index      int // in the mutations given to Prepare
	Constraint string
	Code       int
	What       string
	// Elsewhere says that the row belongs to another tablet: the mutation is binned again, and nothing is wrong with it.
	Elsewhere bool
}

// Violation sums up rejects alike.
type Violation struct {
	Constraint string
	Code       int
	What       string
	Mutations  int
}

// Violations sums rejects up for whoever sent the mutations, by constraint and code. Mutations that belong elsewhere are
// not among them.
func Violations(rejects []Reject) (sums []Violation) {
	for _, r := range rejects {
		if r.Elsewhere {
			continue
		}
		i := slices.IndexFunc(sums, func(v Violation) bool { return v.Constraint == r.Constraint && v.Code == r.Code })
		if i < 0 {
			i = len(sums)
			sums = append(sums, Violation{Constraint: r.Constraint, Code: r.Code, What: r.What})
		}
		sums[i].Mutations++
	}
	slices.SortFunc(sums, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Constraint, b.Constraint), cmp.Compare(a.Code, b.Code))
	})
	return sums
}

// maxMutationBytes keeps mutations below Accumulo's 2 GiB, with room for the bytes that a file adds to an entry: one that
// no file could hold would never be flushed.
const maxMutationBytes = 1<<31 - 1<<20

// checker holds what checking mutations needs.
type checker struct {
	extent      tablet.Extent
	maxKeyBytes int
	maxBytes    int
	constraints []Constraint
	// label is the label that was last found valid. Neighbouring updates mostly share theirs.
	label []byte
}

// check appends the reasons to refuse a mutation.
func (c *checker) check(rejects []Reject, i int, m *tablet.Mutation) []Reject {
	switch {
	case m.Updates() == 0:
		return append(rejects, Reject{Index: i, Constraint: ConstraintUpdates, Code: 1, What: "a mutation without updates"})
	case m.NumBytes() > c.maxBytes:
		return append(rejects, Reject{Index: i, Constraint: ConstraintSize, Code: 1,
			What: fmt.Sprintf("a mutation of more than %d bytes", c.maxBytes)})
	case !c.extent.Contains(m.Row()):
		return append(rejects, Reject{Index: i, Constraint: ConstraintExtent, Code: 1, What: "a row of another tablet", Elsewhere: true})
	}
	var large, unlabelled bool
	if m.Labelled() || m.NumBytes() > c.maxKeyBytes {
		large, unlabelled = c.checkUpdates(m)
	}
	if large {
		rejects = append(rejects, Reject{Index: i, Constraint: ConstraintKeySize, Code: 1,
			What: fmt.Sprintf("a key longer than %d bytes", c.maxKeyBytes)})
	}
	if unlabelled {
		rejects = append(rejects, Reject{Index: i, Constraint: ConstraintVisibility, Code: 1, What: "a visibility that does not parse"})
	}
	for _, con := range c.constraints {
		if code := con.Check(m); code != 0 {
			rejects = append(rejects, Reject{Index: i, Constraint: con.Name, Code: code, What: con.Describe(code)})
		}
	}
	return rejects
}

func (c *checker) checkUpdates(m *tablet.Mutation) (large, unlabelled bool) {
	row := len(m.Row())
	for u := range m.All() {
		if row+len(u.Family)+len(u.Qualifier)+len(u.Visibility) > c.maxKeyBytes {
			large = true
		}
		if !c.parses(u.Visibility) {
			unlabelled = true
		}
	}
	return large, unlabelled
}

func (c *checker) parses(label []byte) bool {
	if len(label) == 0 || string(label) == string(c.label) {
		return true
	}
	if visibility.Validate(label) != nil {
		return false
	}
	c.label = append(c.label[:0], label...)
	return true
}

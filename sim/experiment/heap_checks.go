package experiment

import (
	"fmt"
	"math"

	"millrace/internal/invariant"
)

// checking builds allocate to check, so that nobody counts it there.
const checking = racing || invariant.Enabled

func (r *heapRun) conclude() {
	r.check()
	r.crossings()
	r.bars()
}

// heapLine are the rows of one merge over one number of sources, by ascending stretches.
type heapLine struct {
	keys    string
	sources int
	rows    []*HeapRow
}

// lines are the lines of a variant, of all keys and numbers of sources.
func (d *HeapDocument) lines(variant string) (all []heapLine) {
	for i := range d.Rows {
		row := &d.Rows[i]
		if row.Variant != variant || row.Dealt != dealtStretches {
			continue
		}
		if n := len(all); n == 0 || all[n-1].keys != row.Keys || all[n-1].sources != row.Sources {
			all = append(all, heapLine{keys: row.Keys, sources: row.Sources})
		}
		l := &all[len(all)-1]
		l.rows = append(l.rows, row)
	}
	return all
}

// at is the row of a stretch, nil if it was not swept.
func (l *heapLine) at(repeated int) *HeapRow {
	for _, row := range l.rows {
		if row.Repeated == repeated {
			return row
		}
	}
	return nil
}

// span is the least and the greatest of some numbers.
type span struct{ least, most float64 }

func newSpan() span { return span{math.Inf(1), math.Inf(-1)} }

func (s *span) add(v float64) { s.least, s.most = min(s.least, v), max(s.most, v) }

func (s *span) none() bool { return s.least > s.most }

// within adds a check, or a bar, that a span lies between two bounds, in figures of two decimals. One of nothing adds none.
func within(checks []Check, name string, s span, low, high float64) []Check {
	if s.none() {
		return checks
	}
	c := Check{Name: name, Value: fmt.Sprintf("%.2f to %.2f", s.least, s.most), Want: fmt.Sprintf("%.2f to %.2f", low, high)}
	switch {
	case math.IsInf(high, 1):
		c.Value, c.Want = fmt.Sprintf("%.2f", s.least), fmt.Sprintf("at least %.2f", low)
	case math.IsInf(low, -1):
		c.Value, c.Want = fmt.Sprintf("%.2f", s.most), fmt.Sprintf("at most %.2f", high)
	}
	round := func(v float64) float64 { return math.Round(100*v) / 100 }
	c.OK = round(s.least) >= low && round(s.most) <= high
	return append(checks, c)
}

var unbounded = math.Inf(1)

// oneComparison are the comparisons an entry of new where stretches are long.
var oneComparison = span{1, 1.10}

// longStretch is a stretch at which new makes hardly more than one comparison an entry.
const longStretch = 1024

// Most that old's comparisons differ along a line: a source that stays sifts up to the root, one that does not stops below.
const flatTimes = 1.5

// check holds what does not depend on the clock.
func (r *heapRun) check() {
	c := &r.doc.Checks
	*c = check(*c, "outputs in the order of a reference sort", r.ordered, r.merges)
	*c = check(*c, "divisions of keys of which all merges gave the same", r.alike, r.cells)
	if !checking {
		allocated := 0.0
		for i := range r.doc.Rows {
			allocated = max(allocated, r.doc.Rows[i].AllocsPerEntry)
		}
		*c = within(*c, "allocations an entry, at most", span{0, allocated}, -unbounded, 0)
	}
	r.checkOld()
	r.checkNew()
	r.checkTree()
}

// Most comparisons of whole keys an entry that the tree makes.
var treeComparisons = []struct {
	keys string
	most float64
}{{"ci", 0.1}, {"long", 1}}

func (r *heapRun) checkTree() {
	for _, want := range treeComparisons {
		s := newSpan()
		for _, line := range r.doc.lines("tree") {
			for _, row := range line.rows {
				if line.keys == want.keys && r.fillsSoon(line.sources) {
					s.add(row.ComparesPerEntry)
				}
			}
		}
		c := &r.doc.Checks
		*c = within(*c, "comparisons an entry of tree, "+want.keys+" keys", s, -unbounded, want.most)
	}
}

// checkOld holds the shape of old: flat in the stretch, rising with the logarithm of the sources.
func (r *heapRun) checkOld() {
	flat, rising := newSpan(), newSpan()
	lines := r.doc.lines("old")
	for i, line := range lines {
		along := newSpan()
		for j, row := range line.rows {
			along.add(row.ComparesPerEntry)
			if i > 0 && lines[i-1].keys == line.keys {
				doublings := math.Log2(float64(line.sources) / float64(lines[i-1].sources))
				rising.add((row.ComparesPerEntry - lines[i-1].rows[j].ComparesPerEntry) / doublings)
			}
		}
		if len(line.rows) > 1 {
			flat.add(along.most / along.least)
		}
	}
	c := &r.doc.Checks
	*c = within(*c, "old is flat: its comparisons differ along a line by a factor of, at most", flat, -unbounded, flatTimes)
	*c = within(*c, "old rises: comparisons an entry more for each doubling of the sources", rising, 1, 3)
}

// checkNew holds the shape of new: it falls, to one comparison an entry.
func (r *heapRun) checkNew() {
	long, rise := newSpan(), newSpan()
	for _, line := range r.doc.lines("new") {
		for i, row := range line.rows {
			if row.Repeated >= longStretch && r.fillsSoon(line.sources) {
				long.add(row.ComparesPerEntry)
			}
			if i > 0 {
				rise.add(row.ComparesPerEntry - line.rows[i-1].ComparesPerEntry)
			}
		}
	}
	c := &r.doc.Checks
	*c = within(*c, fmt.Sprintf("comparisons an entry of new, stretches of %d and more", longStretch), long, oneComparison.least, oneComparison.most)
	*c = within(*c, "new falls: comparisons an entry more at a longer stretch than at the one before, at most", rise, -unbounded, 0.05)
}

// fillsSoon says whether it takes less than a twentieth of a comparison an entry to fill the heap, and to empty it. With few
// entries it takes more, and what a merge does in between is not seen.
func (r *heapRun) fillsSoon(sources int) bool {
	k := float64(sources)
	return 2*k*math.Log2(k) <= float64(r.o.Entries)/20
}

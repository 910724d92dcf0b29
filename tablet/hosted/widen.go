package hosted

import (
	"bytes"
	"slices"

	"millrace/tablet"
	"millrace/tablet/memtable"
)

// span is where a source's entries may lie.
type span struct {
	ages              tablet.AgeRange
	firstRow, lastRow []byte
	anyRow            bool // the rows are not known
	minTS, maxTS      int64
	anyTS             bool // the timestamps are not known
	empty             bool // there are no entries
}

func fileSpan(m *tablet.FileMeta) span {
	rowsKnown := m.FirstRow != nil || m.LastRow != nil
	return span{
		ages: m.Ages, firstRow: m.FirstRow, lastRow: m.LastRow, anyRow: !rowsKnown,
		minTS: m.MinTimestamp, maxTS: m.MaxTimestamp, anyTS: !m.TimestampsKnown,
		empty: !rowsKnown && m.Entries == 0,
	}
}

func memtableSpan(f memtable.Facts, ages tablet.AgeRange) span {
	return span{ages: ages, firstRow: f.FirstRow, lastRow: f.LastRow, minTS: f.MinTimestamp, maxTS: f.MaxTimestamp, empty: f.Entries == 0}
}

// meets says whether two sources can hold equal keys.
func (a *span) meets(b *span) bool {
	if a.empty || b.empty {
		return false
	}
	rows := a.anyRow || b.anyRow || bytes.Compare(a.firstRow, b.lastRow) <= 0 && bytes.Compare(b.firstRow, a.lastRow) <= 0
	times := a.anyTS || b.anyTS || a.minTS <= b.maxTS && b.minTS <= a.maxTS
	return rows && times
}

func overlap(a, b tablet.AgeRange) bool { return a.Oldest <= b.Newest && b.Oldest <= a.Newest }

// widening makes a choice of inputs one run of ages: a file that was left out although its ages lie among the inputs' is
// taken in if it can hold a key that an input holds too. Otherwise the output, which has the inputs' ages together, would
// stand before or behind it as a whole, and one of two equal keys would change its place.
type widening struct {
	files []*file
	spans []span
	in    []bool
	extra []span // inputs that are not files
	ages  tablet.AgeRange
	any   bool // something was chosen
}

func newWidening(files []*file) *widening {
	w := &widening{files: files, spans: make([]span, len(files)), in: make([]bool, len(files))}
	for i, f := range files {
		w.spans[i] = fileSpan(&f.meta)
	}
	return w
}

func (w *widening) addSpan(s span) {
	w.extra = append(w.extra, s)
	w.cover(s.ages)
}

// choose makes a file an input; false means there is none of that number.
func (w *widening) choose(number uint64) bool {
	i := slices.IndexFunc(w.files, func(f *file) bool { return f.meta.Number == number })
	if i < 0 {
		return false
	}
	w.take(i)
	return true
}

func (w *widening) take(i int) {
	w.in[i] = true
	w.cover(w.spans[i].ages)
}

func (w *widening) cover(a tablet.AgeRange) {
	if !w.any {
		w.ages, w.any = a, true
		return
	}
	w.ages = tablet.AgeRange{Oldest: min(w.ages.Oldest, a.Oldest), Newest: max(w.ages.Newest, a.Newest)}
}

// widen goes on until no file has to be added: each added may reach further, in ages, rows and time.
func (w *widening) widen() {
	for again := true; again; {
		again = false
		for i := range w.files {
			if !w.in[i] && overlap(w.spans[i].ages, w.ages) && w.meetsInput(&w.spans[i]) {
				w.take(i)
				again = true
			}
		}
	}
}

func (w *widening) meetsInput(s *span) bool {
	for i := range w.spans {
		if w.in[i] && w.spans[i].meets(s) {
			return true
		}
	}
	return slices.ContainsFunc(w.extra, func(e span) bool { return e.meets(s) })
}

// chosen are the files that are inputs, newest first.
func (w *widening) chosen() (files []*file) {
	for i, f := range w.files {
		if w.in[i] {
			files = append(files, f)
		}
	}
	return files
}

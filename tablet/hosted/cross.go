package hosted

import (
	"bytes"

	"millrace/tablet"
)

// crosses says whether a choice of inputs and a job under way lie across each other: their ages overlap, and what one of
// them will write, with the rows and times of all its inputs together, can hold a key of the other's inputs. Each could be
// done, but not both: the second to end would be refused.
func (t *Tablet) crosses(w *widening) bool {
	chosen := append(w.chosenSpans(), w.extra...)
	for _, j := range t.jobs {
		if overlap(j.Ages, w.ages) && spansCross(chosen, spansOf(j.Inputs)) {
			return true
		}
	}
	f := t.flush
	return f != nil && len(f.Merge) > 0 && overlap(f.Ages, w.ages) &&
		spansCross(chosen, append(spansOf(f.Merge), memtableSpan(f.Snapshot.Facts(), f.Ages)))
}

func (w *widening) chosenSpans() (spans []span) {
	for i, in := range w.in {
		if in {
			spans = append(spans, w.spans[i])
		}
	}
	return spans
}

func spansOf(files []tablet.FileMeta) []span {
	spans := make([]span, len(files))
	for i := range files {
		spans[i] = fileSpan(&files[i])
	}
	return spans
}

// spansCross says whether the output of one set of inputs can hold a key of an input of the other.
func spansCross(a, b []span) bool { return meetsAny(together(a), b) || meetsAny(together(b), a) }

func meetsAny(s span, others []span) bool {
	for i := range others {
		if s.meets(&others[i]) {
			return true
		}
	}
	return false
}

// together is where the entries of several sources may lie.
func together(spans []span) span {
	all := span{empty: true}
	for i := range spans {
		switch s := &spans[i]; {
		case s.empty:
		case all.empty:
			all = *s
		default:
			all.anyRow, all.anyTS = all.anyRow || s.anyRow, all.anyTS || s.anyTS
			if bytes.Compare(s.firstRow, all.firstRow) < 0 {
				all.firstRow = s.firstRow
			}
			if bytes.Compare(s.lastRow, all.lastRow) > 0 {
				all.lastRow = s.lastRow
			}
			all.minTS, all.maxTS = min(all.minTS, s.minTS), max(all.maxTS, s.maxTS)
		}
	}
	return all
}

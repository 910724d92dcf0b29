package hosted

import (
	"bytes"
	"fmt"

	"millrace/tablet"
)

// CheckSplit says whether a row is a place at which the tablet could be split: to be asked before anything is done for it.
func (t *Tablet) CheckSplit(row []byte) error {
	if !t.extent.Contains(row) || t.extent.EndRow != nil && bytes.Equal(row, t.extent.EndRow) {
		return fmt.Errorf("hosted: split %v at %q, which is not inside: %w", t.extent, row, tablet.ErrUsage)
	}
	return nil
}

// SplitAt returns the states of the two tablets into which a row cuts this one, (prev, row] and (row, end]. No file is
// rewritten: each half gets the files whose rows meet it, so some go to both, and time and session go on in both. The
// tablet must have nothing in memory and nothing under way.
func (t *Tablet) SplitAt(row []byte) (low, high State, err error) {
	if err := t.CheckSplit(row); err != nil {
		return low, high, err
	}
	switch {
	case t.active.pending > 0 || t.active.table.Entries() > 0 || len(t.frozen) > 0:
		return low, high, fmt.Errorf("hosted: split %v with entries in memory: %w", t.extent, ErrInUse)
	case len(t.jobs) > 0:
		return low, high, fmt.Errorf("hosted: split %v with %d compactions under way: %w", t.extent, len(t.jobs), ErrInUse)
	}
	cut := append([]byte{}, row...) // never nil, which would be no bound at all
	low = State{Extent: t.extent, Time: t.timer.last, Session: t.active.session, NextAge: t.nextAge}
	high = low
	low.Extent.EndRow, high.Extent.PrevEndRow = cut, cut
	for _, f := range t.files {
		s := fileSpan(&f.meta)
		if s.anyRow || bytes.Compare(s.firstRow, cut) <= 0 {
			low.Files = append(low.Files, f.meta)
		}
		if s.anyRow || bytes.Compare(s.lastRow, cut) > 0 {
			high.Files = append(high.Files, f.meta)
		}
	}
	return low, high, nil
}

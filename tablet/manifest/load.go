package manifest

import (
	"cmp"
	"fmt"
	"slices"

	"millrace/tablet"
)

// loader makes a State of the payloads of a manifest file.
type loader struct {
	state State
	stage stage
	ready bool
	edits int

	// of the snapshot
	wantTables, wantTablets int
	left                    int // tablets of the last table that are still to come
	slots                   []slot
	prevEnd                 []byte
	tablets                 []*Tablet
}

type stage uint8

const (
	atHead  stage = iota
	inTable       // between the records of a snapshot
	whole
)

// take takes the next payload, which it does not keep. The error wraps tablet.ErrUnsupported if the payload is of a later
// format; else it says what is wrong with it.
func (l *loader) take(payload []byte) error {
	in := &input{b: payload}
	kind := in.kind()
	if in.err != nil {
		return in.err
	}
	want := map[stage]string{atHead: "head", inTable: "table, tablets or end", whole: "ready or edits"}[l.stage]
	switch {
	case l.stage == atHead && kind == kindHead:
		return l.head(in)
	case l.stage == inTable && kind == kindTable && l.left == 0:
		return l.table(in)
	case l.stage == inTable && kind == kindTablets && l.left > 0:
		return l.takeTablets(in)
	case l.stage == inTable && kind == kindEnd && l.left == 0:
		return l.end(in)
	case l.stage == whole && kind == kindReady && l.edits == 0 && !l.ready:
		l.ready = true
		return in.end()
	case l.stage == whole && kind == kindEdits && l.ready:
		return l.edit(in)
	}
	return fmt.Errorf("%s record where %s is expected", kindName(kind), want)
}

func (l *loader) head(in *input) error {
	s := &l.state
	s.nextNumber, s.nextLSN, s.opened = in.uint("next number"), in.uint("next sequence number"), in.uint("opening")
	if max(s.nextNumber, s.nextLSN, s.opened) > maxNumber+1 || s.opened > s.nextNumber {
		in.fail("head", "next number %d, next sequence number %d, opening %d", s.nextNumber, s.nextLSN, s.opened)
	}
	tables, tablets := in.uint("number of tables"), in.uint("number of tablets")
	if tables > maxNumber || tablets > maxNumber {
		in.fail("head", "%d tables, %d tablets", tables, tablets)
	}
	l.wantTables, l.wantTablets, l.stage = int(tables), int(tablets), inTable
	return in.end()
}

func (l *loader) table(in *input) error {
	l.closeTable()
	t := &Table{Name: in.text("table name"), ID: in.uint("table ID"), Properties: in.properties()}
	n := in.uint("number of tablets")
	if err := in.end(); err != nil {
		return err
	}
	if why := l.badTable(t, n); why != "" {
		return fmt.Errorf("table %q: %s", clip(t.Name), why)
	}
	l.state.tables = append(l.state.tables, t)
	l.left, l.prevEnd = int(n), nil
	return nil
}

func (l *loader) badTable(t *Table, tablets uint64) string {
	switch {
	case t.Name == "" || len(t.Name) > maxTableName:
		return "not a name for a table"
	case len(l.state.tables) > 0 && l.lastTable().Name >= t.Name:
		return fmt.Sprintf("it does not follow %q", clip(l.lastTable().Name))
	case slices.ContainsFunc(l.state.tables, func(o *Table) bool { return o.ID == t.ID }):
		return fmt.Sprintf("ID %d is another table's", t.ID)
	case tablets == 0 || tablets > uint64(l.wantTablets-len(l.tablets)):
		return fmt.Sprintf("%d tablets of %d in all", tablets, l.wantTablets)
	}
	return l.badNumber(t.ID)
}

func (l *loader) lastTable() *Table { return l.state.tables[len(l.state.tables)-1] }

func (l *loader) badNumber(n uint64) string {
	if n == 0 || n >= l.state.nextNumber {
		return fmt.Sprintf("number %d is not between 0 and %d", n, l.state.nextNumber)
	}
	return ""
}

// closeTable gives the last table its tablets, which are all there.
func (l *loader) closeTable() {
	if len(l.state.tables) > 0 {
		l.lastTable().order = chunkedOf(l.slots)
		l.slots = nil
	}
}

func (l *loader) takeTablets(in *input) error {
	const leastTablet = 6
	n := in.count("number of tablets", leastTablet)
	if in.err == nil && (n == 0 || n > l.left) {
		in.fail("number of tablets", "%d, where %d are to come", n, l.left)
	}
	for i := 0; i < n && in.err == nil; i++ {
		t := &Tablet{Number: in.uint("tablet")}
		t.Extent = tablet.Extent{Table: l.lastTable().Name, PrevEndRow: l.prevEnd, EndRow: in.row("end row")}
		t.Time, t.Session, t.NextAge = in.int("time"), in.uint("session"), in.uint("next age")
		files := in.files()
		if in.err != nil {
			break
		}
		l.left--
		if why := l.badTablet(t, files); why != "" {
			return fmt.Errorf("tablet %d, %v: %s", t.Number, t.Extent, why)
		}
		l.tablets = append(l.tablets, t)
		l.slots = append(l.slots, slot{t.Extent.EndRow, t.Number})
		l.prevEnd = t.Extent.EndRow
	}
	return in.end()
}

// badTablet holds a tablet against its neighbour below and its files against each other, and gives it its files.
func (l *loader) badTablet(t *Tablet, files []FileRef) string {
	if why := l.badNumber(t.Number); why != "" {
		return why
	}
	switch end := t.Extent.EndRow; {
	case (end == nil) != (l.left == 0):
		return fmt.Sprintf("%d tablets follow it", l.left)
	case end != nil && l.prevEnd != nil && compareEnds(end, l.prevEnd) <= 0:
		return fmt.Sprintf("end row %q does not follow %q", end, l.prevEnd)
	case t.Session > maxNumber || t.NextAge < firstAge || t.NextAge > maxNumber+1:
		return fmt.Sprintf("session %d, next age %d", t.Session, t.NextAge)
	}
	for i := range files {
		f := &files[i]
		why := l.badNumber(f.Number)
		if why == "" && f.Ages.Newest >= t.NextAge {
			why = fmt.Sprintf("age %d, where %d is the next", f.Ages.Newest, t.NextAge)
		}
		if why == "" && t.File(f.Number) != nil {
			why = "it is listed twice"
		}
		if why == "" {
			why = t.place(f)
		}
		if why != "" {
			return fmt.Sprintf("file %d: %s", f.Number, why)
		}
	}
	return ""
}

// end closes the snapshot.
func (l *loader) end(in *input) error {
	l.closeTable()
	if len(l.state.tables) != l.wantTables || len(l.tablets) != l.wantTablets {
		return fmt.Errorf("snapshot of %d tables and %d tablets has %d and %d", l.wantTables, l.wantTablets, len(l.state.tables), len(l.tablets))
	}
	slices.SortFunc(l.tablets, func(a, b *Tablet) int { return cmp.Compare(a.Number, b.Number) })
	for i := 1; i < len(l.tablets); i++ {
		if a, b := l.tablets[i-1], l.tablets[i]; a.Number == b.Number {
			return fmt.Errorf("tablets %v and %v have one number, %d", a.Extent, b.Extent, a.Number)
		}
	}
	l.state.tablets = chunkedOf(l.tablets)
	uses, err := usesOf(l.tablets)
	l.state.files = chunkedOf(uses)
	l.stage, l.tablets = whole, nil
	if err != nil {
		return err
	}
	return in.end()
}

// usesOf counts who names which file.
func usesOf(tablets []*Tablet) ([]use, error) {
	var claims []*FileRef
	for _, t := range tablets {
		for i := range t.Files {
			claims = append(claims, &t.Files[i])
		}
	}
	slices.SortStableFunc(claims, func(a, b *FileRef) int { return cmp.Compare(a.Number, b.Number) })
	var uses []use
	for _, f := range claims {
		if len(uses) == 0 || uses[len(uses)-1].file.Number != f.Number {
			uses = append(uses, use{f, 1})
			continue
		}
		u := &uses[len(uses)-1]
		if g := u.file; f.Name != g.Name || f.Bytes != g.Bytes || f.ID != g.ID || f.CRC != g.CRC {
			return nil, fmt.Errorf("file %d is two different ones, %q of %d bytes and %q of %d", f.Number, f.Name, f.Bytes, g.Name, g.Bytes)
		}
		u.tablets++
	}
	return uses, nil
}

func (l *loader) edit(in *input) error {
	edits, err := in.edits()
	if err != nil {
		return err
	}
	if len(edits) == 0 {
		return fmt.Errorf("edits record without edits")
	}
	after, err := Apply(&l.state, edits...)
	if err != nil {
		return err
	}
	l.state = *after
	l.edits++
	return nil
}

package manifest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"millrace/tablet"
)

// ErrRefused marks an edit that breaks a rule. Nothing was written, and the state is what it was.
var ErrRefused = errors.New("refused")

// Refusal says why an edit was refused. It is an ErrRefused to errors.Is.
type Refusal struct {
	Edit  string // kind of the edit
	Where string // table, tablet and file, as far as they matter
	What  string // the rule and the value that breaks it
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("manifest: %s of %s refused: %s", r.Edit, r.Where, r.What)
}

// Is makes errors.Is(err, ErrRefused) true.
func (r *Refusal) Is(target error) bool { return target == ErrRefused }

// Apply returns the state after some edits, which take effect together. The old state stays as it is. The error is a
// *Refusal; it is never a panic, whatever the edits say. What edits point at must not be changed afterwards.
func Apply(s *State, edits ...Edit) (*State, error) {
	d, err := change(s, edits)
	if err != nil {
		return nil, err
	}
	after := d.State // without what the draft keeps besides
	return &after, nil
}

// draft is a state being made.
type draft struct {
	State
	gone []*FileRef // files that lost their last claim, which a later edit cannot give back
	new  []*FileRef // files that no tablet named before
}

func change(s *State, edits []Edit) (*draft, error) {
	d := &draft{State: *s}
	for i, e := range edits {
		if !byValue(e) {
			return nil, &Refusal{Edit: fmt.Sprintf("edit %d", i), Where: "the store", What: fmt.Sprintf("it is a %T", e)}
		}
		if err := e.apply(d); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// byValue is false for nil, and for pointers to edits, which could be nil or change.
func byValue(e Edit) bool {
	switch e.(type) {
	case CreateTable, DropTable, SetProperties, Install, Swap, Import, Split, Advance, Open:
		return true
	}
	return false
}

// spend remembers that a number was handed out.
func (d *draft) spend(number uint64) { d.nextNumber = max(d.nextNumber, number+1) }

// newNumber says what is wrong with the number of a new table, tablet or file.
func (d *draft) newNumber(n uint64) string {
	switch {
	case n == 0:
		return "number is 0"
	case n > maxNumber:
		return fmt.Sprintf("number %d is too large", n)
	case n < d.opened:
		return fmt.Sprintf("number %d belongs to an earlier run, whose numbers end below %d", n, d.opened)
	}
	return ""
}

func (e CreateTable) apply(d *draft) error {
	r := refusal{edit: "create table", table: e.Table}
	at, taken := d.findTable(e.Table)
	switch {
	case taken:
		return r.because("it exists with ID %d", d.tables[at].ID)
	case e.Table == "" || len(e.Table) > maxTableName || !utf8.ValidString(e.Table):
		return r.because("a table's name is 1 to %d bytes of UTF-8", maxTableName)
	case len(e.Tablets) != len(e.Splits)+1:
		return r.because("%d splits make %d tablets, not %d", len(e.Splits), len(e.Splits)+1, len(e.Tablets))
	}
	if why := d.newNumber(e.ID); why != "" {
		return r.because("ID: %s", why)
	}
	for _, t := range d.tables {
		if t.ID == e.ID {
			return r.because("ID %d is that of table %q", e.ID, t.Name)
		}
	}
	d.spend(e.ID)
	t := &Table{Name: e.Table, ID: e.ID, Properties: maps.Clone(e.Properties)}
	slots, err := e.slots(d)
	if err != nil {
		return err
	}
	t.order = chunkedOf(slots)
	d.tables = slices.Insert(slices.Clone(d.tables), at, t)
	return nil
}

// slots makes the table's tablets.
func (e CreateTable) slots(d *draft) ([]slot, error) {
	slots := make([]slot, len(e.Tablets))
	var prev []byte
	for i, number := range e.Tablets {
		r := refusal{edit: "create table", table: e.Table, tablet: number}
		var end []byte
		if i < len(e.Splits) {
			end = e.Splits[i]
			if end == nil || i > 0 && compareEnds(prev, end) >= 0 {
				return nil, r.because("split row %q does not follow %q", end, prev)
			}
		}
		slots[i] = slot{end, number}
		extent := tablet.Extent{Table: e.Table, PrevEndRow: prev, EndRow: end}
		if err := d.addTablet(r, &Tablet{Number: number, Extent: extent, NextAge: firstAge}); err != nil {
			return nil, err
		}
		prev = end
	}
	return slots, nil
}

// firstAge leaves 0 to mean no age.
const firstAge = 1

func (d *draft) addTablet(r refusal, t *Tablet) error {
	if why := d.newNumber(t.Number); why != "" {
		return r.because("%s", why)
	}
	p, taken := d.findTablet(t.Number)
	if taken {
		return r.because("number %d is that of %v", t.Number, d.tablets.get(p).Extent)
	}
	d.spend(t.Number)
	d.tablets = d.tablets.insert(p, t)
	return nil
}

func (d *draft) setTablet(t *Tablet) {
	p, _ := d.findTablet(t.Number)
	d.tablets = d.tablets.set(p, t)
}

func (d *draft) removeTablet(number uint64) {
	p, _ := d.findTablet(number)
	d.tablets = d.tablets.remove(p)
}

// setTable puts a table in the place of the one with its name.
func (d *draft) setTable(t *Table) {
	at, _ := d.findTable(t.Name)
	d.tables = slices.Clone(d.tables)
	d.tables[at] = t
}

func (e DropTable) apply(d *draft) error {
	at, ok := d.findTable(e.Table)
	if !ok {
		return refusal{edit: "drop", table: e.Table}.because("there is no such table")
	}
	for t := range d.Tablets(d.tables[at]) {
		for i := range t.Files {
			d.release(t.Files[i].Number)
		}
		d.removeTablet(t.Number)
	}
	d.tables = slices.Delete(slices.Clone(d.tables), at, at+1)
	return nil
}

func (e SetProperties) apply(d *draft) error {
	at, ok := d.findTable(e.Table)
	if !ok {
		return refusal{edit: "set properties", table: e.Table}.because("there is no such table")
	}
	t := *d.tables[at]
	t.Properties = maps.Clone(e.Properties)
	d.setTable(&t)
	return nil
}

func (e Advance) apply(d *draft) error { return d.advance("advance", e.NextNumber, e.NextLSN) }

func (e Open) apply(d *draft) error {
	if err := d.advance("open", e.NextNumber, e.NextLSN); err != nil {
		return err
	}
	d.opened = max(d.opened, e.NextNumber)
	return nil
}

func (d *draft) advance(edit string, number, lsn uint64) error {
	if number > maxNumber+1 || lsn > maxNumber+1 {
		return refusal{edit: edit}.because("next number %d or sequence number %d is too large", number, lsn)
	}
	d.nextNumber, d.nextLSN = max(d.nextNumber, number), max(d.nextLSN, lsn)
	return nil
}

package manifest

import (
	"bytes"
	"slices"

	"millrace/tablet"
)

// tabletFor finds the tablet that an edit is about.
func (d *draft) tabletFor(edit string, number uint64) (*Tablet, refusal, error) {
	r := refusal{edit: edit, tablet: number}
	t := d.Tablet(number)
	if t == nil {
		return nil, r, r.because("there is no tablet %d", number)
	}
	return t, r.ofTablet(t), nil
}

func (e Install) apply(d *draft) error {
	t, r, err := d.tabletFor("install", e.Tablet)
	if err != nil {
		return err
	}
	switch {
	case e.Session <= t.Session || e.Session > maxNumber:
		return r.because("session %d does not follow session %d", e.Session, t.Session)
	case e.Time < t.Time:
		return r.because("time goes back from %d to %d", t.Time, e.Time)
	}
	gone, stay, err := d.divide(r, t, e.Remove)
	if err != nil {
		return err
	}
	after := *t
	after.Files, after.Session, after.Time = stay, e.Session, e.Time
	if e.Add != nil {
		ages, least := e.Add.Ages, t.NextAge
		if len(gone) > 0 {
			least = agesOf(gone).Oldest
		}
		if ages.Oldest < least || ages.Newest < t.NextAge {
			return r.ofFile(e.Add).because("ages %d to %d are not those of the files merged and of a memtable, %d or more",
				ages.Oldest, ages.Newest, t.NextAge)
		}
		if err := d.replace(r, &after, e.Add, gone); err != nil {
			return err
		}
	}
	d.setTablet(&after)
	return nil
}

// replace adds the output of a job to the files that stay.
func (d *draft) replace(r refusal, after *Tablet, add *FileRef, gone []FileRef) error {
	if why := passesOver(add, gone, after.Files); why != "" {
		return r.ofFile(add).because("%s", why)
	}
	return d.add(r, after, add, within)
}

func (e Swap) apply(d *draft) error {
	t, r, err := d.tabletFor("swap", e.Tablet)
	if err != nil {
		return err
	}
	if len(e.Remove) == 0 {
		return r.because("no files are removed")
	}
	gone, stay, err := d.divide(r, t, e.Remove)
	if err != nil {
		return err
	}
	after := *t
	after.Files = stay
	if e.Add != nil {
		if ages, most := e.Add.Ages, agesOf(gone); ages.Oldest < most.Oldest || ages.Newest > most.Newest {
			return r.ofFile(e.Add).because("ages %d to %d are not within %d to %d, those of the files removed",
				ages.Oldest, ages.Newest, most.Oldest, most.Newest)
		}
		if err := d.replace(r, &after, e.Add, gone); err != nil {
			return err
		}
	}
	d.setTablet(&after)
	return nil
}

func (e Import) apply(d *draft) error {
	t, r, err := d.tabletFor("import", e.Tablet)
	if err != nil {
		return err
	}
	if len(e.Add) == 0 {
		return r.because("no files are given")
	}
	after := *t
	after.Files = slices.Clone(t.Files)
	for i := range e.Add {
		f := &e.Add[i]
		if j := slices.IndexFunc(after.Files, func(o FileRef) bool { return meetAges(f.Ages, o.Ages) }); j >= 0 && checkFile(f) == "" && d.Named(f.Number) == nil {
			return r.ofFile(f).because("%s", overlap(f, &after.Files[j]))
		}
		if err := d.add(r, &after, f, meets); err != nil {
			return err
		}
	}
	d.setTablet(&after)
	return nil
}

// divide parts a tablet's files into those that go, which lose a claim, and those that stay.
func (d *draft) divide(r refusal, t *Tablet, remove []uint64) (gone, stay []FileRef, err error) {
	stay = slices.Clone(t.Files)
	for _, n := range remove {
		i := slices.IndexFunc(stay, func(f FileRef) bool { return f.Number == n })
		if i < 0 {
			return nil, nil, r.ofNumber(n).because("file %d is not the tablet's, or is removed twice", n)
		}
		gone = append(gone, stay[i])
		stay = slices.Delete(stay, i, i+1)
		d.release(n)
	}
	return gone, stay, nil
}

// agesOf is what the ages of files span.
func agesOf(files []FileRef) tablet.AgeRange {
	ages := files[0].Ages
	for _, f := range files[1:] {
		ages.Oldest, ages.Newest = min(ages.Oldest, f.Ages.Oldest), max(ages.Newest, f.Ages.Newest)
	}
	return ages
}

// rowRule says how a new file's rows must lie to the tablet's.
type rowRule uint8

const (
	within rowRule = iota // all are the tablet's
	meets                 // some may be
)

// add puts a file that is new to the store among those of a tablet that is being made.
func (d *draft) add(r refusal, t *Tablet, f *FileRef, rule rowRule) error {
	r = r.ofFile(f)
	if why := d.newNumber(f.Number); why != "" {
		return r.because("%s", why)
	}
	if why := checkFile(f); why != "" {
		return r.because("%s", why)
	}
	if p, ok := d.findFile(f.Number); ok {
		return r.because("number %d is that of %s, which the store has", f.Number, d.files.get(p).file.Name)
	}
	if slices.ContainsFunc(d.gone, func(g *FileRef) bool { return g.Number == f.Number }) {
		return r.because("number %d is that of a file just removed", f.Number)
	}
	if why := checkRows(t, f, rule); why != "" {
		return r.because("%s", why)
	}
	if why := t.place(f); why != "" {
		return r.because("%s", why)
	}
	t.NextAge = max(t.NextAge, f.Ages.Newest+1)
	d.spend(f.Number)
	own := *f
	d.new = append(d.new, &own)
	d.claim(&own)
	return nil
}

// claim counts one more tablet that names a file.
func (d *draft) claim(f *FileRef) {
	p, ok := d.findFile(f.Number)
	if !ok {
		d.files = d.files.insert(p, use{f, 1})
		return
	}
	u := d.files.get(p)
	u.tablets++
	d.files = d.files.set(p, u)
}

// release counts one tablet less.
func (d *draft) release(number uint64) {
	p, _ := d.findFile(number)
	u := d.files.get(p)
	if u.tablets--; u.tablets > 0 {
		d.files = d.files.set(p, u)
		return
	}
	d.files = d.files.remove(p)
	d.gone = append(d.gone, u.file)
}

func (e Split) apply(d *draft) error {
	t, r, err := d.tabletFor("split", e.Tablet)
	if err != nil {
		return err
	}
	switch {
	case e.Row == nil || !t.Extent.Contains(e.Row) || t.Extent.EndRow != nil && bytes.Equal(e.Row, t.Extent.EndRow):
		return r.because("row %q is not inside", e.Row)
	case e.Low.Number == e.High.Number:
		return r.because("both halves are numbered %d", e.Low.Number)
	}
	low, high := *t, *t
	low.Extent.EndRow, high.Extent.PrevEndRow = e.Row, e.Row
	if err := e.Low.inherit(d, r, &low); err != nil {
		return err
	}
	if err := e.High.inherit(d, r, &high); err != nil {
		return err
	}
	for i := range t.Files {
		f := &t.Files[i]
		if low.File(f.Number) == nil && high.File(f.Number) == nil {
			return r.ofFile(f).because("neither half has it")
		}
		d.release(f.Number) // never the last claim: a half has one
	}
	return e.put(d, r, t, &low, &high)
}

// inherit gives a half its number and its files, and claims them.
func (h Half) inherit(d *draft, r refusal, t *Tablet) error {
	parent := t.Files
	t.Number, t.Files = h.Number, nil
	for _, n := range h.Files {
		if !slices.ContainsFunc(parent, func(f FileRef) bool { return f.Number == n }) {
			return r.ofNumber(n).because("tablet %d is to have file %d, which is not the tablet's", h.Number, n)
		}
	}
	for i := range parent {
		f := &parent[i]
		if slices.Contains(h.Files, f.Number) {
			t.Files = append(t.Files, *f)
			d.claim(f)
		} else if checkRows(t, f, meets) == "" && f.FirstRow != nil {
			return r.ofFile(f).because("tablet %d, %v, is to go without it, though its rows are %q to %q", h.Number, t.Extent, f.FirstRow, f.LastRow)
		}
	}
	if len(t.Files) != len(h.Files) {
		return r.because("tablet %d is to have a file twice", h.Number)
	}
	return nil
}

// put exchanges a tablet for its halves.
func (e Split) put(d *draft, r refusal, old, low, high *Tablet) error {
	d.removeTablet(old.Number)
	for _, half := range []*Tablet{low, high} {
		if half.Number == old.Number {
			p, _ := d.findTablet(half.Number)
			d.tablets = d.tablets.insert(p, half)
		} else if err := d.addTablet(r, half); err != nil {
			return err
		}
	}
	table := *d.Table(old.Extent.Table)
	p, _ := table.findSlot(old.Extent.EndRow)
	table.order = table.order.set(p, slot{old.Extent.EndRow, high.Number}).insert(p, slot{e.Row, low.Number})
	d.setTable(&table)
	return nil
}

package hosted

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"

	"millrace/tablet"
)

// file is one of the tablet's files, with the views that hold it.
type file struct {
	meta  tablet.FileMeta
	views atomic.Int64 // views that hold it, the published one among them
	left  atomic.Bool  // it is no longer the tablet's
}

// newestFirst orders files for reading. Files whose ages overlap share no key, so their order is free.
func newestFirst(a, b *file) int {
	return cmp.Or(
		-cmp.Compare(a.meta.Ages.Newest, b.meta.Ages.Newest),
		-cmp.Compare(a.meta.Ages.Oldest, b.meta.Ages.Oldest),
		-cmp.Compare(a.meta.Number, b.meta.Number))
}

func (t *Tablet) insertFile(meta tablet.FileMeta) {
	f := &file{meta: meta}
	at, _ := slices.BinarySearchFunc(t.files, f, newestFirst)
	// Views keep the old slice, so it is not changed in place.
	t.files = slices.Insert(slices.Clone(t.files), at, f)
}

func (t *Tablet) find(number uint64) *file {
	for _, f := range t.files {
		if f.meta.Number == number {
			return f
		}
	}
	return nil
}

// replace takes inputs out, puts an output in unless it is nil, and publishes. Every input is the tablet's.
func (t *Tablet) replace(inputs []uint64, output *tablet.FileMeta) {
	wasSelected := false
	t.files = slices.DeleteFunc(slices.Clone(t.files), func(f *file) bool {
		if !slices.Contains(inputs, f.meta.Number) {
			return false
		}
		f.left.Store(true)
		wasSelected = wasSelected || t.selected[f.meta.Number]
		delete(t.selected, f.meta.Number)
		return true
	})
	if output != nil {
		t.insertFile(*output)
		if wasSelected {
			t.selected[output.Number] = true
		}
	}
	t.publish()
}

// ReserveAges sets n ages apart for files about to be imported, and returns them. They are newer than everything in the
// tablet but its active memtable. No compaction reaches across them until Import or ReleaseAges. As readers take all
// memtables to be newer than all files, Import has to wait for memtables that were frozen before.
func (t *Tablet) ReserveAges(n int) tablet.AgeRange {
	ages := tablet.AgeRange{Oldest: t.nextAge, Newest: t.nextAge + uint64(n) - 1}
	t.nextAge += uint64(n)
	t.reserved = append(t.reserved, ages)
	return ages
}

// ReleaseAges gives up ages that were set apart.
func (t *Tablet) ReleaseAges(ages tablet.AgeRange) {
	t.reserved = slices.DeleteFunc(t.reserved, func(r tablet.AgeRange) bool { return r == ages })
}

// reaches says whether a compaction of these ages would stand before or behind a file that is about to be imported, which
// is older than the newest input.
func (t *Tablet) reaches(ages tablet.AgeRange) bool {
	return slices.ContainsFunc(t.reserved, func(r tablet.AgeRange) bool { return r.Oldest < ages.Newest })
}

// CheckImport says whether Import would succeed: to be asked before the change is recorded.
func (t *Tablet) CheckImport(ages tablet.AgeRange, files []tablet.FileMeta) error {
	if !slices.Contains(t.reserved, ages) {
		return fmt.Errorf("hosted: import: ages %d to %d were not set apart: %w", ages.Oldest, ages.Newest, ErrAges)
	}
	if len(t.frozen) > 0 && t.frozen[0].age < ages.Newest {
		return fmt.Errorf("hosted: import: the older memtable of age %d is not in a file yet: %w", t.frozen[0].age, ErrInUse)
	}
	if err := checkFiles(files); err != nil {
		return err
	}
	for i := range files {
		f := &files[i]
		if t.find(f.Number) != nil {
			return fmt.Errorf("hosted: import file %d: %w", f.Number, ErrDuplicate)
		}
		if f.Ages.Oldest < ages.Oldest || f.Ages.Newest > ages.Newest {
			return fmt.Errorf("hosted: import file %d: ages %d to %d are not those set apart: %w", f.Number, f.Ages.Oldest, f.Ages.Newest, ErrAges)
		}
		for _, other := range files[:i] {
			if overlap(f.Ages, other.Ages) {
				return fmt.Errorf("hosted: import file %d: ages %d to %d are file %d's: %w", f.Number, f.Ages.Oldest, f.Ages.Newest, other.Number, ErrAges)
			}
		}
	}
	return nil
}

// Import takes files in, each with some of the ages that ReserveAges set apart for them, no two with the same.
func (t *Tablet) Import(ages tablet.AgeRange, files []tablet.FileMeta) error {
	if err := t.CheckImport(ages, files); err != nil {
		return err
	}
	t.ReleaseAges(ages)
	for _, meta := range files {
		// A user's wish that came after the ages were set apart means this file too.
		for _, f := range t.files {
			if t.selected[f.meta.Number] && f.meta.Ages.Newest > meta.Ages.Oldest {
				t.selected[meta.Number] = true
			}
		}
		t.insertFile(meta)
	}
	t.publish()
	return nil
}

func (t *Tablet) metas() []tablet.FileMeta { return metasOf(t.files) }

func metasOf(files []*file) []tablet.FileMeta {
	metas := make([]tablet.FileMeta, len(files))
	for i, f := range files {
		metas[i] = f.meta
	}
	return metas
}

func numbersOf(metas []tablet.FileMeta) []uint64 {
	numbers := make([]uint64, len(metas))
	for i := range metas {
		numbers[i] = metas[i].Number
	}
	return numbers
}

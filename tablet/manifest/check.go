package manifest

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"millrace/tablet"
)

// checkFile says what is wrong with a claim in itself.
func checkFile(f *FileRef) string {
	switch n, ok := ParseFileName(f.Name); {
	case !ok:
		return fmt.Sprintf("name %q is not of the form %s", clip(f.Name), FileName("F", 1))
	case n != f.Number:
		return fmt.Sprintf("name %q is that of file %d", f.Name, n)
	}
	rows := f.FirstRow != nil
	switch {
	case f.Bytes <= 0 || f.Entries <= 0 || f.Deletes < 0 || f.Deletes > f.Entries:
		return fmt.Sprintf("%d bytes, %d entries, %d of them deletes", f.Bytes, f.Entries, f.Deletes)
	case rows != (f.LastRow != nil) || rows && bytes.Compare(f.FirstRow, f.LastRow) > 0:
		return fmt.Sprintf("rows are %q to %q", f.FirstRow, f.LastRow)
	case f.TimestampsKnown && f.MinTimestamp > f.MaxTimestamp:
		return fmt.Sprintf("timestamps are %d to %d", f.MinTimestamp, f.MaxTimestamp)
	case f.Ages.Oldest < firstAge || f.Ages.Oldest > f.Ages.Newest || f.Ages.Newest > maxNumber:
		return fmt.Sprintf("ages are %d to %d", f.Ages.Oldest, f.Ages.Newest)
	case f.Fence.After != nil && f.Fence.Last != nil && bytes.Compare(f.Fence.After, f.Fence.Last) >= 0:
		return fmt.Sprintf("fence (%q,%q] is empty", f.Fence.After, f.Fence.Last)
	}
	return ""
}

// checkRows says how a file's rows, if they are known, break the rule for a tablet.
func checkRows(t *Tablet, f *FileRef, rule rowRule) string {
	if f.FirstRow == nil {
		return ""
	}
	first, last := t.Extent.Contains(f.FirstRow), t.Extent.Contains(f.LastRow)
	if rule == within && first && last {
		return ""
	}
	// They meet when neither lies wholly on one side of the other.
	below := t.Extent.PrevEndRow != nil && bytes.Compare(f.LastRow, t.Extent.PrevEndRow) <= 0
	above := t.Extent.EndRow != nil && bytes.Compare(f.FirstRow, t.Extent.EndRow) > 0
	if rule == meets && !below && !above {
		return ""
	}
	return fmt.Sprintf("rows %q to %q are not those of %v", f.FirstRow, f.LastRow, t.Extent)
}

// place inserts a file among those of a tablet that is being made, newest first. Ages of files may overlap, since a
// compaction passes over files that hold no key of its inputs (see passesOver); but each age at an end of a run is that of
// one memtable or imported file, whose entries are in one file alone.
func (t *Tablet) place(f *FileRef) string {
	for i := range t.Files {
		if a, other := f.Ages, t.Files[i].Ages; a.Oldest == other.Oldest || a.Oldest == other.Newest || a.Newest == other.Oldest || a.Newest == other.Newest {
			return overlap(f, &t.Files[i])
		}
	}
	i, _ := slices.BinarySearchFunc(t.Files, f, func(a FileRef, b *FileRef) int { return -cmp.Compare(a.Ages.Newest, b.Ages.Newest) })
	t.Files = slices.Insert(t.Files, i, *f)
	return ""
}

// passesOver says which file that stays could hold a key equal to one of a file that goes, while the ages of what comes
// reach over its own: which of the two keys is newer would change. What is known of the file that comes does not help: the
// rows of its inputs may lie on both sides of the other's.
func passesOver(f *FileRef, gone, stay []FileRef) string {
	for i := range stay {
		s := &stay[i]
		if !meetAges(f.Ages, s.Ages) {
			continue
		}
		for j := range gone {
			if gone[j].meets(s) {
				return fmt.Sprintf("%s, and it may hold keys of file %d, which is to go", overlap(f, s), gone[j].Number)
			}
		}
	}
	return ""
}

func meetAges(a, b tablet.AgeRange) bool { return a.Oldest <= b.Newest && b.Oldest <= a.Newest }

// meets says whether two files can hold equal keys, as far as is known of them.
func (f *FileRef) meets(other *FileRef) bool {
	rows := f.FirstRow == nil || other.FirstRow == nil ||
		bytes.Compare(f.FirstRow, other.LastRow) <= 0 && bytes.Compare(other.FirstRow, f.LastRow) <= 0
	times := !f.TimestampsKnown || !other.TimestampsKnown || f.MinTimestamp <= other.MaxTimestamp && other.MinTimestamp <= f.MaxTimestamp
	return rows && times
}

func overlap(f, other *FileRef) string {
	return fmt.Sprintf("ages %d to %d overlap those of file %d, %d to %d", f.Ages.Oldest, f.Ages.Newest,
		other.Number, other.Ages.Oldest, other.Ages.Newest)
}

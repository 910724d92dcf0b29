package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// String is the whole state as text, the same for equal states: a line for the store and for each table, tablet and file.
func (s *State) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "next number %d, next sequence number %d, opened at %d\n", s.NextNumber(), s.NextLSN(), s.opened)
	for _, t := range s.tables {
		fmt.Fprintf(&b, "table %q, ID %d\n", t.Name, t.ID)
		for _, name := range slices.Sorted(maps.Keys(t.Properties)) {
			fmt.Fprintf(&b, "  %s=%q\n", name, t.Properties[name])
		}
		for tab := range s.Tablets(t) {
			fmt.Fprintf(&b, "  tablet %d %v, time %d, session %d, next age %d\n", tab.Number, tab.Extent, tab.Time, tab.Session, tab.NextAge)
			for i := range tab.Files {
				fmt.Fprintf(&b, "    %v\n", &tab.Files[i])
			}
		}
	}
	return b.String()
}

// String is all that is known of the file.
func (f *FileRef) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, ages %d to %d, %d bytes, %d entries, %d deletes", f.Name, f.Ages.Oldest, f.Ages.Newest, f.Bytes, f.Entries, f.Deletes)
	if f.FirstRow != nil {
		fmt.Fprintf(&b, ", rows %q to %q", f.FirstRow, f.LastRow)
	}
	if f.TimestampsKnown {
		fmt.Fprintf(&b, ", timestamps %d to %d", f.MinTimestamp, f.MaxTimestamp)
	}
	fmt.Fprintf(&b, ", identity %x, CRC32C %08x", f.ID, f.CRC)
	if f.Fence.After != nil || f.Fence.Last != nil {
		fmt.Fprintf(&b, ", fence (%s,%s]", quoteBound(f.Fence.After), quoteBound(f.Fence.Last))
	}
	return b.String()
}

func quoteBound(row []byte) string {
	if row == nil {
		return "∞"
	}
	return fmt.Sprintf("%q", row)
}

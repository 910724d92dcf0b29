package job

import (
	"context"
	"testing"

	"millrace/internal/invariant"
	"millrace/tablet"
	"millrace/tablet/iter"
)

// auditEntry is an entry of one cell per row.
func auditEntry(row string, ts int64, deleted bool, value string) tablet.Entry {
	return tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: []byte(row), Family: []byte("f"), Timestamp: ts, Deleted: deleted}), Value: []byte(value)}
}

// TestAudit holds right books and wrong ones against the audit's.
func TestAudit(t *testing.T) {
	if !invariant.Enabled {
		t.Skip("only with the build tag invariants")
	}
	newer := []tablet.Entry{auditEntry("a", 9, false, "new"), auditEntry("b", 5, true, ""), auditEntry("b", 5, false, "hidden"), auditEntry("c", 3, false, "x")}
	older := []tablet.Entry{auditEntry("a", 9, false, "old"), auditEntry("b", 4, false, "hidden too"), auditEntry("c", 2, false, "y"), auditEntry("c", 1, false, "z")}
	f := func(what string, s Spec, below iter.Books, wrote []tablet.Entry, fine bool) {
		t.Helper()
		a := newAudit(&s)
		sources := []iter.Source{iter.FromBatches(iter.Batches(newer, 2)), iter.FromBatches(iter.Batches(older, 3))}
		a.watch(sources)
		for _, s := range sources {
			for {
				b, err := s.Next(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				if b == nil {
					break
				}
			}
		}
		for _, b := range iter.Batches(wrote, 10) {
			a.wrote(b, 0, uint32(b.Len()))
		}
		defer func() {
			t.Helper()
			if r := recover(); (r == nil) != fine {
				t.Errorf("%s: %v", what, r)
			}
		}()
		a.close(below, false)
	}
	partial := []tablet.Entry{newer[0], older[0], newer[1], newer[3], older[2], older[3]}
	kept := iter.Books{Read: 8, Written: 6, Hidden: 2}
	f("partial", Spec{}, kept, partial, true)
	f("an entry less", Spec{}, kept, partial[1:], false)
	f("another value", Spec{}, kept, append(partial[:5:5], auditEntry("c", 1, false, "Z")), false)
	f("one twice for another", Spec{}, kept, append(partial[:5:5], partial[4]), false)
	f("counted as a version", Spec{}, iter.Books{Read: 8, Written: 6, Hidden: 1, Versions: 1}, partial, false)
	f("full", Spec{Full: true}, iter.Books{Read: 8, Written: 5, Hidden: 2, Markers: 1}, append(partial[:2:2], partial[3:]...), true)
	f("marker kept", Spec{Full: true}, kept, partial, false)
	f("two versions", Spec{Full: true, MaxVersions: 2}, iter.Books{Read: 8, Written: 4, Hidden: 2, Markers: 1, Versions: 1}, append(partial[:2:2], partial[3:5]...), true)
	f("older of two equal keys", Spec{Full: true, MaxVersions: 1}, iter.Books{Read: 8, Written: 2, Hidden: 2, Markers: 1, Versions: 3}, []tablet.Entry{older[0], newer[3]}, false)
	f("all", Spec{KeepAll: true}, iter.Books{Read: 8, Written: 8}, append(newer[:4:4], older...), true)
}

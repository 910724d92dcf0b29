package locate

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"millrace/tablet"
)

// TestWalk goes over sorted rows as binning does, and must find what Find finds.
func TestWalk(t *testing.T) {
	row := rapid.Custom(func(t *rapid.T) []byte {
		b := []byte(rapid.SampledFrom([]string{"", "a", "aaaaaaaa", "\xff\xff\xff\xff\xff\xff\xff\xff"}).Draw(t, "common"))
		for range rapid.IntRange(0, 2).Draw(t, "more") {
			b = append(b, rapid.SampledFrom([]byte{0, 'a', 'b', 0xff}).Draw(t, "byte"))
		}
		return b
	})
	rapid.Check(t, func(t *rapid.T) {
		m := FromSplits(1, "t", rapid.SliceOfN(row, 0, 20).Draw(t, "splits"))
		if rapid.Bool().Draw(t, "split") {
			if next, err := m.Split(row.Draw(t, "at")); err == nil {
				m = next
			}
		}
		if rapid.Bool().Draw(t, "partial") {
			var known []tablet.Extent
			for _, e := range m.Extents() {
				if rapid.IntRange(0, 3).Draw(t, "known") > 0 {
					known = append(known, e)
				}
			}
			m, _ = NewPartial(1, known)
		}
		rows := rapid.SliceOfN(row, 1, 12).Draw(t, "rows")
		near := 0
		for i, r := range rows {
			if i > 0 && bytes.Compare(r, rows[i-1]) < 0 {
				near = 0 // out of order: from the front again
			}
			want, held := m.Find(r)
			if got, ok := m.FindFrom(r, near); got != want || ok != held {
				t.Fatalf("row %q from %d: %d %v, want %d %v", r, near, got, ok, want, held)
			}
			if got, ok := m.FindPrefix(PrefixOf(r), near); ok && (got != want || !held) {
				t.Fatalf("prefix of %q from %d: %d, want %d %v", r, near, got, want, held)
			}
			near = min(want, m.Len())
		}
	})
}

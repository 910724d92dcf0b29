package iter

import (
	"bytes"
	"testing"

	"millrace/tablet"
)

// TestCompareRows holds the comparison of tied rows in place against that of keys.
func TestCompareRows(t *testing.T) {
	r := random(t)
	decided := 0
	for range rounds(200_000) {
		row := func() []byte {
			b := bytes.Repeat([]byte{'0'}, r.IntN(30))
			for range r.IntN(3) {
				if len(b) > 0 {
					b[r.IntN(len(b))]++
				}
			}
			return b
		}
		base := tablet.NewKey(tablet.Fields{Row: row()})
		x, y := tablet.NewKey(tablet.Fields{Row: row(), Family: []byte("family")}), tablet.NewKey(tablet.Fields{Row: row(), Family: []byte("family")})
		if tablet.Compare(&base, &x) > 0 || tablet.Compare(&base, &y) > 0 {
			continue
		}
		code := tablet.CodeOf(&base, &x)
		if code != tablet.CodeOf(&base, &y) || code < tablet.CodeSameRow {
			continue
		}
		a, b := Batches([]tablet.Entry{{Key: x}}, 1)[0], Batches([]tablet.Entry{{Key: y}}, 1)[0]
		c, larger, ok := compareRows(a, b, 0, 0, code)
		if !ok {
			continue
		}
		decided++
		if wantC, want := tablet.CompareTied(&x, &y, code); c != wantC || larger != want {
			t.Fatalf("%v and %v after %v: %d and code %x, want %d and %x", x, y, base, c, larger, wantC, want)
		}
	}
	if decided < 100 {
		t.Errorf("%d comparisons were decided by rows", decided)
	}
}

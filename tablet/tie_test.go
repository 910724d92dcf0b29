package tablet

import (
	"bytes"
	"slices"
	"testing"
)

// TestTiesRandom holds comparisons from a common code on against whole ones, and the codes they make against computed ones.
func TestTiesRandom(t *testing.T) {
	r := random(t)
	ties := 0
	for range rounds(5000) {
		keys := randomKeys(r, 3+r.IntN(8))
		if r.IntN(50) == 0 {
			for i := range keys { // to where the chunk number saturates
				k := &keys[i]
				row := slices.Concat(bytes.Repeat([]byte("a"), 5105+r.IntN(3)), k.Row(), bytes.Repeat([]byte("a"), r.IntN(20)))
				*k = NewKey(Fields{row, k.Family(), k.Qualifier(), k.Visibility(), k.ts, k.deleted})
			}
		}
		slices.SortFunc(keys, func(a, b Key) int { return Compare(&a, &b) })
		base := &keys[0]
		for i := range keys {
			for j := range keys {
				a, b := &keys[i], &keys[j]
				code := CodeOf(base, a)
				if code != CodeOf(base, b) {
					continue
				}
				if i != j {
					ties++
				}
				c, larger := CompareTied(a, b, code)
				if want := Compare(a, b); c != want {
					t.Fatalf("%v and %v, tied by %#x, compare %d, want %d", a, b, code, c, want)
				}
				small, large := a, b
				if c > 0 {
					small, large = b, a
				}
				if want := naiveCode(small, large); larger != want {
					t.Fatalf("code of %v after %v is %#x, want %#x", large, small, larger, want)
				}
			}
		}
	}
	if ties < 1000 && !testing.Short() {
		t.Fatalf("%d ties: the keys are too easy", ties)
	}
	t.Logf("%d ties", ties)
}

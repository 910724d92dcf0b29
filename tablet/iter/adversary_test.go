package iter

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"millrace/tablet"
)

// adversary makes sources as hard on codes as can be: most keys share a long beginning with others and differ around a
// chunk's ends; a third of all keys are in several sources; some sources are empty, some hold one key over and over.
type adversary struct {
	*keyMaker
	prefix []byte
}

func newAdversary(r *rand.Rand) *adversary {
	a := &adversary{keyMaker: newKeyMaker(r)}
	shared := []int{0, 0, 4, 5, 6, 9, 10, 11, 40, 64}[r.IntN(10)]
	if r.IntN(200) == 0 {
		shared = 5100 + r.IntN(40) // where the chunk number ends
	}
	a.prefix = bytes.Repeat([]byte{a.alphabet[0]}, shared)
	return a
}

// lengthen puts the shared beginning in front of one field of a key, the same of all keys.
func (a *adversary) lengthen(k tablet.Key, field int) tablet.Key {
	f := tablet.Fields{Row: k.Row(), Family: k.Family(), Qualifier: k.Qualifier(), Visibility: k.Visibility(),
		Timestamp: k.Timestamp(), Deleted: k.Deleted()}
	at := []*[]byte{&f.Row, &f.Family, &f.Qualifier, &f.Visibility}[field]
	*at = slices.Concat(a.prefix, *at)
	return tablet.NewKey(f)
}

func (a *adversary) sources(k, most int) [][]tablet.Entry {
	out := a.keyMaker.sources(k, most)
	field := a.r.IntN(4)
	for s := range out {
		switch a.r.IntN(8) {
		case 0:
			out[s] = nil
			continue
		case 1:
			for i := range out[s] {
				out[s][i].Key = out[s][0].Key
			}
		}
		for i := range out[s] {
			out[s][i].Key = a.lengthen(out[s][i].Key, field)
		}
	}
	return out
}

// TestModesAgree runs every mode over the same sources, sought again and again: order, ties, codes, what the codes say of
// cells and rows, and codes over entries left out are held against direct computation.
func TestModesAgree(t *testing.T) {
	r := random(t)
	pool := NewPool()
	for range rounds(6_000) {
		a := newAdversary(r)
		sources := a.sources(1+r.IntN(12), 1+r.IntN(24))
		all := reference(sources)
		var merges []*Merge
		for _, mode := range allModes {
			merges = append(merges, verified(pool.Get(mode, openSources(r, sources))))
		}
		for pass := range 3 {
			rg, want := tablet.Range{}, all
			if pass > 0 {
				rg = adversarialRange(a, all)
				want = clip(all, rg, tablet.Families{})
			}
			var base *tablet.Key
			if start, ok := rg.Start(); ok && start.Inclusive {
				base = &start.Key
			}
			for _, m := range merges {
				if err := m.Seek(ctx, rg, tablet.Families{}); err != nil {
					t.Fatal(err)
				}
				if pass == 1 && r.IntN(2) == 0 { // leave in the middle
					if _, err := read(m, 2, r.IntN(5)); err != nil {
						t.Fatal(err)
					}
					continue
				}
				got := mustRead(t, m, 1+r.IntN(20))
				if !entriesEqual(got.entries, want) {
					t.Fatalf("%v, %v: got\n%swant\n%s", m.Mode(), rg, show(got.entries), show(want))
				}
				checkCodes(t, got, base)
				checkLeftOut(t, r, got)
				checkEnd(t, m)
			}
		}
		for _, m := range merges {
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// adversarialRange starts and ends at keys that are there, more often than not.
func adversarialRange(a *adversary, all []tablet.Entry) tablet.Range {
	for {
		var bounds [2]*tablet.Bound
		for i := range bounds {
			switch {
			case a.r.IntN(4) == 0:
			case len(all) > 0 && a.r.IntN(3) > 0:
				bounds[i] = &tablet.Bound{Key: all[a.r.IntN(len(all))].Key, Inclusive: a.r.IntN(2) == 0}
			default:
				bounds[i] = &tablet.Bound{Key: a.lengthen(a.key(), a.r.IntN(4)), Inclusive: a.r.IntN(2) == 0}
			}
		}
		if r, err := tablet.NewRange(bounds[0], bounds[1]); err == nil {
			return r
		}
	}
}

// checkLeftOut leaves out entries at random: the largest code of those left out and the next must be the next one's code
// against the last that stayed, and say what the two share.
func checkLeftOut(t *testing.T, r *rand.Rand, out output) {
	t.Helper()
	last, carry := -1, uint64(0)
	for i := range out.entries {
		carry = max(carry, out.codes[i])
		if last < 0 || r.IntN(3) == 0 {
			if last < 0 {
				last, carry = i, 0
			}
			continue
		}
		base, k := &out.entries[last].Key, &out.entries[i].Key
		if want := tablet.CodeOf(base, k); carry != want {
			t.Fatalf("%v after %v: %#x, want %#x", k, base, carry, want)
		}
		if same := tablet.SameCell(base, k); same != (carry < tablet.CodeSameCell) {
			t.Fatalf("%v after %v, code %#x: same cell %v", k, base, carry, same)
		}
		if same := tablet.SameRow(base, k); same != (carry < tablet.CodeSameRow) {
			t.Fatalf("%v after %v, code %#x: same row %v", k, base, carry, same)
		}
		last, carry = i, 0
	}
}

// TestMergeUnsorted feeds sources that are in no order: it must end with all entries, or with an error, whatever their order.
func TestMergeUnsorted(t *testing.T) {
	r := random(t)
	for range rounds(6_000) {
		a := newAdversary(r)
		sources := a.sources(2+r.IntN(6), 1+r.IntN(24))
		n := 0
		for _, s := range sources {
			n += len(s)
			for range r.IntN(4) {
				if len(s) > 1 {
					i, j := r.IntN(len(s)), r.IntN(len(s))
					s[i], s[j] = s[j], s[i]
				}
			}
		}
		for _, mode := range allModes {
			m := NewMerge(mode, openSources(r, sources))
			err := m.Seek(ctx, tablet.Range{}, tablet.Families{})
			var got output
			if err == nil {
				got, err = read(m, 1+r.IntN(20), -1)
			}
			if err == nil && len(got.entries) != n || err != nil && !errors.Is(err, tablet.ErrCorrupt) {
				t.Fatalf("%v: %d entries of %d, %v", mode, len(got.entries), n, err)
			}
			m.Close()
		}
	}
}

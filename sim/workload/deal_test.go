package workload

import (
	"math/rand/v2"
	"slices"
	"testing"

	"millrace/tablet"
)

func keysOf(t *testing.T, set KeySet, n int) []tablet.Entry {
	t.Helper()
	keys := set.Make(rand.New(rand.NewPCG(1, 1)), n)
	if len(keys) != n || !slices.IsSortedFunc(keys, func(a, b tablet.Entry) int { return tablet.Compare(&a.Key, &b.Key) }) {
		t.Fatalf("%s: %d keys, want %d, sorted", set.Name, len(keys), n)
	}
	return keys
}

// TestDealStretches wants every stretch whole and in one source, the next in another, and nothing lost.
func TestDealStretches(t *testing.T) {
	for _, set := range KeySets() {
		keys := keysOf(t, set, 1000)
		for _, k := range []int{1, 2, 3, 128} {
			for _, length := range []int{1, 3, 64, 4096} {
				sources := DealStretches(keys, k, length)
				if len(sources) != k {
					t.Fatalf("%d sources, want %d", len(sources), k)
				}
				of := map[string]int{}
				for i, s := range sources {
					for _, e := range s[:len(s)-1] {
						of[string(e.Value)] = i
					}
				}
				all := Merged(sources)
				if len(of) != len(keys) || len(all) != len(keys)+k {
					t.Fatalf("%d of %d keys dealt to %d sources", len(of), len(keys), k)
				}
				for i, e := range all[:len(keys)-1] {
					same := of[string(e.Value)] == of[string(all[i+1].Value)]
					if want := k == 1 || (i+1)%length != 0; same != want {
						t.Fatalf("%s, %d sources, stretches of %d: entries %d and %d in one source: %v", set.Name, k, length, i, i+1, same)
					}
				}
			}
		}
	}
}

func TestDealSkewed(t *testing.T) {
	sources := DealSkewed(keysOf(t, KeySets()[0], 10000), 2)
	if n := len(sources[0]); n < 7700 || n > 8300 {
		t.Errorf("%d of 10000 in the first source, want four in five", n)
	}
}

// TestDigest tells apart whatever differs.
func TestDigest(t *testing.T) {
	sources := DealStretches(keysOf(t, KeySets()[1], 100), 3, 4)
	all := Merged(sources)
	want := DigestOf(all)
	if got := DigestOf(slices.Clone(all)); got != want || want.Entries != 103 {
		t.Errorf("%v and %v", got, want)
	}
	f := func(what string, change func(entries []tablet.Entry) []tablet.Entry) {
		t.Helper()
		if DigestOf(change(slices.Clone(all))) == want {
			t.Errorf("%s: the digest is the same", what)
		}
	}
	f("one less", func(e []tablet.Entry) []tablet.Entry { return e[1:] })
	f("order", func(e []tablet.Entry) []tablet.Entry { e[3], e[4] = e[4], e[3]; return e })
	f("value", func(e []tablet.Entry) []tablet.Entry { e[3].Value = []byte("x"); return e })
}

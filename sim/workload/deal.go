package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"millrace/tablet"
)

// Dealing divides a sorted list among the sources of a merge. One high key keeps every source alive to the end.

// DealStretches deals stretches of a length, each to another source than the one before.
func DealStretches(sorted []tablet.Entry, sources, length int) [][]tablet.Entry {
	r := rand.New(rand.NewPCG(uint64(sources), uint64(length)))
	to := 0
	return deal(sorted, sources, func(i int) int {
		if sources > 1 && i%length == 0 {
			to = (to + 1 + r.IntN(sources-1)) % sources
		}
		return to
	})
}

// DealSkewed deals each entry at random, four to the first source for each to one of the others.
func DealSkewed(sorted []tablet.Entry, sources int) [][]tablet.Entry {
	r := rand.New(rand.NewPCG(uint64(sources), 41))
	return deal(sorted, sources, func(int) int { return max(0, r.IntN(4+sources-1)-3) })
}

// deal gives each entry its number as value.
func deal(sorted []tablet.Entry, sources int, source func(i int) int) [][]tablet.Entry {
	out := make([][]tablet.Entry, sources)
	for i, e := range sorted {
		s := source(i)
		e.Value = fmt.Appendf(nil, "%d", i)
		out[s] = append(out[s], e)
	}
	for i := range out {
		out[i] = append(out[i], tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: fmt.Appendf(nil, "zz%05d", i)})})
	}
	return out
}

// Merged is what a merge of sources must give, by sorting: of equal keys the first source's entry comes first.
func Merged(sources [][]tablet.Entry) []tablet.Entry {
	all := slices.Concat(sources...)
	slices.SortStableFunc(all, func(a, b tablet.Entry) int { return tablet.Compare(&a.Key, &b.Key) })
	return all
}

// Digest is a hash of entries in an order, and of the code of each: FNV-1a. The zero value is one of nothing.
type Digest struct {
	Entries int
	sum     uint64
}

// Add adds the next entry and its code.
func (d *Digest) Add(k *tablet.Key, value []byte, code uint64) {
	if d.Entries == 0 {
		d.sum = 14695981039346656037
	}
	d.Entries++
	for _, b := range [...][]byte{k.Row(), k.Family(), k.Qualifier(), k.Visibility(), value} {
		d.number(uint64(len(b)))
		for _, c := range b {
			d.number(uint64(c))
		}
	}
	d.number(uint64(k.Timestamp()))
	d.number(code)
}

func (d *Digest) number(n uint64) { d.sum = (d.sum ^ n) * 1099511628211 }

// DigestOf is the digest of entries, with codes computed from their keys.
func DigestOf(entries []tablet.Entry) Digest {
	var d Digest
	for i := range entries {
		code := tablet.CodeOfFirst(&entries[i].Key)
		if i > 0 {
			code = tablet.CodeOf(&entries[i-1].Key, &entries[i].Key)
		}
		d.Add(&entries[i].Key, entries[i].Value, code)
	}
	return d
}

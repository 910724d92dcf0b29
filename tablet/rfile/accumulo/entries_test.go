//go:build accumulo

package accumulo

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"millrace/tablet"
	"millrace/tablet/rfile"
)

func sortEntries(all []tablet.Entry) {
	slices.SortStableFunc(all, func(a, b tablet.Entry) int { return tablet.Compare(&a.Key, &b.Key) })
}

// hostile makes entries that are hard on an encoder: fields of few byte values, empty and nested ones, extreme
// timestamps, delete markers, equal keys in a row.
func hostile(rng *rand.Rand, n int) []tablet.Entry {
	alphabets := []string{"\x00\x01", "\x00\xff", "a", "ab\x00\xff\x7f", "0123456789abcdef"}
	alphabet := alphabets[rng.IntN(len(alphabets))]
	families := []string{"f", "ff", "", "\x00", "\xff"}
	times := []int64{math.MinInt64, math.MaxInt64, 0, -1, 1, 1_700_000_000_000}
	field := func(most int) []byte {
		b := make([]byte, rng.IntN(most+1))
		for i := range b {
			b[i] = alphabet[rng.IntN(len(alphabet))]
		}
		return b
	}
	var all []tablet.Entry
	for len(all) < n {
		ts := times[rng.IntN(len(times))]
		if rng.IntN(2) == 0 {
			ts = rng.Int64() - rng.Int64()
		}
		e := tablet.Entry{
			Key: tablet.NewKey(tablet.Fields{Row: field(12), Family: []byte(families[rng.IntN(len(families))]),
				Qualifier: field(3), Visibility: field(2), Timestamp: ts, Deleted: rng.IntN(8) == 0}),
			Value: field(40),
		}
		if e.Key.Size() == len(e.Key.Row()) && e.Key.Deleted() && ts == math.MaxInt64 {
			// A marker that sorts before the row that it is of: the range of the row before takes it in, and a Bloom filter
			// may deny it there. With an empty row Accumulo's writer refuses it, see TestLowestKey.
			continue
		}
		all = append(all, e)
		for rng.IntN(10) == 0 {
			again := all[len(all)-1].Clone()
			again.Value = field(5)
			all = append(all, again)
		}
	}
	sortEntries(all)
	return all
}

// orderly makes entries as tables have them: numbered rows with a few columns each.
func orderly(rng *rand.Rand, n int) []tablet.Entry {
	labels := []string{"", "", "A", "A&B", "(A|B)&C"}
	all := make([]tablet.Entry, 0, n)
	for i := range n {
		value := make([]byte, rng.IntN(60))
		for j := range value {
			value[j] = byte('a' + rng.IntN(4))
		}
		all = append(all, tablet.Entry{
			Key: tablet.NewKey(tablet.Fields{
				Row:        fmt.Appendf(nil, "row_%08d", i/7*3),
				Family:     []byte([]string{"f", "ff", "z"}[rng.IntN(3)]),
				Qualifier:  fmt.Appendf(nil, "q%d", rng.IntN(30)),
				Visibility: []byte(labels[rng.IntN(len(labels))]),
				Timestamp:  1_700_000_000_000 + rng.Int64N(100_000_000),
				Deleted:    rng.IntN(12) == 0,
			}),
			Value: value,
		})
	}
	sortEntries(all)
	return all
}

// bulky mixes small entries with values and keys beyond the buffers of every codec, compressible and not.
func bulky(rng *rand.Rand, n int) []tablet.Entry {
	all := hostile(rng, n)
	for i := 0; i < len(all); i += 1 + rng.IntN(n/8) {
		noise := make([]byte, 1+rng.IntN(700_000))
		for j := range noise {
			noise[j] = byte(rng.Uint32())
		}
		all[i].Value = noise
		if rng.IntN(2) == 0 {
			all[i].Value = bytes.Repeat([]byte("value "), len(noise)/6)
		}
		if rng.IntN(3) == 0 {
			k := all[i].Key
			all[i].Key = tablet.NewKey(tablet.Fields{Row: append(bytes.Clone(k.Row()), noise[:len(noise)/20]...),
				Family: k.Family(), Qualifier: bytes.Repeat([]byte{'q'}, rng.IntN(20_000)), Timestamp: k.Timestamp()})
		}
	}
	sortEntries(all)
	return all
}

// tally is what a reader must say of entries.
func tally(all []tablet.Entry) count {
	d := rfile.NewDigest()
	c := count{entries: int64(len(all))}
	for i := range all {
		d.Add(&all[i].Key, all[i].Value)
		if all[i].Key.Deleted() {
			c.deletes++
		}
	}
	c.sha256 = d.Hex()
	return c
}

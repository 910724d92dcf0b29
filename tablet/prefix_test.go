package tablet

import (
	"bytes"
	"testing"
)

// TestPrefixesOfTopBytes holds the range of a prefix against the prefix itself, over prefixes and rows that are full of
// 0x00 and 0xff, where successors of a prefix go wrong.
func TestPrefixesOfTopBytes(t *testing.T) {
	r := random(t)
	const alphabet = "\x00\x61\xfe\xff"
	for range rounds(300_000) {
		prefix := randomField(r, alphabet, 5)
		p := Prefix(prefix)
		row := bytes.Clone(prefix)
		switch r.IntN(4) {
		case 0: // longer
			row = append(row, randomField(r, alphabet, 3)...)
		case 1: // the row that counting up the prefix gives, and its neighbours
			for len(row) > 0 && row[len(row)-1] == 0xff {
				row = row[:len(row)-1]
			}
			if len(row) > 0 {
				row[len(row)-1]++
			}
			row = append(row, randomField(r, alphabet, 2)...)
		case 2: // shorter
			row = row[:r.IntN(len(row)+1)]
		case 3:
			row = randomField(r, alphabet, 6)
		}
		for _, k := range []Key{RowKey(row), key(string(row), "\xff", "\xff", "\xff", -1, true)} {
			if want := bytes.HasPrefix(row, prefix); p.Contains(&k) != want {
				t.Fatalf("prefix %x = %v holds %v: %v", prefix, p, k, !want)
			}
		}
	}
	for n := range 6 {
		p := Prefix(bytes.Repeat([]byte{0xff}, n))
		if e, ok := p.End(); ok {
			t.Errorf("the prefix of %d bytes 0xff ends at %v, want open", n, e.Key)
		}
	}
}

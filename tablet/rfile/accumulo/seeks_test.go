//go:build accumulo

package accumulo

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"millrace/tablet"
	"millrace/tablet/rfile"
)

// lookup is one seek of the judge: a row, and the families to fetch, all if there is none.
type lookup struct {
	row      []byte
	families [][]byte
}

// lookups draws rows that exist and rows beside them, before all and behind all, some for a few families only.
func lookups(rng *rand.Rand, entries []tablet.Entry, families []string, n int) []lookup {
	all := []lookup{{row: []byte{}}, {row: bytes.Repeat([]byte{0xff}, 30)}}
	for range n {
		row := []byte("absent")
		if len(entries) > 0 {
			row = bytes.Clone(entries[rng.IntN(len(entries))].Key.Row())
		}
		switch rng.IntN(8) {
		case 0:
			row = append(row, 0)
		case 1:
			row = row[:len(row)/2]
		case 2:
			if len(row) > 0 {
				row[len(row)-1]++
			}
		}
		l := lookup{row: row}
		if rng.IntN(3) == 0 {
			for range 1 + rng.IntN(2) {
				l.families = append(l.families, []byte(families[rng.IntN(len(families))]))
			}
		}
		all = append(all, l)
	}
	return all
}

// entries is a source of what a lookup finds: from a range on, of some families, at most so many unless negative.
type entries func(rng tablet.Range, f tablet.Families, most int, see func(k *tablet.Key, value []byte))

// inFile finds entries by our reader.
func inFile(t *testing.T, r *rfile.Reader) entries {
	return func(rng tablet.Range, f tablet.Families, most int, see func(k *tablet.Key, value []byte)) {
		take(t, r, r.GroupsFor(f), rng, f, most, func(b *tablet.Batch, lo, hi int) {
			for i := lo; i < hi; i++ {
				k := b.Key(i)
				see(&k, b.Value(i))
			}
		})
	}
}

// inList finds entries in a sorted list, in the plainest way.
func inList(all []tablet.Entry) entries {
	return func(rng tablet.Range, f tablet.Families, most int, see func(k *tablet.Key, value []byte)) {
		from := sort.Search(len(all), func(i int) bool { return !rng.BeforeStart(&all[i].Key) })
		for _, e := range all[from:] {
			if most == 0 || !rng.Contains(&e.Key) {
				return
			}
			if f.Accepts(e.Key.Family()) {
				see(&e.Key, e.Value)
				most--
			}
		}
	}
}

// find is the answer to lookups: of each the whole row, then the first three entries from the row on.
func find(in entries, all []lookup) count {
	d := rfile.NewDigest()
	var c count
	const most = 3
	see := func(k *tablet.Key, value []byte) {
		d.Add(k, value)
		c.entries++
		if k.Deleted() {
			c.deletes++
		}
	}
	for _, l := range all {
		f := tablet.Families{}
		if len(l.families) > 0 {
			f = tablet.OnlyFamilies(l.families...)
		}
		in(tablet.Exact(l.row), f, -1, see)
		in(tablet.Range{}.WithStart(tablet.RowKey(l.row)), f, most, see)
	}
	c.sha256 = d.Hex()
	return c
}

// seeks wants our reader and the judge, without and with its caches, and by the file's Bloom filter, to find what lookups find in a list of all entries,
// and says whether they do.
func seeks(t *testing.T, j *judge, path string, all []tablet.Entry, lookups []lookup) bool {
	t.Helper()
	var lines strings.Builder
	for _, l := range lookups {
		lines.WriteString(hex.EncodeToString(l.row))
		for _, f := range l.families {
			lines.WriteString("," + hex.EncodeToString(f))
		}
		lines.WriteString("\n")
	}
	list := filepath.Join(t.TempDir(), "rows")
	if err := os.WriteFile(list, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	ok := true
	check := func(who string, got, want count) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %d seeks: %s finds %+v, want %+v", path, len(lookups), who, got, want)
			ok = false
		}
	}
	want := find(inList(all), lookups)
	f := open(t, path)
	check("our reader", find(inFile(t, f), lookups), want)
	check("Accumulo", j.count(t, "seek", path, list, "plain"), want)
	check("Accumulo with caches", j.count(t, "seek", path, list, "cached"), want)
	if bloom, err := f.Bloom(); err != nil {
		t.Error(err)
	} else if bloom != nil {
		check("Accumulo with the Bloom filter", j.count(t, "seek", path, list, "bloom"), want)
	}
	return ok
}

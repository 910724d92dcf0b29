package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"millrace/tablet"
)

// KeySet is a kind of keys for merges to be measured on.
type KeySet struct {
	Name string
	// Make makes n sorted entries without values.
	Make func(r *rand.Rand, n int) []tablet.Entry
}

// KeySets are ci, the keys of continuous ingest, and long, keys that are hard to tell apart.
func KeySets() []KeySet { return []KeySet{{"ci", IngestKeys}, {"long", LongKeys}} }

// IngestKeys makes sorted keys of the continuous ingest: 16 hex digits of row, 4 of family, 4 of qualifier.
func IngestKeys(r *rand.Rand, n int) []tablet.Entry {
	return sortedKeys(n, func(i int) tablet.Fields {
		return tablet.Fields{
			Row:       fmt.Appendf(nil, "%016x", r.Uint64()>>1),
			Family:    fmt.Appendf(nil, "%04x", r.IntN(1<<15)),
			Qualifier: fmt.Appendf(nil, "%04x", r.IntN(1<<15)),
			Timestamp: int64(i),
		}
	})
}

// LongKeys makes sorted keys that are hard to tell apart: rows of 60 to 100 bytes, of which the first 45 to 60 are shared by
// some hundreds of rows, and one to four columns a row.
func LongKeys(r *rand.Rand, n int) []tablet.Entry {
	prefixes := make([]string, max(n/512, 1))
	for i := range prefixes {
		prefixes[i] = fmt.Sprintf("customer/%04d/%0*d/", r.IntN(10000), 30+r.IntN(16), i)
	}
	var row []byte
	columns := 0
	return sortedKeys(n, func(i int) tablet.Fields {
		if columns--; columns < 0 {
			columns = r.IntN(4)
			row = []byte(prefixes[r.IntN(len(prefixes))])
			for length := 60 + r.IntN(41); len(row) < length; {
				row = append(row, "0123456789abcdef"[r.IntN(16)])
			}
		}
		return tablet.Fields{Row: row, Family: []byte("attributes"), Qualifier: fmt.Appendf(nil, "column-%d", columns), Timestamp: int64(i)}
	})
}

func sortedKeys(n int, fields func(i int) tablet.Fields) []tablet.Entry {
	out := make([]tablet.Entry, n)
	for i := range out {
		out[i].Key = tablet.NewKey(fields(i))
	}
	slices.SortFunc(out, func(a, b tablet.Entry) int { return tablet.Compare(&a.Key, &b.Key) })
	return out
}

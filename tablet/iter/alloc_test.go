package iter

import (
	"fmt"
	"strings"
	"testing"

	"millrace/tablet"
)

// passAll are settings of the classes that let all, or nearly all, of steadyEntries through.
var passAll = []string{
	"VersioningIterator=1,maxVersions=4",
	"SummingCombiner=1,all=true,type=STRING",
	"MaxCombiner=1,all=true,type=STRING",
	"SummingArrayCombiner=1,all=true,type=STRING",
	"AgeOffFilter=1,ttl=43200000",
	"ColumnAgeOffFilter=1,f:q=43200000,g=1",
	"TimestampFilter=1,start=LONG0",
	"RegExFilter=1,rowRegex=[0-9]*,colfRegex=f|g",
	"RegExFilter=1,rowRegex=[0-9]*,encoding=ISO-8859-1",
	"GrepIterator=1,term=q",
	"ColumnSliceFilter=1,startBound=q",
	"ReqVisFilter=1",
	"WholeRowIterator=1",
	"FirstEntryInRowIterator=1",
}

// steadyEntries are cells of two versions, four entries a row.
func steadyEntries(n int) (out []tablet.Entry) {
	for i := range n {
		k := tablet.NewKey(tablet.Fields{Row: fmt.Appendf(nil, "%08d", i/4), Family: []byte("f"), Qualifier: fmt.Appendf(nil, "q%d", i/2%2),
			Visibility: []byte("a"), Timestamp: int64(2 - i%2)})
		out = append(out, tablet.Entry{Key: k, Value: []byte("17")})
	}
	return out
}

func drain(t testing.TB, it Iterator) (n int) {
	if err := it.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		t.Fatal(err)
	}
	for {
		if _, ok := it.Top(); !ok {
			return n
		}
		n++
		if err := it.Next(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func openSteady(t testing.TB, batches []*tablet.Batch, text string) Iterator {
	var settings []Setting
	if text != "" {
		s, err := ParseSetting(text)
		if err != nil {
			t.Fatal(err)
		}
		settings = []Setting{s}
	}
	it, err := Build(NewEntries(NewMerge(New, []Source{FromBatches(batches)})), settings, sampleEnv(Scan))
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// TestIteratorsAllocateNothing goes over many entries, once all buffers have grown.
func TestIteratorsAllocateNothing(t *testing.T) {
	batches := Batches(steadyEntries(4096), 256)
	for _, text := range passAll {
		if raceEnabled && strings.HasPrefix(text, "RegEx") {
			continue
		}
		it := openSteady(t, batches, text)
		if drain(t, it) == 0 {
			t.Errorf("%s: nothing passes", text)
		}
		if n := testing.AllocsPerRun(5, func() { drain(t, it) }); n > 2 {
			t.Errorf("%s: %v allocations for 4096 entries", text, n)
		}
	}
}

// BenchmarkIterators goes over entries that pass; none is what lies below.
func BenchmarkIterators(b *testing.B) {
	batches := Batches(steadyEntries(benchEntries), 256)
	for _, text := range append([]string{""}, passAll...) {
		name, _, _ := strings.Cut(text, "=")
		if text == "" {
			name = "none"
		}
		b.Run(name, func(b *testing.B) {
			it := openSteady(b, batches, text)
			b.ReportAllocs()
			for b.Loop() {
				drain(b, it)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchEntries, "ns/entry")
		})
	}
}

package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"millrace/sim/workload"
	"millrace/tablet"
	"millrace/tablet/iter"
)

// tinyPool is a run of a second or two.
var tinyPool = PoolOptions{Sources: []int{2, 1, 10}, Samples: 20_000, Goroutines: 2, Ballast: 1000, Seeks: 300, FileEntries: 3000, Seed: 1}

func TestPool(t *testing.T) {
	var names []string
	doc, err := Pool(context.Background(), tinyPool, func(p Phase) {
		if len(names) == 0 || names[len(names)-1] != p.Name {
			names = append(names, p.Name)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range doc.Checks {
		if !c.OK {
			t.Errorf("check %+v", c)
		}
	}
	if want := map[bool]int{false: 6, true: 0}[checking]; len(doc.Checks) != want || len(doc.Bars) != 4 {
		t.Errorf("%d checks, %d bars", len(doc.Checks), len(doc.Bars))
	}
	if want := "get and close,short merges,short seeks,compactions"; strings.Join(names, ",") != want {
		t.Errorf("progress of %q, want %q", names, want)
	}
	// The clock; one source in all ways; 2 and 10 in all but direct, nested too.
	if want := 1 + 5 + 2*2*4; len(doc.Rows) != want {
		t.Fatalf("%d rows, want %d", len(doc.Rows), want)
	}
	for _, r := range doc.Rows {
		ordered := []int64{r.P0NS, r.P50NS, r.P90NS, r.P95NS, r.P99NS, r.P999NS, r.P9999NS, r.MaxNS}
		if !slices.IsSorted(ordered) || r.P50NS <= 0 || r.Samples != int64(tinyPool.Samples) || r.MeanNS <= 0 || r.CPUNS <= 0 ||
			(r.Sources == 0) != (r.Variant == clockVariant) {
			t.Errorf("%+v", r)
		}
	}
	if fresh, list := doc.Find(10, "fresh"), doc.Find(10, "freelist"); fresh.Bytes < 100 || list.Bytes > 10 && !checking {
		t.Errorf("bytes: %v fresh, %v from a free list", fresh.Bytes, list.Bytes)
	}
	if len(doc.ShortMerges) != 9 || len(doc.Effects) != 6 {
		t.Fatalf("%+v, %+v", doc.ShortMerges, doc.Effects)
	}
	for _, s := range doc.ShortMerges {
		if s.Sources != 64 || s.Entries != 64*33 || s.NSPerEntry <= 0 || s.MinNS > s.NSPerEntry || s.MaxNS < s.NSPerEntry {
			t.Errorf("%+v", s)
		}
	}
	for _, e := range doc.Effects {
		if e.Times < effectCompactions || e.Bytes <= 0 || e.MeanNS <= 0 || e.P50NS > e.P99NS || (e.LessBytes != 0) == (e.Pooled == pooledNone) {
			t.Errorf("%+v", e)
		}
	}
}

// TestPoolChecks changes what was found; the check that is about it must fail.
func TestPoolChecks(t *testing.T) {
	if checking {
		t.Skip("nothing is checked in a checking build")
	}
	f := func(want string, change func(d *PoolDocument)) {
		t.Helper()
		r := &poolRun{doc: &PoolDocument{}}
		r.doc.Rows = []PoolRow{{Variant: "clock", Allocs: 3}, {Variant: "fresh", Sources: 1, Allocs: 1, MeanNS: 60}, {Variant: "freelist", Sources: 1, Allocs: 0.0009, MeanNS: 6, CPUNS: 5}}
		r.doc.Effects = []EffectRow{{Work: "seek", Pooled: "none", Bytes: 3}, {Work: "seek", Pooled: "merges", Bytes: 2}, {Work: "seek", Pooled: "merges and cursors", Bytes: 1}}
		r.doc.ShortMerges = []ShortMergeRow{{Merge: "old", Pooled: "none", Allocs: 9}, {Merge: "old", Pooled: "merges and batches", Allocs: 0.4}}
		change(r.doc)
		r.check()
		r.bars()
		var failed []string
		for _, c := range append(r.doc.Checks, r.doc.Bars...) {
			if !c.OK {
				failed = append(failed, c.Name)
			}
		}
		if len(failed) > 1 || len(failed) == 0 && want != "" || len(failed) == 1 && (want == "" || !strings.Contains(failed[0], want)) {
			t.Errorf("failed: %q, want %q", failed, want)
		}
	}
	f("", func(*PoolDocument) {})
	f("from a pool", func(d *PoolDocument) { d.Rows[2].Allocs = 0.02 })
	f("fresh get and close", func(d *PoolDocument) { d.Rows[1].Allocs = 0.9 })
	f("short seeks", func(d *PoolDocument) { d.Effects[1].Bytes = 3 })
	f("short seeks", func(d *PoolDocument) { d.Effects[2].Bytes = 2 })
	f("short merge, old", func(d *PoolDocument) { d.ShortMerges[1].Allocs = 1 })
	f("free list, 1 source, ns", func(d *PoolDocument) { d.Rows[2].CPUNS = 16 })
	f("times the mean", func(d *PoolDocument) { d.Rows[1].MeanNS = 20 })
}

// TestGetter gets merges that merge: also where one is a source of another.
func TestGetter(t *testing.T) {
	sources := workload.DealStretches(workload.IngestKeys(newSeeded(1), 500), 5, 3)
	for _, v := range poolVariants {
		if v.name == directVariant {
			continue
		}
		g := newGetter(3, true)
		for i := range 3 { // two of the outer's, and all of the inner's: five altogether, each read once
			g.sources[i] = iter.FromEntries(sources[2+i], 7)
			g.outer[i] = iter.FromEntries(sources[i], 7)
		}
		g.outer[2] = g.inner
		// The variants close what they get, so the merge is read between.
		m := g.get(iter.NewPool())
		var d workload.Digest
		if err := m.Seek(context.Background(), tablet.Range{}, tablet.Families{}); err != nil {
			t.Fatal(err)
		}
		for runs := make([]iter.Run, 5); ; {
			n, err := m.Fill(context.Background(), runs)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				break
			}
			for _, r := range runs[:n] {
				for i := r.Lo; i < r.Hi; i++ {
					b := m.Batch(r.Src)
					code := b.Codes[i]
					if i == r.Lo {
						code = r.Code
					}
					k := b.Key(int(i))
					d.Add(&k, b.Value(int(i)), code)
				}
			}
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		if want := workload.DigestOf(workload.Merged(sources)); d != want {
			t.Errorf("%s: digest %v, want %v", v.name, d, want)
		}
		once := v.open(newGetter(3, true))
		once()
		runtime.GC()
		once()
	}
}

func TestMeanOf(t *testing.T) {
	// Twenty-one values, standard deviation 1: the quantile is 3.850.
	var all []float64
	for i := range 21 {
		all = append(all, float64(i-10)/math.Sqrt(38.5))
	}
	mean, half := meanOf(all)
	if math.Abs(mean) > 1e-12 || math.Abs(half*math.Sqrt(21)-3.85) > 0.1 {
		t.Errorf("%v ± %v", mean, half)
	}
	if mean, half := meanOf([]float64{3}); mean != 3 || half != 0 {
		t.Errorf("%v ± %v", mean, half)
	}
	if m := medianOf([]float64{5, 1, 3, 2}); m != 2.5 {
		t.Errorf("median %v", m)
	}
}

func TestPoolInterrupted(t *testing.T) {
	for _, phase := range []string{"get and close", "short merges", "short seeks", "compactions"} {
		ctx, cancel := context.WithCancel(context.Background())
		o := tinyPool
		o.Sources, o.Samples, o.Seeks = []int{1}, 200, 10
		_, err := Pool(ctx, o, func(p Phase) {
			if p.Name == phase {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", phase, err)
		}
	}
}

func TestPoolOptions(t *testing.T) {
	f := func(o PoolOptions, want string) {
		t.Helper()
		_, err := Pool(context.Background(), o, nil)
		if !errors.Is(err, tablet.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
	f(PoolOptions{Sources: []int{0, 1}}, "sources are [0 1]")
	f(PoolOptions{Variants: []string{"freshh"}}, `nearest is "fresh"`)
	f(PoolOptions{Samples: -1}, "samples is -1")
	f(PoolOptions{Goroutines: -1}, "goroutines is -1")
	f(PoolOptions{Ballast: -1}, "ballast is of -1")
	f(PoolOptions{Seeks: -1}, "seeks is -1")
	f(PoolOptions{FileEntries: 3}, "files have 3 entries")
}

// TestPoolDocument holds the fields that scripts rely on.
func TestPoolDocument(t *testing.T) {
	b, err := json.Marshal(&PoolDocument{Document: Document[PoolRow]{Rows: []PoolRow{{}}, Checks: []Check{{}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range strings.Fields("schema command settings machine rows checks sources variant mean_ns p50_ns p99_ns p999_ns allocs_per_op bytes_per_op") {
		if !bytes.Contains(b, []byte(`"`+field+`":`)) {
			t.Errorf("the document has no %q", field)
		}
	}
}

package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"millrace/sim/workload"
	"millrace/tablet"
	"millrace/tablet/iter"
)

// tinyHeap is a sweep of a second.
var tinyHeap = HeapOptions{Entries: 3000, Sources: []int{8, 2, 4}, Repeats: []int{1024, 1, 4}, Runs: 2}

func TestHeap(t *testing.T) {
	var last Phase
	doc, err := Heap(context.Background(), tinyHeap, func(p Phase) { last = p })
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range doc.Checks {
		if !c.OK {
			t.Errorf("check %+v", c)
		}
	}
	if want := map[bool]int{false: 9, true: 8}[checking]; len(doc.Checks) != want {
		t.Errorf("%d checks: %+v", len(doc.Checks), doc.Checks)
	}
	const keys, sources, divisions = 2, 3, 4
	if want := keys * sources * divisions * (len(iter.Modes()) + 1); len(doc.Rows) != want {
		t.Fatalf("%d rows, want %d", len(doc.Rows), want)
	}
	if last.Total != keys*sources*divisions || last.Done != last.Total-1 {
		t.Errorf("progress %+v", last)
	}
	for _, r := range doc.Rows {
		floor := r.Variant == floorVariant
		if r.NSPerEntry <= 0 || r.MinNSPerEntry > r.NSPerEntry || r.MaxNSPerEntry < r.NSPerEntry || r.WallNSPerEntry <= 0 || r.RunLength < 1 ||
			(r.ComparesPerEntry > 0) == floor || (r.Repeated == 0) != (r.Dealt == dealtSkewed) {
			t.Errorf("%+v", r)
		}
	}
	if len(doc.Crossings) != 2*keys*sources || len(doc.Sentences()) != 5 {
		t.Errorf("%d crossings, %q", len(doc.Crossings), doc.Sentences())
	}
	if len(doc.Bars) != 3 { // with 16 sources there would be more
		t.Errorf("bars %+v", doc.Bars)
	}
	plots := doc.Plots()
	var names []string
	for _, p := range plots {
		names = append(names, p.Name)
		if n := bytes.Count(p.SVG, []byte(`class="line"`)); n != sources*(1+strings.Count(p.Name, "together")+strings.Count(p.Name, "with-tree")) {
			t.Errorf("%s has %d lines", p.Name, n)
		}
	}
	if got := strings.Join(names[:4], " "); len(names) != 8 || got != "heap-ci-old.svg heap-ci-new.svg heap-ci-together.svg heap-ci-together-with-tree.svg" {
		t.Errorf("plots %v", names)
	}
	if want := tinyHeap.PlotNames(); !slices.Equal(names, want) {
		t.Errorf("plots %v, announced were %v", names, want)
	}
}

// TestHeapFew leaves out what was not asked for.
func TestHeapFew(t *testing.T) {
	o := HeapOptions{Entries: 500, Keys: []string{"long"}, Sources: []int{3}, Repeats: []int{2}, Runs: 1, Variants: []iter.Mode{iter.New}}
	doc, err := Heap(context.Background(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := Failed(doc.Checks); err != nil || len(doc.Rows) != 4 || len(doc.Crossings) != 0 || len(doc.Plots()) != 1 {
		t.Errorf("%v, %d rows, %v, %d plots", err, len(doc.Rows), doc.Crossings, len(doc.Plots()))
	}
}

// TestHeapChecks changes what was found; the check that is about it must fail.
func TestHeapChecks(t *testing.T) {
	o := tinyHeap.withDefaults()
	good := &heapRun{o: o, progress: func(Phase) {}, doc: &HeapDocument{}}
	if err := good.sweep(context.Background()); err != nil {
		t.Fatal(err)
	}
	f := func(want string, change func(r *heapRun)) {
		t.Helper()
		r := &heapRun{o: o, doc: &HeapDocument{}, merges: good.merges, ordered: good.ordered, cells: good.cells, alike: good.alike}
		r.doc.Rows = slices.Clone(good.doc.Rows)
		change(r)
		r.conclude()
		var failed []string
		for _, c := range r.doc.Checks {
			if !c.OK {
				failed = append(failed, c.Name)
			}
		}
		if len(failed) == 0 && want != "" || len(failed) > 0 && (want == "" || !strings.Contains(strings.Join(failed, "; "), want)) {
			t.Errorf("failed: %q, want %q", failed, want)
		}
	}
	row := func(r *heapRun, variant string, repeated int) *HeapRow {
		for i := range r.doc.Rows {
			if x := &r.doc.Rows[i]; x.Variant == variant && x.Repeated == repeated && x.Sources == 8 {
				return x
			}
		}
		t.Fatalf("no row of %s", variant)
		return nil
	}
	f("", func(*heapRun) {})
	f("reference sort", func(r *heapRun) { r.ordered-- })
	f("gave the same", func(r *heapRun) { r.alike-- })
	if !checking {
		f("allocations", func(r *heapRun) { row(r, "swap", 4).AllocsPerEntry = 0.01 })
	}
	f("comparisons an entry of new", func(r *heapRun) { row(r, "new", 1024).ComparesPerEntry = 1.2 })
	f("comparisons an entry of new", func(r *heapRun) { row(r, "new", 1024).ComparesPerEntry = 0.9 })
	f("new falls", func(r *heapRun) { row(r, "new", 4).ComparesPerEntry = 9 })
	f("old is flat", func(r *heapRun) { row(r, "old", 4).ComparesPerEntry *= 2 })
	f("old rises", func(r *heapRun) { row(r, "old", 1).ComparesPerEntry = 3 })
	f("tree, ci", func(r *heapRun) { row(r, "tree", 1).ComparesPerEntry = 0.2 })
}

// TestHeapDigests wants an output out of order, or a wrong code, to be seen.
func TestHeapDigests(t *testing.T) {
	sources := workload.DealStretches(workload.KeySets()[0].Make(newSeeded(3), 300), 3, 2)
	want := workload.DigestOf(workload.Merged(sources))
	digest := func(c *heapCell) workload.Digest {
		d, err := c.digest(context.Background(), &c.lanes[0])
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	c := newHeapCell(sources, []iter.Mode{iter.Tree})
	if digest(c) != want {
		t.Error("digests differ")
	}
	c.sources[0], c.sources[1] = c.sources[1], c.sources[0]
	if digest(c) != want { // no two keys are equal
		t.Error("digests differ after sources changed places")
	}
	c.batches[0][0].Codes[1] ^= 1 << 40
	if d, err := c.digest(context.Background(), &c.lanes[0]); err == nil && d == want { // checking builds refuse it
		t.Error("a wrong code is not seen")
	}
}

func TestHeapInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	_, err := Heap(ctx, tinyHeap, func(p Phase) {
		if p.Done == 3 {
			cancel()
		}
		if p.Done > 3 {
			t.Errorf("went on: %+v", p)
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestHeapOptions(t *testing.T) {
	f := func(o HeapOptions, want string) {
		t.Helper()
		_, err := Heap(context.Background(), o, nil)
		if !errors.Is(err, tablet.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
	f(HeapOptions{Entries: -1}, "entries is -1")
	f(HeapOptions{Keys: []string{"lon"}}, `nearest is "long"`)
	f(HeapOptions{Sources: []int{2, 1}}, "sources are [1 2]")
	f(HeapOptions{Sources: []int{2, 70000}}, "70000")
	f(HeapOptions{Repeats: []int{0, 1}}, "repeated keys are [0 1]")
	f(HeapOptions{Runs: -1}, "runs is -1")
}

func TestCross(t *testing.T) {
	rows := func(ns ...float64) (out []*HeapRow) {
		for i, v := range ns {
			out = append(out, &HeapRow{Repeated: 1 << i, NSPerEntry: v})
		}
		return out
	}
	f := func(line, other []*HeapRow, where string, from float64) {
		t.Helper()
		c := cross(line, other)
		if c.Where != where || math.Abs(c.From-from) > 1e-9 {
			t.Errorf("%+v, want %s %v", c, where, from)
		}
	}
	f(rows(1, 1, 1), rows(2, 2, 2), crossAlways, 0)
	f(rows(1, 1, 3), rows(2, 2, 2), crossNever, 0)
	f(rows(3, 1, 1), rows(2, 2, 2), crossFrom, math.Sqrt2)
	f(rows(1, 4, 2), rows(2, 2, 2), crossFrom, 4)
	f(rows(2, 2), rows(2, 2), crossAlways, 0)
	d := &HeapDocument{Crossings: []Crossing{
		{Keys: "ci", Sources: 2, Variant: "new", Meets: "old", Where: crossFrom, From: 1.52},
		{Keys: "ci", Sources: 4, Variant: "new", Meets: "old", Where: crossAlways},
		{Keys: "ci", Sources: 8, Variant: "new", Meets: "old", Where: crossAlways},
		{Keys: "ci", Sources: 2, Variant: "tree", Meets: "new", Where: crossNever},
	}}
	want := []string{
		"ci keys: new is no slower than old from stretches of 1.5 on with 2 sources, at every stretch with 4 to 8 sources",
		"ci keys: tree is no slower than new at no stretch with 2 sources",
	}
	if got := d.Sentences(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestHeapDocument holds the fields that scripts rely on.
func TestHeapDocument(t *testing.T) {
	b, err := json.Marshal(&HeapDocument{Document: Document[HeapRow]{Rows: []HeapRow{{Repeated: 1}}, Checks: []Check{{}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range strings.Fields("schema command settings machine rows checks keys sources repeated variant ns_per_entry compares_per_entry crossings bars") {
		if !bytes.Contains(b, []byte(`"`+field+`":`)) {
			t.Errorf("the document has no %q", field)
		}
	}
}

package experiment

import (
	"fmt"
	"math"
)

// check holds what does not depend on the clock: what is pooled allocates nothing, what is not does. A run of the collector
// allocates a little itself, and empties a sync.Pool, hence thousandths.
func (r *poolRun) check() {
	c := &r.doc.Checks
	*c = []Check{}
	if checking {
		return
	}
	pooled, fresh := newSpan(), newSpan()
	for i := range r.doc.Rows {
		switch row := &r.doc.Rows[i]; row.Variant {
		case clockVariant:
		case "fresh":
			fresh.add(row.Allocs)
		default:
			pooled.add(math.Floor(1000*row.Allocs) / 1000)
		}
	}
	*c = within(*c, "allocations of a get and close from a pool, at most", pooled, -unbounded, 0)
	*c = within(*c, "allocations of a fresh get and close, at least", fresh, 1, unbounded)
	bytes := map[string]float64{}
	for _, e := range r.doc.Effects {
		if e.Work == workSeek {
			bytes[e.Pooled] = e.Bytes
		}
	}
	*c = check(*c, "short seeks allocate less with merges pooled, and less again with cursors",
		bytes[pooledMerges] < bytes[pooledNone] && bytes[pooledCursors] < bytes[pooledMerges], true)
	for _, s := range r.doc.ShortMerges {
		if s.Pooled == pooledBatches {
			*c = check(*c, fmt.Sprintf("allocations of a short merge, %s, all pooled", s.Merge), math.Floor(s.Allocs), 0)
		}
	}
}

// bars are times that are known to be within reach.
func (r *poolRun) bars() {
	r.doc.Bars = []Check{}
	b := &r.doc.Bars
	for _, want := range []struct {
		sources  int
		ns, less float64
	}{{1, 15, 5}, {2, 40, 5}} {
		fresh, list := r.doc.Find(want.sources, "fresh"), r.doc.Find(want.sources, "freelist")
		if list == nil {
			continue
		}
		*b = within(*b, fmt.Sprintf("processor time to get and close a merge from a free list, %d %s, ns", want.sources, plural(want.sources, "source")),
			span{list.CPUNS, list.CPUNS}, -unbounded, want.ns)
		if fresh != nil {
			times := fresh.MeanNS / list.MeanNS
			*b = within(*b, fmt.Sprintf("times the mean of a free list takes a fresh merge, %d %s", want.sources, plural(want.sources, "source")),
				span{times, times}, want.less, unbounded)
		}
	}
}

// Find is the row of a variant that is not nested, nil if it was not measured.
func (d *PoolDocument) Find(sources int, variant string) *PoolRow {
	for i := range d.Rows {
		if row := &d.Rows[i]; row.Sources == sources && row.Variant == variant && !row.Nested {
			return row
		}
	}
	return nil
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

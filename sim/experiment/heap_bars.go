package experiment

import "fmt"

// bars holds times against what merges of this kind are known to reach. They depend on the machine and on what else it
// does, so they are no checks.
func (r *heapRun) bars() {
	r.doc.Bars = []Check{}
	b := &r.doc.Bars
	for _, want := range []struct {
		keys     string
		repeated int
		times    float64
	}{{"ci", 1, 4}, {"ci", 16, 5}, {"ci", 1024, 5}, {"long", 1, 1.5}, {"long", 16, 2}, {"long", 1024, 5}} {
		name := fmt.Sprintf("times as fast as new is tree, %s keys, 16 sources, stretches of %d", want.keys, want.repeated)
		s := r.ratios("new", "tree", func(row *HeapRow) bool {
			return row.Keys == want.keys && row.Sources == 16 && row.Repeated == want.repeated
		})
		*b = within(*b, name, s, want.times, unbounded)
	}
	all := func(*HeapRow) bool { return true }
	*b = within(*b, "times as fast as new is tree, anywhere", r.ratios("new", "tree", all), 0.9, unbounded)
	*b = within(*b, fmt.Sprintf("times the floor's time takes tree, stretches of %d", longStretch),
		r.ratios("tree", floorVariant, func(row *HeapRow) bool { return row.Repeated == longStretch }), -unbounded, 2)
	*b = within(*b, "times old's time takes new, stretches of 1", r.ratios("new", "old", func(row *HeapRow) bool { return row.Repeated == 1 }), 0.9, 1.2)
}

// ratios are the times of one variant over those of another, wherever both were measured and the row is wanted.
func (r *heapRun) ratios(variant, over string, wanted func(*HeapRow) bool) span {
	type place struct {
		keys, dealt       string
		sources, repeated int
	}
	at := func(row *HeapRow) place { return place{row.Keys, row.Dealt, row.Sources, row.Repeated} }
	below := map[place]float64{}
	for i := range r.doc.Rows {
		if row := &r.doc.Rows[i]; row.Variant == over {
			below[at(row)] = row.NSPerEntry
		}
	}
	s := newSpan()
	for i := range r.doc.Rows {
		row := &r.doc.Rows[i]
		if ns := below[at(row)]; row.Variant == variant && wanted(row) && ns > 0 {
			s.add(row.NSPerEntry / ns)
		}
	}
	return s
}

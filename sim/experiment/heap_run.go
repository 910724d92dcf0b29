package experiment

import (
	"context"
	"math/rand/v2"
	"slices"

	"millrace/sim/workload"
	"millrace/tablet"
)

// heapRun is one run of Heap.
type heapRun struct {
	o           HeapOptions
	progress    func(Phase)
	doc         *HeapDocument
	done, total int64

	merges, ordered int // outputs, and those that were as a sort makes them
	cells, alike    int // divisions of the keys, and those of which all merges gave the same
}

// sweep measures every division of every set of keys.
func (r *heapRun) sweep(ctx context.Context) error {
	for _, set := range workload.KeySets() {
		if !slices.Contains(r.o.Keys, set.Name) {
			continue
		}
		keys := set.Make(rand.New(rand.NewPCG(r.o.Seed, 1)), r.o.Entries)
		for _, k := range r.o.Sources {
			for _, x := range r.o.Repeats {
				row := HeapRow{Keys: set.Name, Sources: k, Repeated: x, Dealt: dealtStretches}
				if err := r.cell(ctx, row, workload.DealStretches(keys, k, x)); err != nil {
					return err
				}
			}
			row := HeapRow{Keys: set.Name, Sources: k, Dealt: dealtSkewed}
			if err := r.cell(ctx, row, workload.DealSkewed(keys, k)); err != nil {
				return err
			}
		}
	}
	return nil
}

// cell measures all merges on one division, in turn, and adds a row for each.
func (r *heapRun) cell(ctx context.Context, row HeapRow, sources [][]tablet.Entry) error {
	r.progress(Phase{Name: "merge", Done: r.done, Total: r.total, Unit: "divisions of keys"})
	c := newHeapCell(sources, r.o.Variants)
	want := workload.DigestOf(workload.Merged(sources))
	alike := true
	for i := range c.lanes {
		got, err := c.digest(ctx, &c.lanes[i])
		if err != nil {
			return err
		}
		r.merges++
		if got == want {
			r.ordered++
		}
		c.lanes[i].digest = got
		alike = alike && got == c.lanes[0].digest
	}
	r.cells++
	if alike {
		r.alike++
	}
	for run := range r.o.Runs {
		// Every other run goes backwards, so that no merge always comes first.
		for i := range c.lanes {
			if run%2 == 1 {
				i = len(c.lanes) - 1 - i
			}
			if err := c.time(ctx, &c.lanes[i]); err != nil {
				return err
			}
		}
		if err := c.timeFloor(ctx); err != nil {
			return err
		}
	}
	for i := range c.lanes {
		l := &c.lanes[i]
		if err := c.countAllocations(ctx, l); err != nil {
			return err
		}
		r.doc.Rows = append(r.doc.Rows, l.row(row, c.entries))
	}
	r.doc.Rows = append(r.doc.Rows, c.floor.row(row, c.entries))
	r.done++
	return nil
}

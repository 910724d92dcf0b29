package main

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"millrace/sim/experiment"
)

// ticketGet is a line of CASSANDRA-15392's table, in ns: a merge of many sources and of one, before and after.
type ticketGet struct {
	name      string
	many, one [2]float64
	ours      func(*experiment.PoolRow) float64
}

var ticketGets = []ticketGet{
	{"samples", [2]float64{59417991, 100352304}, [2]float64{53514991, 97007239}, func(r *experiment.PoolRow) float64 { return float64(r.Samples) }},
	{"mean", [2]float64{418.721, 133.534}, [2]float64{83.452, 87.340}, func(r *experiment.PoolRow) float64 { return r.MeanNS }},
	{"error", [2]float64{22.706, 1.662}, [2]float64{4.005, 3.063}, func(r *experiment.PoolRow) float64 { return r.MeanErrorNS }},
	{"p0", [2]float64{101, 86}, [2]float64{47, 51}, func(r *experiment.PoolRow) float64 { return float64(r.P0NS) }},
	{"p50", [2]float64{148, 128}, [2]float64{73, 78}, func(r *experiment.PoolRow) float64 { return float64(r.P50NS) }},
	{"p90", [2]float64{171, 143}, [2]float64{90, 92}, func(r *experiment.PoolRow) float64 { return float64(r.P90NS) }},
	{"p95", [2]float64{176, 148}, [2]float64{95, 97}, func(r *experiment.PoolRow) float64 { return float64(r.P95NS) }},
	{"p99", [2]float64{188, 157}, [2]float64{103, 106}, func(r *experiment.PoolRow) float64 { return float64(r.P99NS) }},
	{"p99.9", [2]float64{1456, 172}, [2]float64{119, 117}, func(r *experiment.PoolRow) float64 { return float64(r.P999NS) }},
	{"p99.99", [2]float64{9171.213, 3744}, [2]float64{3830.003, 3600}, func(r *experiment.PoolRow) float64 { return float64(r.P9999NS) }},
	{"max", [2]float64{38862848, 13008896}, [2]float64{21987328, 27164672}, func(r *experiment.PoolRow) float64 { return float64(r.MaxNS) }},
}

func (e *env) printPool(doc *experiment.PoolDocument, f *poolFlags) error {
	switch {
	case f.format.is(formatJSON):
		return e.writeJSON(doc)
	case f.format.is(formatText):
		return e.printPoolText(doc, f)
	}
	return e.writeGrid(poolGrid(doc), f.format)
}

// poolGrid is every row of getting and closing.
func poolGrid(doc *experiment.PoolDocument) *grid {
	g := &grid{names: []string{"sources", "variant", "nested", "samples", "mean_ns", "mean_error_ns", "cpu_ns_per_op", "p0_ns", "p50_ns", "p90_ns", "p95_ns",
		"p99_ns", "p999_ns", "p9999_ns", "max_ns", "allocs_per_op", "bytes_per_op", "gc_cycles"}, left: []int{1}}
	for _, r := range doc.Rows {
		g.add(r.Sources, r.Variant, r.Nested, r.Samples, r.MeanNS, r.MeanErrorNS, r.CPUNS, r.P0NS, r.P50NS, r.P90NS, r.P95NS,
			r.P99NS, r.P999NS, r.P9999NS, r.MaxNS, r.Allocs, r.Bytes, r.GCCycles)
	}
	return g
}

func (e *env) printPoolText(doc *experiment.PoolDocument, f *poolFlags) error {
	fmt.Fprintf(e.out, "get and close of merges on %s\n  %s\n", doc.Machine, settingsLine(doc.Settings))
	fmt.Fprintf(e.out, "\nns to get and close a merge; percentiles contain the clock's cost, mean and processor time (CPU) do not\n")
	if err := e.writeGrid(getGrid(doc), f.format); err != nil {
		return err
	}
	if err := e.printTicketGets(doc, f.format); err != nil {
		return err
	}
	fmt.Fprintf(e.out, "\nshort merges, read to their end: %d sources\n", doc.ShortMerges[0].Sources)
	if err := e.writeGrid(shortGrid(doc), f.format); err != nil {
		return err
	}
	fmt.Fprintf(e.out, "\nwhat work of the engine allocates: short seeks over ten files, and compactions of them\n")
	if err := e.writeGrid(effectGrid(doc), f.format); err != nil {
		return err
	}
	for _, x := range doc.Effects {
		if x.LessBytes != 0 {
			fmt.Fprintf(e.out, "  %s with %s pooled: %.1f%% fewer bytes (the ticket says about 4%%)\n", x.Work, x.Pooled, 100*x.LessBytes)
		}
	}
	fmt.Fprintf(e.out, "\nchecks\n%s", checkLines(doc.Checks))
	if len(doc.Bars) > 0 {
		fmt.Fprintf(e.out, "\nbars\n%s", barLines(doc.Bars))
	}
	fmt.Fprintf(e.out, "\nJSON  %s\n", fileOr(f.json, "--json FILE"))
	return nil
}

func getGrid(doc *experiment.PoolDocument) *grid {
	g := &grid{names: []string{"  sources", "variant", "samples", "mean", "±", "CPU", "p0", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max", "allocs", "B", "GC"}, left: []int{0, 1}}
	for _, r := range doc.Rows {
		sources, variant := fmt.Sprintf("  %d", r.Sources), r.Variant
		if r.Sources == 0 {
			sources = "  -"
		}
		if r.Nested {
			variant += ", nested"
		}
		g.add(sources, variant, humanize.Comma(r.Samples), fmt.Sprintf("%.1f", r.MeanNS), fmt.Sprintf("%.1f", r.MeanErrorNS), fmt.Sprintf("%.1f", r.CPUNS), r.P0NS, r.P50NS, r.P90NS, r.P95NS, r.P99NS,
			r.P999NS, r.P9999NS, r.MaxNS, fmt.Sprintf("%.2f", r.Allocs), fmt.Sprintf("%.0f", r.Bytes), r.GCCycles)
	}
	return g
}

// printTicketGets puts the ticket's table beside ours, where we have measured the like.
func (e *env) printTicketGets(doc *experiment.PoolDocument, f format) error {
	for _, c := range []struct {
		title   string
		sources int
		ticket  func(t *ticketGet) [2]float64
	}{
		{"a merge of many sources, how many it does not say; ours of two", 2, func(t *ticketGet) [2]float64 { return t.many }},
		{"a merge of one source", 1, func(t *ticketGet) [2]float64 { return t.one }},
	} {
		fresh, list := doc.Find(c.sources, "fresh"), doc.Find(c.sources, "freelist")
		if fresh == nil || list == nil {
			continue
		}
		fmt.Fprintf(e.out, "\nCASSANDRA-15392, ns: %s\n", c.title)
		g := &grid{names: []string{"  ", "ticket base", "pooled", "change", "ours fresh", "free list", "change", "ours/ticket, pooled"}, left: []int{0}}
		for i := range ticketGets {
			t := &ticketGets[i]
			theirs, base, pooled := c.ticket(t), t.ours(fresh), t.ours(list)
			ratio := fmt.Sprintf("%.2f", pooled/theirs[1])
			if t.name == "samples" || t.name == "error" { // of how it was measured
				ratio = ""
			}
			g.add("  "+t.name, shortNumber(theirs[0]), shortNumber(theirs[1]), change(theirs[0], theirs[1]),
				shortNumber(base), shortNumber(pooled), change(base, pooled), ratio)
		}
		if err := e.writeGrid(g, f); err != nil {
			return err
		}
	}
	return nil
}

// shortNumber shows one decimal of what is small.
func shortNumber(v float64) string {
	if v < 1000 {
		return fmt.Sprintf("%.1f", v)
	}
	return humanize.Comma(int64(v + 0.5))
}

func change(from, to float64) string {
	if from == 0 {
		return ""
	}
	return fmt.Sprintf("%+.1f%%", 100*(to/from-1))
}

func shortGrid(doc *experiment.PoolDocument) *grid {
	g := &grid{names: []string{"  merge", "pooled", "ns/entry", "min", "max", "allocs/merge", "B/merge"}, left: []int{0, 1}}
	for _, s := range doc.ShortMerges {
		g.add("  "+s.Merge, s.Pooled, fmt.Sprintf("%.1f", s.NSPerEntry), fmt.Sprintf("%.1f", s.MinNS), fmt.Sprintf("%.1f", s.MaxNS),
			fmt.Sprintf("%.1f", s.Allocs), fmt.Sprintf("%.0f", s.Bytes))
	}
	return g
}

// effectGrid tells of seeks by the hundred thousand, of compactions one by one.
func effectGrid(doc *experiment.PoolDocument) *grid {
	g := &grid{names: []string{"  work", "pooled", "times", "allocs", "bytes", "mean", "p50", "p99", "p99.9", "GC"}, left: []int{0, 1}}
	for _, x := range doc.Effects {
		name, by := "a "+x.Work, 1.0
		if x.Work == "seek" {
			name, by = "100,000 seeks", 100_000
		}
		show := func(ns int64) string { return time.Duration(ns).Round(10 * time.Nanosecond).String() }
		g.add("  "+name, x.Pooled, humanize.Comma(int64(x.Times)), humanize.Comma(int64(x.Allocs*by)), humanize.IBytes(uint64(x.Bytes*by)),
			show(int64(x.MeanNS)), show(x.P50NS), show(x.P99NS), show(x.P999NS), x.GCCycles)
	}
	return g
}

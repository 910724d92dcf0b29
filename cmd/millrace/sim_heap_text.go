package main

import (
	"fmt"
	"slices"
	"strings"

	"millrace/sim/experiment"
)

func (e *env) printHeap(doc *experiment.HeapDocument, f *heapFlags) error {
	switch {
	case f.format.is(formatJSON):
		return e.writeJSON(doc)
	case f.format.is(formatText):
		return e.printHeapText(doc, f)
	}
	return e.writeGrid(heapGrid(doc), f.format)
}

// heapGrid is every row.
func heapGrid(doc *experiment.HeapDocument) *grid {
	g := &grid{names: []string{"keys", "sources", "repeated", "dealt", "variant", "ns_per_entry", "min_ns_per_entry", "max_ns_per_entry", "wall_ns_per_entry",
		"compares_per_entry", "heap_ops_per_entry", "mean_run_length", "allocs_per_entry", "bytes_per_entry"}, left: []int{0, 3, 4}}
	for _, r := range doc.Rows {
		var repeated any = ""
		if r.Repeated > 0 {
			repeated = r.Repeated
		}
		g.add(r.Keys, r.Sources, repeated, r.Dealt, r.Variant, r.NSPerEntry, r.MinNSPerEntry, r.MaxNSPerEntry, r.WallNSPerEntry,
			r.ComparesPerEntry, r.HeapOpsPerEntry, r.RunLength, r.AllocsPerEntry, r.BytesPerEntry)
	}
	return g
}

func (e *env) printHeapText(doc *experiment.HeapDocument, f *heapFlags) error {
	fmt.Fprintf(e.out, "merges in memory on %s\n  %s\n", doc.Machine, settingsLine(doc.Settings))
	shown := shownStretches(doc)
	for _, keys := range f.o.Keys {
		fmt.Fprintf(e.out, "\n%s keys: processor time, ns an entry, by stretch and number of sources\n", keys)
		if err := e.writeGrid(heapMatrix(doc, keys, shown, nil, func(r *experiment.HeapRow) string { return fmt.Sprintf("%.1f", r.NSPerEntry) }), f.format); err != nil {
			return err
		}
		fmt.Fprintf(e.out, "\n%s keys: comparisons of whole keys an entry\n", keys)
		of := []string{"old", "new", "tree"}
		if err := e.writeGrid(heapMatrix(doc, keys, shown, of, func(r *experiment.HeapRow) string { return fmt.Sprintf("%.2f", r.ComparesPerEntry) }), f.format); err != nil {
			return err
		}
	}
	fmt.Fprintf(e.out, "\nwhere lines meet\n")
	for _, s := range doc.Sentences() {
		fmt.Fprintf(e.out, "  %s\n", s)
	}
	fmt.Fprintf(e.out, "\nchecks\n%s", checkLines(doc.Checks))
	fmt.Fprintf(e.out, "\nbars\n%s\n", barLines(doc.Bars))
	if f.plots != "" {
		fmt.Fprintf(e.out, "charts  %s, %d of them\n", printable(f.plots), len(doc.Plots()))
	} else {
		fmt.Fprintf(e.out, "charts  not drawn (--plots DIR)\n")
	}
	fmt.Fprintf(e.out, "rows    %s\n", fileOr(f.csv, "--csv FILE"))
	fmt.Fprintf(e.out, "JSON    %s\n", fileOr(f.json, "--json FILE"))
	return nil
}

// fileOr is a file that was written, or how to have it.
func fileOr(path, flag string) string {
	if path == "" {
		return "not written (" + flag + ")"
	}
	return printable(path)
}

// barLines print what times were held against.
func barLines(bars []experiment.Check) string {
	var b strings.Builder
	for _, c := range bars {
		verdict := "within"
		if !c.OK {
			verdict = "missed"
		}
		fmt.Fprintf(&b, "  %s  %s: %s, bar %s\n", verdict, c.Name, c.Value, c.Want)
	}
	return b.String()
}

// shownStretches are those that people see; all, if there are few.
func shownStretches(doc *experiment.HeapDocument) []int {
	var all, some []int
	for _, r := range doc.Rows {
		if !slices.Contains(all, r.Repeated) {
			all = append(all, r.Repeated)
			if slices.Contains([]int{0, 1, 2, 4, 16, 64, 1024, 65536}, r.Repeated) {
				some = append(some, r.Repeated)
			}
		}
	}
	const few = 9
	if len(all) <= few {
		return all
	}
	return some
}

// heapMatrix has a line for each variant and stretch, and a column for each number of sources. Without names it is of all
// variants.
func heapMatrix(doc *experiment.HeapDocument, keys string, stretches []int, variants []string, show func(*experiment.HeapRow) string) *grid {
	g := &grid{names: []string{"  merge", "stretch"}, left: []int{0}}
	columns, lines := map[int]int{}, map[string][]any{}
	var order []string
	for i := range doc.Rows {
		r := &doc.Rows[i]
		if r.Keys != keys || variants != nil && !slices.Contains(variants, r.Variant) || !slices.Contains(stretches, r.Repeated) {
			continue
		}
		if _, ok := columns[r.Sources]; !ok {
			columns[r.Sources] = len(g.names)
			g.names = append(g.names, fmt.Sprint(r.Sources))
		}
		stretch := fmt.Sprint(r.Repeated)
		if r.Repeated == 0 {
			stretch = r.Dealt
		}
		id := r.Variant + " " + stretch
		if lines[id] == nil {
			lines[id] = []any{"  " + r.Variant, stretch}
			order = append(order, id)
		}
		for len(lines[id]) <= columns[r.Sources] {
			lines[id] = append(lines[id], "")
		}
		lines[id][columns[r.Sources]] = show(r)
	}
	slices.SortStableFunc(order, func(a, b string) int { return variantRank(doc, a) - variantRank(doc, b) })
	for _, id := range order {
		g.add(lines[id]...)
	}
	return g
}

// variantRank is where the variant that a text begins with stands among the rows.
func variantRank(doc *experiment.HeapDocument, text string) int {
	name, _, _ := strings.Cut(text, " ")
	return slices.IndexFunc(doc.Rows, func(r experiment.HeapRow) bool { return r.Variant == name })
}

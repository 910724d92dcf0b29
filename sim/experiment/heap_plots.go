package experiment

import (
	"fmt"
	"slices"

	"millrace/sim/plot"
)

// Plot is a chart that is to be a file.
type Plot struct {
	Name string
	SVG  []byte
}

// What lines of a merge look like, in colours or without.
var heapStyles = map[string]plot.Style{
	"old":        {Name: "old: out of the heap and back for each entry", Dash: "7 4", Colour: "#b5450f"},
	"new":        {Name: "new: stays outside the heap while it wins", Colour: "#0062a3", Filled: true},
	"swap":       {Name: "swap: new, and exchanged with the root", Dash: "12 3 2 3", Colour: "#7a3fa0", Filled: true},
	"tree":       {Name: "tree: tree of losers over codes", Dash: "2 3", Colour: "#00724d"},
	"tree-entry": {Name: "tree-entry: the same by entry", Dash: "2 6", Colour: "#555555"},
}

// heapPlots are the ticket's charts, and one that the tree is in too.
var heapPlots = []struct {
	name, title string
	variants    []string
}{
	{"old", "Merge before ACCUMULO-2827 (old)", []string{"old"}},
	{"new", "Merge after ACCUMULO-2827 (new)", []string{"new"}},
	{"together", "Merge before and after ACCUMULO-2827", []string{"old", "new"}},
	{"together-with-tree", "Merge before and after ACCUMULO-2827, and a tree of losers", []string{"old", "new", "tree"}},
}

func heapPlotName(keys, name string) string { return fmt.Sprintf("heap-%s-%s.svg", keys, name) }

// PlotNames are the names of the charts that a run with these options has.
func (o HeapOptions) PlotNames() (names []string) {
	o = o.withDefaults()
	measured := map[string]bool{}
	for _, v := range o.Variants {
		measured[v.String()] = true
	}
	for _, keys := range o.Keys {
		for _, p := range heapPlots {
			if !slices.ContainsFunc(p.variants, func(v string) bool { return !measured[v] }) {
				names = append(names, heapPlotName(keys, p.name))
			}
		}
	}
	return names
}

// Plots are the ticket's charts for each set of keys: old alone, new alone, both together; and both with the tree. What was
// not measured is left out.
func (d *HeapDocument) Plots() (all []Plot) {
	for _, keys := range d.keySets() {
		for _, p := range heapPlots {
			if c := d.chart(keys, p.variants); c != nil {
				c.Title = fmt.Sprintf("%s, %s keys", p.title, keys)
				all = append(all, Plot{Name: heapPlotName(keys, p.name), SVG: c.SVG()})
			}
		}
	}
	return all
}

// keySets are the sets of keys that were measured, in order.
func (d *HeapDocument) keySets() (out []string) {
	for i := range d.Rows {
		if n := len(out); n == 0 || out[n-1] != d.Rows[i].Keys {
			out = append(out, d.Rows[i].Keys)
		}
	}
	return out
}

// chart draws the lines of some merges, or is nil if one was not measured. Each line carries its number of sources; where
// two merges share a chart, those of the later stand where it is slowest, on the left.
func (d *HeapDocument) chart(keys string, variants []string) *plot.Chart {
	c := &plot.Chart{
		Note: fmt.Sprintf("%s; median of runs in turn, bars from least to greatest", d.Machine),
		X:    plot.Axis{Name: "keys that one source supplies before another takes over (number, doubling)", Doubling: true},
		Y:    plot.Axis{Name: "processor time to drain the merge (ns an entry)"},
	}
	for i, variant := range variants {
		lines := d.lines(variant)
		if len(lines) == 0 {
			return nil
		}
		number := 0
		for _, line := range lines {
			if line.keys != keys {
				continue
			}
			l := plot.Line{Name: fmt.Sprintf("%s, %d sources", variant, line.sources), First: i == 1,
				Style: heapStyles[variant], Marker: plot.Marker(number) % plot.Markers}
			for _, row := range line.rows {
				l.Points = append(l.Points, plot.Point{X: float64(row.Repeated), Y: row.NSPerEntry, Low: row.MinNSPerEntry, High: row.MaxNSPerEntry})
			}
			c.Lines = append(c.Lines, l)
			number++
		}
	}
	return c
}

package experiment

import (
	"fmt"
	"math"
	"strings"
)

// Crossing says from which stretch on one merge is no slower than another.
type Crossing struct {
	Keys    string `json:"keys"`
	Sources int    `json:"sources"`
	Variant string `json:"variant"`
	Meets   string `json:"meets"`
	// Where is always, from or never; From is the stretch where the lines cross for the last time, between those measured.
	Where string  `json:"where"`
	From  float64 `json:"from,omitempty"`
}

const (
	crossAlways = "always"
	crossFrom   = "from"
	crossNever  = "never"
)

// crossings relates new to old, and tree to new.
func (r *heapRun) crossings() {
	r.doc.Crossings = []Crossing{}
	for _, pair := range [][2]string{{"new", "old"}, {"tree", "new"}} {
		lines, others := r.doc.lines(pair[0]), r.doc.lines(pair[1])
		if len(lines) != len(others) {
			continue
		}
		for i, line := range lines {
			c := cross(line.rows, others[i].rows)
			c.Keys, c.Sources, c.Variant, c.Meets = line.keys, line.sources, pair[0], pair[1]
			r.doc.Crossings = append(r.doc.Crossings, c)
		}
	}
}

// cross finds where a line falls to another for good. Between two stretches both are taken to be straight, as they are drawn.
func cross(rows, others []*HeapRow) Crossing {
	last := -1 // the last stretch at which the line is above
	above := func(i int) float64 { return rows[i].NSPerEntry - others[i].NSPerEntry }
	for i := range rows {
		if above(i) > 0 {
			last = i
		}
	}
	switch last {
	case -1:
		return Crossing{Where: crossAlways}
	case len(rows) - 1:
		return Crossing{Where: crossNever}
	}
	x, next := math.Log2(float64(rows[last].Repeated)), math.Log2(float64(rows[last+1].Repeated))
	part := above(last) / (above(last) - above(last+1))
	return Crossing{Where: crossFrom, From: math.Exp2(x + part*(next-x))}
}

// Sentences say in words where lines cross, one for each set of keys and pair of merges, and how flat those of old are.
func (d *HeapDocument) Sentences() (out []string) {
	for all := d.Crossings; len(all) > 0; {
		n := 1
		for n < len(all) && all[n].Keys == all[0].Keys && all[n].Variant == all[0].Variant {
			n++
		}
		out = append(out, sentence(all[:n]))
		all = all[n:]
	}
	times, compares := newSpan(), newSpan()
	for _, line := range d.lines("old") {
		ns, n := newSpan(), newSpan()
		for _, row := range line.rows {
			ns.add(row.NSPerEntry)
			n.add(row.ComparesPerEntry)
		}
		times.add(ns.most / ns.least)
		compares.add(n.most / n.least)
	}
	if !times.none() {
		out = append(out, fmt.Sprintf("along its lines the comparisons of old differ by a factor of %.2f at most, its time by %.1f: where stretches are short, the processor foresees less",
			compares.most, times.most))
	}
	return out
}

// sentence joins neighbouring numbers of sources of which the same is true.
func sentence(all []Crossing) string {
	var parts []string
	for i := 0; i < len(all); {
		j := i
		for j+1 < len(all) && all[j+1].phrase() == all[i].phrase() {
			j++
		}
		sources := fmt.Sprint(all[i].Sources)
		if j > i {
			sources = fmt.Sprintf("%d to %d", all[i].Sources, all[j].Sources)
		}
		parts = append(parts, fmt.Sprintf("%s with %s sources", all[i].phrase(), sources))
		i = j + 1
	}
	return fmt.Sprintf("%s keys: %s is no slower than %s %s", all[0].Keys, all[0].Variant, all[0].Meets, strings.Join(parts, ", "))
}

func (c *Crossing) phrase() string {
	switch c.Where {
	case crossAlways:
		return "at every stretch"
	case crossNever:
		return "at no stretch"
	}
	if c.From < 10 {
		return fmt.Sprintf("from stretches of %.1f on", c.From)
	}
	return fmt.Sprintf("from stretches of %.0f on", c.From)
}

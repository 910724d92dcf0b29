package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"millrace/sim/experiment"
)

func (e *env) printWriter(doc *experiment.WriterDocument, f *writerRunFlags, w *workspace) error {
	switch {
	case f.format.is(formatJSON):
		return e.writeJSON(doc)
	case f.format.is(formatText):
		return e.printWriterText(doc, f, w)
	}
	return e.writeGrid(writerGrid(doc), f.format)
}

// writerGrid is every row.
func writerGrid(doc *experiment.WriterDocument) *grid {
	g := &grid{names: []string{"variant", "threads", "memory_bytes", "tablets", "apply", "map", "total_ns", "min_ns", "max_ns", "add_ns", "sets",
		"add_max_ns", "add_p999_ns", "add_p50_ns", "wait_ns", "memory_waits", "binning_waits", "caller_binned", "binning_ns", "maps_made", "mutations_per_s", "cpu_ns"},
		left: []int{0, 4, 5}}
	for _, r := range doc.Rows {
		g.add(r.Variant, r.Threads, r.MemoryBytes, r.Tablets, r.Apply, r.Map, r.TotalNS, r.MinNS, r.MaxNS, r.AddNS, r.Sets,
			r.AddMaxNS, r.AddP999NS, r.AddP50NS, r.WaitNS, r.MemoryWaits, r.BinningWaits, r.CallerBinned, r.BinningNS, r.MapsMade, int64(r.MutationsPerS), r.CPUNS)
	}
	return g
}

func (e *env) printWriterText(doc *experiment.WriterDocument, f *writerRunFlags, w *workspace) error {
	fmt.Fprintf(e.out, "batch writers on %s\n  %s\n", doc.Machine, settingsLine(doc.Settings))
	c := doc.Clock
	fmt.Fprintf(e.out, "  one Add in %d is timed, which takes %.0f ns: %.1f ns an Add\n", c.TimedEach, c.PairNS, c.PerAddNS)
	for _, part := range writerParts(doc) {
		fmt.Fprintf(e.out, "\n%s\n", part.title())
		if err := e.writeGrid(part.rows(doc), f.format); err != nil {
			return err
		}
		if g := part.ratios(doc); len(g.rows) > 0 {
			fmt.Fprintf(e.out, "\n  actors beside others, pair by pair: throughput over theirs, and their processor time over ours, %s\n", part.title())
			if err := e.writeGrid(g, f.format); err != nil {
				return err
			}
		}
	}
	if g := ticketGrid(doc); len(g.rows) > 0 {
		fmt.Fprintf(e.out, "\nthe ticket's seconds beside ours: a server of Accumulo's on the same machine, and another machine than this\n")
		if err := e.writeGrid(g, f.format); err != nil {
			return err
		}
		fmt.Fprintf(e.out, "  %s\n", doc.Ticket.Caveat)
	}
	fmt.Fprintf(e.out, "\nchecks\n%s", checkLines(doc.Checks))
	fmt.Fprintf(e.out, "\nbars\n%s\n", barLines(doc.Bars))
	if w.keep {
		fmt.Fprintf(e.out, "data  %s, without the tables of this run\n", printable(w.path))
	} else {
		fmt.Fprintf(e.out, "data  was in a temporary directory, removed (--data DIR keeps the store)\n")
	}
	fmt.Fprintf(e.out, "rows  %s\n", fileOr(f.csv, "--csv FILE"))
	fmt.Fprintf(e.out, "JSON  %s\n", fileOr(f.json, "--json FILE"))
	return nil
}

// writerPart is a table for people: all rows of one apply stage with so many tablets.
type writerPart struct {
	apply, tabletMap string
	tablets          int
}

func (p writerPart) has(at experiment.WriterPlace) bool {
	return p == writerPart{at.Apply, at.Map, at.Tablets}
}

func (p writerPart) title() string {
	where := "into a store: "
	if p.apply == "free" {
		where = "applied for free: "
	}
	if p.tabletMap == "cold" {
		return where + humanize.Comma(int64(p.tablets)) + " tablets, and where they are is forgotten five times in a run"
	}
	return where + humanize.Comma(int64(p.tablets)) + " tablets"
}

func writerParts(doc *experiment.WriterDocument) (parts []writerPart) {
	for _, r := range doc.Rows {
		if p := (writerPart{r.Apply, r.Map, r.Tablets}); !slices.Contains(parts, p) {
			parts = append(parts, p)
		}
	}
	return parts
}

// rows is the table, by memory and threads, so that variants stand below each other.
func (p writerPart) rows(doc *experiment.WriterDocument) *grid {
	g := &grid{names: []string{"  memory", "threads", "variant", "total", "min", "max", "in Add", "mutations/s", "CPU", "sets",
		"longest Add", "p99.9", "for memory", "Adds for binning"}, left: []int{0, 2}}
	for _, r := range sortedRows(doc.Rows) {
		if p.has(r.WriterPlace) {
			g.add("  "+bytesText(r.MemoryBytes), r.Threads, r.Variant, millis(r.TotalNS), millis(r.MinNS), millis(r.MaxNS), millis(r.AddNS),
				humanize.Comma(int64(r.MutationsPerS)), millis(r.CPUNS), humanize.Comma(r.Sets), short(r.AddMaxNS), short(r.AddP999NS),
				millis(r.WaitNS), humanize.Comma(r.BinningWaits))
		}
	}
	return g
}

func sortedRows(rows []experiment.WriterRow) []experiment.WriterRow {
	return slices.SortedStableFunc(slices.Values(rows), func(a, b experiment.WriterRow) int { return cmp.Compare(a.MemoryBytes, b.MemoryBytes) })
}

// ratios has two columns for each variant that actors is compared with.
func (p writerPart) ratios(doc *experiment.WriterDocument) *grid {
	g := &grid{names: []string{"  memory", "threads"}, left: []int{0}}
	lines := map[experiment.WriterPlace][]any{}
	var shown []string
	var order []experiment.WriterPlace
	for _, r := range doc.Ratios {
		if !p.has(r.WriterPlace) {
			continue
		}
		if !slices.Contains(shown, r.Over) {
			shown = append(shown, r.Over)
			g.names = append(g.names, "over "+r.Over, r.Over+"'s CPU")
		}
		if lines[r.WriterPlace] == nil {
			lines[r.WriterPlace] = []any{"  " + bytesText(r.MemoryBytes), r.Threads}
			order = append(order, r.WriterPlace)
		}
		lines[r.WriterPlace] = append(lines[r.WriterPlace], ratioText(r.Interval), ratioText(r.CPU))
	}
	slices.SortStableFunc(order, func(a, b experiment.WriterPlace) int { return cmp.Compare(a.MemoryBytes, b.MemoryBytes) })
	for _, at := range order {
		g.add(lines[at]...)
	}
	return g
}

func ratioText(i experiment.Interval) string {
	if i.High == 0 {
		return fmt.Sprintf("%.2f", i.Median)
	}
	return fmt.Sprintf("%.2f (%.2f to %.2f)", i.Median, i.Low, i.High)
}

// ticketGrid is the ticket's table, with what was measured here of the two writers that it most probably is about.
func ticketGrid(doc *experiment.WriterDocument) *grid {
	g := &grid{names: []string{"  memory", "threads", "ticket's master", "handoff here", "ticket's no-sync", "nosync here"}, left: []int{0}}
	type place struct {
		threads int
		memory  int64
	}
	ours := map[place][2]string{}
	for _, r := range doc.Rows {
		i := slices.Index([]string{"handoff", "nosync"}, r.Variant)
		if i < 0 || r.Apply != "real" {
			continue
		}
		at := place{r.Threads, r.MemoryBytes}
		pair := ours[at]
		pair[i] = fmt.Sprintf("%.3f", time.Duration(r.TotalNS).Seconds())
		ours[at] = pair
	}
	for _, r := range slices.SortedStableFunc(slices.Values(doc.Ticket.Rows), func(a, b experiment.TicketRow) int { return cmp.Compare(a.MemoryBytes, b.MemoryBytes) }) {
		if pair, ok := ours[place{r.Threads, r.MemoryBytes}]; ok {
			g.add("  "+bytesText(r.MemoryBytes), r.Threads, fmt.Sprintf("%.3f", r.Master), pair[0], fmt.Sprintf("%.3f", r.NoSync), pair[1])
		}
	}
	return g
}

func bytesText(n int64) string { s := size(n); return s.String() }

func millis(ns int64) string { return fmt.Sprintf("%.1f ms", float64(ns)/1e6) }

// short is a time to three figures.
func short(ns int64) string {
	d := time.Duration(ns)
	for unit := time.Duration(1); ; unit *= 10 {
		if d/unit < 1000 {
			return d.Round(unit).String()
		}
	}
}

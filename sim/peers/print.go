package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"millrace/sim/experiment"
)

// print prints tables for people.
func print(out io.Writer, doc *experiment.PeersDocument) error {
	fmt.Fprintf(out, "one batch writer into several stores on %s\n ", doc.Machine)
	for _, s := range doc.Settings {
		fmt.Fprintf(out, " %s=%s", s.Name, s.Value)
	}
	fmt.Fprintf(out, "\n\n")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "memory\tthreads\tstore\ttotal\tmin\tmax\tin Add\tCPU\tmutations/s\tp99.9 of Add\tfor memory\t")
	for i := range doc.Rows {
		r := &doc.Rows[i]
		fmt.Fprintf(w, "%d M\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%.0f\t%v\t%s\t\n", r.MemoryBytes>>20, r.Threads, r.Apply, millis(r.TotalNS), millis(r.MinNS),
			millis(r.MaxNS), millis(r.AddNS), millis(r.CPUNS), r.MutationsPerS, time.Duration(r.AddP999NS), millis(r.WaitNS))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nthroughput of %s over others, pair by pair: median, and where the mean is with a probability of 95 %%\n", doc.Rows[0].Apply)
	fmt.Fprintln(w, "memory\tthreads\tover\tmedian\tfrom\tto\t")
	for _, r := range doc.Ratios {
		low, high := "-", "-"
		if r.Pairs > 1 {
			low, high = fmt.Sprintf("%.2f", r.Low), fmt.Sprintf("%.2f", r.High)
		}
		fmt.Fprintf(w, "%d M\t%d\t%s\t%.2f\t%s\t%s\t\n", r.MemoryBytes>>20, r.Threads, r.Over, r.Median, low, high)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, c := range doc.Checks {
		verdict := "ok"
		if !c.OK {
			verdict = "FAILED"
		}
		fmt.Fprintf(out, "  %-6s  %s: %s of %s\n", verdict, c.Name, c.Value, c.Want)
	}
	for _, b := range doc.Bars {
		verdict := "within"
		if !b.OK {
			verdict = "missed"
		}
		fmt.Fprintf(out, "  %s  %s: %s, bar %s\n", verdict, b.Name, b.Value, b.Want)
	}
	return nil
}

func millis(ns int64) string { return fmt.Sprintf("%.1f ms", float64(ns)/1e6) }

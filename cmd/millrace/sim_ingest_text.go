package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"millrace/sim/experiment"
)

// Published times of the ticket's full compaction, in seconds.
const (
	ticketOld = 1308.785
	ticketNew = 1245.002
)

func (e *env) printIngest(doc *experiment.IngestDocument, f *ingestFlags, w *workspace) error {
	switch {
	case f.format.is(formatJSON):
		return e.writeJSON(doc)
	case f.format.is(formatText):
		return e.printIngestText(doc, f, w)
	}
	return e.writeGrid(mergeGrid(doc, false), f.format)
}

func (e *env) printIngestText(doc *experiment.IngestDocument, f *ingestFlags, w *workspace) error {
	in := &doc.Ingest
	fmt.Fprintf(e.out, "continuous ingest on %s\n  %s\n\n", doc.Machine, settingsLine(doc.Settings))
	if r := doc.Resumed; r != nil {
		fmt.Fprintf(e.out, "gone on with an earlier run: %s entries were in files, %s acknowledged, %d of those missing\n\n",
			humanize.Comma(r.Entries), humanize.Comma(r.Acknowledged), r.Missing)
	}
	fmt.Fprintf(e.out, "ingest\n  written   %s entries, %s, in %v: %s entries/s, %s/s, CPU %v\n",
		humanize.Comma(in.Entries), humanize.IBytes(uint64(in.Bytes)), seconds(in.WallNS), rate(in.Entries, in.WallNS),
		humanize.IBytes(uint64(float64(in.Bytes)/time.Duration(in.WallNS).Seconds())), seconds(in.CPUNS))
	fmt.Fprintf(e.out, "  files     %s flushes (%v waited for), %s compactions, write amplification %.2f\n",
		humanize.Comma(in.Flushes), seconds(in.FlushNS), humanize.Comma(in.Compactions), in.WriteAmp)
	fmt.Fprintf(e.out, "  tablets   %s\n\n", tabletsLine(doc.Tablets))
	fmt.Fprintf(e.out, "full compaction of the same files, %d times each in turn, page cache warm\n", len(doc.Rows[0].RunsNS))
	if err := e.writeGrid(mergeGrid(doc, true), f.format); err != nil {
		return err
	}
	for _, s := range doc.FileSets {
		chance := ""
		if s.Shape != experiment.ShapeLongRun {
			chance = fmt.Sprintf("; by their sizes the next entry comes from the same file in %.0f%%", 100*s.SameFile)
		}
		fmt.Fprintf(e.out, "  %s files, %s: %d of %s to %s, %s in all%s\n", s.Shape, s.Codec, s.Files,
			humanize.IBytes(uint64(s.LeastFile)), humanize.IBytes(uint64(s.MostFile)), humanize.IBytes(uint64(s.Bytes)), chance)
	}
	for _, r := range doc.Ratios {
		ticket := ""
		if r.Variant == "new" {
			ticket = fmt.Sprintf("; in the ticket %.3f (%.0f s and %.0f s, gz)", ticketNew/ticketOld, ticketOld, ticketNew)
		}
		fmt.Fprintf(e.out, "  %s, %s: %s takes %.3f of the time of %s, pair by pair from %.3f to %.3f, and %.3f of its processor time%s\n",
			r.Shape, r.Codec, r.Variant, r.Median, r.Over, r.Min, r.Max, r.CPU, ticket)
	}
	v, last := &doc.Verified, &doc.Final
	fmt.Fprintf(e.out, "\nkept: a full compaction with %s, %s entries read, %s dropped, %d files left\n",
		last.Variant, humanize.Comma(last.Read), humanize.Comma(last.Dropped), last.Files)
	fmt.Fprintf(e.out, "verified %s entries in %v: %d undefined, %d corrupt, %s referenced, %s not referenced\n\n",
		humanize.Comma(v.Entries), seconds(v.WallNS), v.Undefined, v.Corrupt, humanize.Comma(v.Referenced), humanize.Comma(v.Unreferenced))
	fmt.Fprintf(e.out, "checks\n%s\n", checkLines(doc.Checks))
	if w.keep {
		fmt.Fprintf(e.out, "data  %s\n", printable(w.path))
	} else {
		fmt.Fprintf(e.out, "data  was in a temporary directory, removed (--data DIR keeps it)\n")
	}
	if f.json != "" {
		fmt.Fprintf(e.out, "JSON  %s\n", printable(f.json))
	} else {
		fmt.Fprintf(e.out, "JSON  not written (--json FILE)\n")
	}
	return nil
}

// mergeGrid is the table of merges. People get seconds, programs nanoseconds.
func mergeGrid(doc *experiment.IngestDocument, forPeople bool) *grid {
	if !forPeople {
		g := &grid{names: []string{"shape", "codec", "variant", "entries", "files", "full_ns", "min_ns", "max_ns", "cpu_ns",
			"compares_per_entry", "heap_ops_per_entry", "mean_run_length", "merge_ns_per_entry", "merge_share"}, left: []int{0, 1, 2}}
		for _, r := range doc.Rows {
			g.add(r.Shape, r.Codec, r.Variant, r.Entries, r.Files, r.FullNS, r.MinNS, r.MaxNS, r.CPUNS,
				r.ComparesPerEntry, r.HeapOpsPerEntry, r.RunLength, r.MergeNS, r.MergeShare)
		}
		return g
	}
	g := &grid{names: []string{"  shape", "codec", "merge", "files", "median", "min", "max", "CPU", "entries/s", "compares/entry", "heap ops/entry", "mean run",
		"merge ns/entry", "share"}, left: []int{0, 1, 2}}
	for _, r := range doc.Rows {
		g.add("  "+r.Shape, r.Codec, r.Variant, r.Files, seconds(r.FullNS), seconds(r.MinNS), seconds(r.MaxNS), seconds(r.CPUNS), rate(r.Entries, r.FullNS),
			fmt.Sprintf("%.2f", r.ComparesPerEntry), fmt.Sprintf("%.2f", r.HeapOpsPerEntry), fmt.Sprintf("%.2f", r.RunLength),
			fmt.Sprintf("%.0f", r.MergeNS), fmt.Sprintf("%.1f%%", 100*r.MergeShare))
	}
	return g
}

func settingsLine(settings []experiment.Setting) string {
	var parts []string
	for _, s := range settings {
		parts = append(parts, s.Name+"="+s.Value)
	}
	return printable(strings.Join(parts, " "))
}

// tabletsLine says how many files the tablets have.
func tabletsLine(rows []experiment.TabletRow) string {
	var files, bytes []string
	for _, r := range rows {
		files = append(files, fmt.Sprint(r.Files))
		bytes = append(bytes, humanize.IBytes(uint64(r.Bytes)))
	}
	const most = 16
	if len(files) > most {
		files, bytes = append(files[:most:most], "…"), append(bytes[:most:most], "…")
	}
	return fmt.Sprintf("%d, with %s files of %s", len(rows), strings.Join(files, " "), strings.Join(bytes, ", "))
}

func seconds(ns int64) string { return fmt.Sprintf("%.2f s", time.Duration(ns).Seconds()) }

func rate(n, ns int64) string {
	if ns == 0 {
		return "-"
	}
	return humanize.Comma(int64(float64(n) / time.Duration(ns).Seconds()))
}

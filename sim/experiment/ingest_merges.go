package experiment

import (
	"context"
	"fmt"
	"time"

	"millrace/actors"
	"millrace/actors/protocol"
	"millrace/tablet/iter"
)

// sample is one full compaction of all tablets, thrown away.
type sample struct {
	wall, cpu time.Duration
	tablets   []protocol.TabletCompaction
}

// compareMerges compacts the same files with each merge in turn, and checks that the outputs are the same bytes.
func (r *ingestRun) compareMerges(ctx context.Context) error {
	samples := make([][]sample, len(r.o.Variants))
	total := int64(r.o.Pairs * len(r.o.Variants))
	done := int64(0)
	for pair := range r.o.Pairs {
		for i := range r.o.Variants {
			// Every other pair begins with the other one, so that neither always comes first.
			v := i
			if pair%2 == 1 {
				v = len(r.o.Variants) - 1 - i
			}
			r.progress(Phase{Name: "full compactions", Done: done, Total: total, Unit: "of all tablets"})
			s, err := r.scratch(ctx, r.o.Variants[v])
			if err != nil {
				return err
			}
			samples[v] = append(samples[v], s)
			done++
		}
	}
	for i, mode := range r.o.Variants {
		r.doc.Rows = append(r.doc.Rows, r.row(mode, samples[i]))
	}
	r.compareOutputs(samples)
	r.compareTimes(samples)
	return nil
}

func (r *ingestRun) scratch(ctx context.Context, mode iter.Mode) (sample, error) {
	t := startTimer(r.clock)
	tablets, err := r.store.Compact(ctx, ciTable, actors.CompactOptions{Mode: &mode, Scratch: true, NoFlush: true})
	if err != nil {
		return sample{}, fmt.Errorf("full compaction with %v: %w", mode, err)
	}
	wall, cpu := t.stop()
	return sample{wall, cpu, tablets}, nil
}

func (r *ingestRun) row(mode iter.Mode, samples []sample) IngestRow {
	row := IngestRow{Shape: "natural", Codec: r.codec, Variant: mode.String()}
	var walls, cpus []time.Duration
	for _, s := range samples {
		walls, cpus = append(walls, s.wall), append(cpus, s.cpu)
		row.RunsNS = append(row.RunsNS, int64(s.wall))
	}
	var stats iter.Stats
	for _, t := range samples[0].tablets {
		row.Entries += t.Books.Read
		row.Written += t.Books.Written
		row.Files += len(t.Inputs)
		stats.Comparisons += t.Merge.Comparisons
		stats.HeapOps += t.Merge.HeapOps
		stats.Switches += t.Merge.Switches
	}
	if row.Entries > 0 {
		row.ComparesPerEntry = float64(stats.Comparisons) / float64(row.Entries)
		row.HeapOpsPerEntry = float64(stats.HeapOps) / float64(row.Entries)
		row.RunLength = float64(row.Entries) / float64(max(stats.Switches, 1))
	}
	wall := SpreadOf(walls)
	row.FullNS, row.MinNS, row.MaxNS = int64(wall.Median()), int64(wall.Min()), int64(wall.Max())
	row.CPUNS = int64(SpreadOf(cpus).Median())
	return row
}

// compareOutputs checks that every compaction of a tablet read the same files, wrote the same bytes, and lost count of
// nothing.
func (r *ingestRun) compareOutputs(samples [][]sample) {
	sameBytes, sameFiles, balanced := true, true, true
	first := samples[0][0].tablets
	for _, variant := range samples {
		for _, s := range variant {
			for i, t := range s.tablets {
				sameBytes = sameBytes && t.Hash == first[i].Hash
				sameFiles = sameFiles && len(t.Inputs) == len(r.files[i])
				for j := range min(len(t.Inputs), len(r.files[i])) {
					sameFiles = sameFiles && t.Inputs[j].Number == r.files[i][j].Number
				}
				balanced = balanced && t.Books.Balance() == nil
			}
		}
	}
	c := &r.doc.Checks
	*c = check(*c, "all compactions read the same files", sameFiles, true)
	*c = check(*c, "all outputs are the same bytes", sameBytes, true)
	*c = check(*c, "entries read are those written and dropped", balanced, true)
}

// compareTimes relates the new merge to the old one, pair by pair.
func (r *ingestRun) compareTimes(samples [][]sample) {
	var walls [2][]time.Duration
	for i, mode := range r.o.Variants {
		if mode != iter.Old && mode != iter.New {
			continue
		}
		at := 0
		if mode == iter.New {
			at = 1
		}
		for _, s := range samples[i] {
			walls[at] = append(walls[at], s.wall)
		}
	}
	if len(walls[0]) > 0 && len(walls[1]) > 0 {
		var p PairRatio
		p.Median, p.Min, p.Max = medianRatio(walls[1], walls[0])
		r.doc.Ratio = &p
	}
}

// measureShares finds what part of a compaction's processor time is the merge's own, on one tablet's files.
func (r *ingestRun) measureShares(ctx context.Context) error {
	at := 0
	for i, files := range r.files {
		if len(files) > len(r.files[at]) {
			at = i
		}
	}
	for i, mode := range r.o.Variants {
		r.progress(Phase{Name: "the merge's share", Done: int64(i), Total: int64(len(r.o.Variants)), Unit: "merges"})
		cost, err := measureMerge(ctx, r.fs, r.files[at], mode)
		if err != nil {
			return fmt.Errorf("measure merge %v: %w", mode, err)
		}
		row := &r.doc.Rows[i]
		if row.CPUNS > 0 {
			row.MergeShare = cost.perEntry() * float64(row.Entries) / float64(row.CPUNS)
		}
	}
	return nil
}

// compact compacts for good, so that what is verified is a compaction's output.
func (r *ingestRun) compact(ctx context.Context) error {
	r.progress(Phase{Name: "full compaction, kept", Total: 0, Unit: "entries"})
	t := startTimer(r.clock)
	mode := r.o.Variants[len(r.o.Variants)-1]
	tablets, err := r.store.Compact(ctx, ciTable, actors.CompactOptions{Mode: &mode})
	if err != nil {
		return fmt.Errorf("full compaction: %w", err)
	}
	wall, _ := t.stop()
	row := FinalRow{Variant: mode.String(), WallNS: int64(wall)}
	for _, t := range tablets {
		row.Read += t.Books.Read
		row.Written += t.Books.Written
		row.Dropped += t.Books.Dropped()
		if t.Output.Entries > 0 {
			row.Files++
		}
	}
	r.doc.Final = row
	c := &r.doc.Checks
	*c = check(*c, "kept compaction wrote as many entries as those compared", row.Written, r.doc.Rows[0].Written)
	return nil
}

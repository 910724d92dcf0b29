package experiment

import (
	"context"
	"fmt"
	"slices"
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

// compareMerges compacts the same files with each merge in turn, and sees whether the outputs are the same bytes.
func (r *ingestRun) compareMerges(ctx context.Context, set *fileSet) error {
	samples := make([][]sample, len(r.o.Variants))
	for pair := range r.o.Pairs {
		for i := range r.o.Variants {
			// Every other pair begins with the other one, so that neither always comes first.
			v := i
			if pair%2 == 1 {
				v = len(r.o.Variants) - 1 - i
			}
			r.progress(Phase{Name: "full compactions", Done: r.compactions, Unit: "of all tablets",
				Total: int64(r.o.Pairs * len(r.o.Variants) * len(r.o.Shapes) * len(r.o.Codecs))})
			s, err := r.scratch(ctx, set, actors.CompactOptions{Mode: &r.o.Variants[v]})
			if err != nil {
				return err
			}
			samples[v] = append(samples[v], s)
			r.compactions++
		}
	}
	for i, mode := range r.o.Variants {
		r.doc.Rows = append(r.doc.Rows, set.mergeRow(mode, samples[i]))
	}
	r.compareOutputs(set, samples)
	r.compareTimes(set, samples)
	if len(r.o.Shapes) == 1 {
		return nil
	}
	return r.compareShapes(ctx, set)
}

// scratch compacts all tablets of a set and throws the outputs away.
func (r *ingestRun) scratch(ctx context.Context, set *fileSet, o actors.CompactOptions) (sample, error) {
	o.Scratch, o.NoFlush = true, true
	t := startTimer(r.clock)
	tablets, err := r.store.Compact(ctx, set.table, o)
	if err != nil {
		return sample{}, fmt.Errorf("full compaction with %v: %w", *o.Mode, err)
	}
	wall, cpu := t.stop()
	return sample{wall, cpu, tablets}, nil
}

func (s *fileSet) mergeRow(mode iter.Mode, samples []sample) IngestRow {
	row := IngestRow{Shape: s.shape, Codec: s.codec, Variant: mode.String()}
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

// heldOutputs is what was seen of all compactions that were thrown away.
type heldOutputs struct {
	sameBytes, sameFiles, balanced, sameShapes bool
	hashes                                     map[string][][32]byte // by codec, of each tablet
}

// compareOutputs sees that every compaction of a tablet read the same files, wrote the same bytes, and lost count of
// nothing.
func (r *ingestRun) compareOutputs(set *fileSet, samples [][]sample) {
	h := &r.held
	first := samples[0][0].tablets
	for _, variant := range samples {
		for _, s := range variant {
			for i, t := range s.tablets {
				h.sameBytes = h.sameBytes && t.Hash == first[i].Hash
				h.sameFiles = h.sameFiles && len(t.Inputs) == len(set.files[i])
				for j := range min(len(t.Inputs), len(set.files[i])) {
					h.sameFiles = h.sameFiles && t.Inputs[j].Number == set.files[i][j].Number
				}
				h.balanced = h.balanced && t.Books.Balance() == nil
			}
		}
	}
}

// compareShapes sees that the set gives the same bytes as those of other shapes in its codec. Blocks of the inputs that go to
// the output as they are stored end where they did, which is elsewhere in each shape; so all are compressed anew, once more and
// beside the clock.
func (r *ingestRun) compareShapes(ctx context.Context, set *fileSet) error {
	s, err := r.scratch(ctx, set, actors.CompactOptions{Mode: &r.o.Variants[0], Recode: true})
	if err != nil {
		return err
	}
	var hashes [][32]byte
	for _, t := range s.tablets {
		hashes = append(hashes, t.Hash)
	}
	h := &r.held
	if other, ok := h.hashes[set.codec]; ok {
		h.sameShapes = h.sameShapes && slices.Equal(hashes, other)
	} else {
		h.hashes[set.codec] = hashes
	}
	return nil
}

// compareTimes relates new to old, as the ticket does, and the tree to new, pair by pair.
func (r *ingestRun) compareTimes(set *fileSet, samples [][]sample) {
	walls, cpus := map[iter.Mode][]time.Duration{}, map[iter.Mode][]time.Duration{}
	for i, mode := range r.o.Variants {
		for _, s := range samples[i] {
			walls[mode], cpus[mode] = append(walls[mode], s.wall), append(cpus[mode], s.cpu)
		}
	}
	for _, p := range [][2]iter.Mode{{iter.New, iter.Old}, {iter.Tree, iter.New}} {
		if len(walls[p[0]]) == 0 || len(walls[p[1]]) == 0 {
			continue
		}
		row := RatioRow{Shape: set.shape, Codec: set.codec, Variant: p[0].String(), Over: p[1].String()}
		row.Median, row.Min, row.Max = medianRatio(walls[p[0]], walls[p[1]])
		row.CPU, _, _ = medianRatio(cpus[p[0]], cpus[p[1]])
		r.doc.Ratios = append(r.doc.Ratios, row)
	}
}

// measureShares finds what part of a compaction's processor time is the merge's own, on one tablet's files.
func (r *ingestRun) measureShares(ctx context.Context, set *fileSet, rows []IngestRow) error {
	at := 0
	for i, files := range set.files {
		if len(files) > len(set.files[at]) {
			at = i
		}
	}
	r.progress(Phase{Name: "the merge's share", Unit: "merges", Total: int64(len(rows))})
	costs, err := measureMerges(ctx, r.fs, set.files[at], r.o.Variants)
	if err != nil {
		return fmt.Errorf("measure merges: %w", err)
	}
	for i := range rows {
		row := &rows[i]
		row.MergeNS = costs[i].perEntry()
		if row.CPUNS > 0 {
			row.MergeShare = row.MergeNS * float64(row.Entries) / float64(row.CPUNS)
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

package experiment

import (
	"fmt"

	"millrace/writer"
)

// check holds what does not depend on the clock.
func (r *writerRun) check() {
	c := &r.doc.Checks
	*c = check(*c, "estimated bytes of a mutation", r.size(), 270)
	*c = check(*c, "runs after which every mutation was acknowledged", r.settled, r.made)
	*c = check(*c, "runs into a store after which as many entries were there", r.tally.counted, r.tally.runs)
	*c = check(*c, "of those, runs of which a scan gave each row once", r.tally.scanned, r.tally.scans)
	for _, memory := range r.o.MemoryBytes {
		r.checkSets(memory)
	}
	r.checkWaits()
}

// checkSets holds the numbers of sets against those that follow from the rule; with a million mutations and 1, 10 and 100
// MiB they are the ticket's 515, 52 and 6.
func (r *writerRun) checkSets(memory int64) {
	for _, v := range []writer.Variant{writer.Locked, writer.Handoff, writer.NoSync} {
		seen, want, least := newSpan(), int64(0), int64(0)
		for _, c := range r.cells {
			if l := c.lane(v); l != nil && c.at.MemoryBytes == memory {
				want, least = setsWanted(r.o.Mutations, int64(r.size()), memory, 0), setsWanted(r.o.Mutations, int64(r.size()), memory, c.at.Threads)
				for i := range l.stats {
					seen.add(float64(l.stats[i].Sets))
				}
			}
		}
		if seen.none() {
			continue
		}
		low := 0.99 * float64(want)
		if v == writer.NoSync { // while one thread takes a set out, each of the others may add one more mutation to it
			low = min(low, float64(least))
		}
		r.doc.Checks = append(r.doc.Checks, Check{
			Name:  fmt.Sprintf("sets of %v, memory of %d bytes", v, memory),
			Value: fmt.Sprintf("%.0f to %.0f", seen.least, seen.most), Want: fmt.Sprintf("%d, within 1 %%", want),
			OK: seen.least >= low && seen.most <= 1.01*float64(want),
		})
	}
}

// checkWaits holds that adds wait for binning where callers bin, and nowhere else.
func (r *writerRun) checkWaits() {
	c := &r.doc.Checks
	if s := r.binningWaits(writer.Locked); !s.none() {
		*c = append(*c, Check{Name: "adds that waited for binning, locked, fewest of a run", OK: s.least > 0, Value: fmt.Sprint(int64(s.least)), Want: "above 0"})
	}
	if s := r.binningWaits(writer.Actors); !s.none() {
		*c = check(*c, "adds that waited for binning, actors, most of a run", int64(s.most), 0)
	}
}

// binningWaits spans the Adds that waited for binning, of all runs in which a set was full before the end.
func (r *writerRun) binningWaits(v writer.Variant) span {
	s := newSpan()
	for _, c := range r.cells {
		if l := c.lane(v); l != nil && (setsWanted(r.o.Mutations, int64(r.size()), c.at.MemoryBytes, 0) > 1 || v == writer.Actors) {
			for i := range l.stats {
				s.add(float64(l.stats[i].BinningWaits))
			}
		}
	}
	return s
}

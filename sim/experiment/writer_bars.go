package experiment

import (
	"fmt"
	"time"

	"millrace/writer"
)

// What times are held against. They depend on the machine and on what else it does, so they are no checks.
const (
	barManyTablets = 1.5  // times the throughput of locked that actors reaches
	barManyThreads = 1.1  // times the time with one thread that as many threads as there are take
	barSlower      = 0.95 // of the throughput of handoff, below which actors is slower, if the interval lies below 1
	barLockedCPU   = 1.1  // times the processor time of actors that locked takes: it is not made slow on purpose
	barAdd         = 20 * time.Microsecond
	manyTablets    = 10_000
	manyThreads    = 8
)

func (r *writerRun) bars() {
	r.doc.Bars = []Check{}
	b := &r.doc.Bars
	for _, memory := range r.o.MemoryBytes {
		s := r.throughputs("locked", func(at WriterPlace) bool {
			return at.Apply == applyFree && at.Map == mapWarm && at.Tablets == manyTablets && at.Threads == manyThreads && at.MemoryBytes == memory
		})
		name := fmt.Sprintf("times the throughput of locked has actors, free apply, %d tablets, %d threads, %d bytes", manyTablets, manyThreads, memory)
		*b = within(*b, name, s, barManyTablets, unbounded)
	}
	for _, apply := range []string{applyReal, applyFree} {
		*b = within(*b, "times the time of fewest threads take most threads, actors, apply "+apply, r.scaling(apply), -unbounded, barManyThreads)
		for _, memory := range r.o.MemoryBytes {
			name := fmt.Sprintf("times the processor time of actors takes locked, apply %s, %d bytes", apply, memory)
			one, more := r.lockedCPU(apply, memory)
			*b = within(*b, name+", fewest threads", one, -unbounded, barLockedCPU)
			*b = within(*b, name+", more threads", more, -unbounded, barLockedCPU)
		}
	}
	r.barAdd()
	r.barSlower()
}

// throughputs are the medians of actors over another variant, wherever it is wanted.
func (r *writerRun) throughputs(over string, wanted func(WriterPlace) bool) span {
	s := newSpan()
	for _, ratio := range r.doc.Ratios {
		if ratio.Over == over && wanted(ratio.WriterPlace) {
			s.add(ratio.Median)
		}
	}
	return s
}

// scaling is what the most threads take over what the fewest take, wherever both were measured.
func (r *writerRun) scaling(apply string) span {
	s, fewest := newSpan(), map[WriterPlace]time.Duration{}
	for _, c := range r.cells {
		l := c.lane(writer.Actors)
		if l == nil || c.at.Apply != apply {
			continue
		}
		total, at := SpreadOf(l.totals).Median(), c.at
		at.Threads = 0
		if c.at.Threads == r.o.Threads[0] {
			fewest[at] = total
		} else if one, ok := fewest[at]; ok && c.at.Threads == r.o.mostThreads() {
			s.add(float64(total) / float64(one))
		}
	}
	return s
}

// lockedCPU is the processor time of locked over that of actors, with the fewest threads, and with more, which have to wait for
// the lock.
func (r *writerRun) lockedCPU(apply string, memory int64) (one, more span) {
	one, more = newSpan(), newSpan()
	for _, c := range r.cells {
		locked, ours := c.lane(writer.Locked), c.lane(writer.Actors)
		if locked == nil || ours == nil || c.at.Apply != apply || c.at.MemoryBytes != memory {
			continue
		}
		s := &more
		if c.at.Threads == r.o.Threads[0] {
			s = &one
		}
		s.add(float64(SpreadOf(locked.cpus).Median()) / float64(SpreadOf(ours.cpus).Median()))
	}
	return one, more
}

// barAdd holds the 99.9th percentile of Add wherever nobody ever waited for memory.
func (r *writerRun) barAdd() {
	worst, any := time.Duration(0), false
	for i := range r.cells {
		l := r.cells[i].lane(writer.Actors)
		if l == nil {
			continue
		}
		waited := false
		for j := range l.stats {
			waited = waited || l.stats[j].MemoryWaits > 0
		}
		if !waited {
			worst, any = max(worst, time.Duration(l.latencies.ValueAtQuantile(99.9))), true
		}
	}
	if any {
		r.doc.Bars = append(r.doc.Bars, Check{
			Name: "99.9th percentile of an Add of actors, where nobody waited for memory", OK: worst <= barAdd,
			Value: worst.String(), Want: "at most " + barAdd.String(),
		})
	}
}

// barSlower counts places where actors is slower than handoff.
func (r *writerRun) barSlower() {
	slower, places := 0, 0
	for _, ratio := range r.doc.Ratios {
		if ratio.Over != writer.Handoff.String() || ratio.Pairs < 2 {
			continue
		}
		places++
		if ratio.Median < barSlower && ratio.High < 1 {
			slower++
		}
	}
	if places > 0 {
		name := fmt.Sprintf("places of %d where actors has less than %.2f of the throughput of handoff, if their intervals lie below 1", places, barSlower)
		r.doc.Bars = check(r.doc.Bars, name, slower, 0)
	}
}

package experiment

import (
	"math"
	"strings"
	"testing"
	"time"

	"millrace/writer"
)

// madeUp is a run with one cell for each place, whose figures the test says.
type madeUp struct{ r *writerRun }

func newMadeUp(t *testing.T) *madeUp {
	return &madeUp{&writerRun{o: WriterOptions{}.withDefaults(), doc: &WriterDocument{}, turns: turns{mutations: testMutations(t, 1, 1)}}}
}

// cell adds one at which every variant has two runs of the same times and counts.
func (m *madeUp) cell(at WriterPlace, total func(writer.Variant) time.Duration, stats func(writer.Variant) writer.Stats) *writerCell {
	c := newWriterCell(at, m.r.o.Variants)
	for i := range c.lanes {
		l := &c.lanes[i]
		for range 2 {
			l.totals, l.adds, l.cpus = append(l.totals, total(l.variant)), append(l.adds, total(l.variant)), append(l.cpus, total(l.variant))
			l.stats = append(l.stats, stats(l.variant))
		}
	}
	m.r.cells = append(m.r.cells, c)
	m.r.doc.Ratios = append(m.r.doc.Ratios, c.ratios()...)
	return c
}

// failedOf are the names of checks that do not hold.
func failedOf(checks []Check) string {
	var names []string
	for _, c := range checks {
		if !c.OK {
			names = append(names, c.Name+": "+c.Value)
		}
	}
	return strings.Join(names, "\n")
}

func second(writer.Variant) time.Duration { return time.Second }

// good has as many sets as follow from the rule, and waits where callers bin.
func good(v writer.Variant) writer.Stats {
	s := writer.Stats{Sets: 515, BinningWaits: 515}
	if v == writer.Actors {
		s = writer.Stats{Sets: 2000}
	}
	return s
}

// TestWriterChecks breaks each figure that a check is about.
func TestWriterChecks(t *testing.T) {
	at := WriterPlace{Threads: 4, MemoryBytes: 1 << 20, Tablets: 8, Apply: applyReal, Map: mapWarm}
	f := func(want string, spoil func(r *writerRun, v writer.Variant, s *writer.Stats)) {
		t.Helper()
		m := newMadeUp(t)
		m.cell(at, second, func(v writer.Variant) writer.Stats {
			s := good(v)
			spoil(m.r, v, &s)
			return s
		})
		m.r.check()
		if got := failedOf(m.r.doc.Checks); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("failed %q, want %q", got, want)
		}
	}
	sets := func(of writer.Variant, n int64) func(*writerRun, writer.Variant, *writer.Stats) {
		return func(_ *writerRun, v writer.Variant, s *writer.Stats) {
			if v == of {
				s.Sets = n
			}
		}
	}
	f("", func(*writerRun, writer.Variant, *writer.Stats) {})
	f("", sets(writer.Locked, 510))
	f("sets of locked, memory of 1048576 bytes: 509 to 509", sets(writer.Locked, 509))
	f("sets of handoff, memory of 1048576 bytes: 521 to 521", sets(writer.Handoff, 521))
	f("sets of nosync, memory of 1048576 bytes: 500 to 500", sets(writer.NoSync, 500))
	f("", sets(writer.Actors, 1))
	f("waited for binning, locked, fewest of a run: 0", func(_ *writerRun, v writer.Variant, s *writer.Stats) {
		if v == writer.Locked {
			s.BinningWaits = 0
		}
	})
	f("waited for binning, actors, most of a run: 1", func(_ *writerRun, v writer.Variant, s *writer.Stats) {
		if v == writer.Actors {
			s.BinningWaits = 1
		}
	})
	f("acknowledged: 3", func(r *writerRun, _ writer.Variant, _ *writer.Stats) { r.made, r.settled = 4, 3 })
	f("as many entries were there: 3", func(r *writerRun, _ writer.Variant, _ *writer.Stats) { r.tally = storeTally{runs: 4, counted: 3} })
	f("each row once: 1", func(r *writerRun, _ writer.Variant, _ *writer.Stats) { r.tally = storeTally{scans: 2, scanned: 1} })
}

// TestWriterBars breaks each figure that a bar is about.
func TestWriterBars(t *testing.T) {
	f := func(want string, total func(at WriterPlace, v writer.Variant) time.Duration, waits int64, add time.Duration) {
		t.Helper()
		m := newMadeUp(t)
		for _, at := range []WriterPlace{
			{1, 10 << 20, 8, applyReal, mapWarm}, {16, 10 << 20, 8, applyReal, mapWarm},
			{1, 10 << 20, 10_000, applyFree, mapWarm}, {8, 10 << 20, 10_000, applyFree, mapWarm},
		} {
			c := m.cell(at, func(v writer.Variant) time.Duration { return total(at, v) }, func(writer.Variant) writer.Stats { return writer.Stats{MemoryWaits: waits} })
			record(c.lane(writer.Actors).latencies, add)
		}
		m.r.bars()
		got := failedOf(m.r.doc.Bars)
		if !strings.Contains(got, want) || waits > 0 && strings.Contains(got, "percentile") {
			t.Errorf("missed %q, want %q", got, want)
		}
		for _, b := range m.r.doc.Bars {
			if strings.Contains(b.Value, "Inf") || strings.Contains(b.Value, "NaN") {
				t.Errorf("%+v", b)
			}
		}
	}
	// usual is 1 s, but for locked where there are many tablets.
	usual := func(at WriterPlace, v writer.Variant) time.Duration {
		if v == writer.Locked && at.Tablets == 10_000 && at.Threads == 8 {
			return 1500 * time.Millisecond
		}
		return time.Second
	}
	slow := func(which WriterPlace, variant writer.Variant, d time.Duration) func(WriterPlace, writer.Variant) time.Duration {
		return func(at WriterPlace, v writer.Variant) time.Duration {
			if v == variant && at.Threads == which.Threads && at.Apply == which.Apply {
				return d
			}
			return usual(at, v)
		}
	}
	cpu := "the processor time of actors takes locked, apply free, 10485760 bytes, more threads: 1.50"
	f(cpu, usual, 0, time.Microsecond) // which is here the time itself
	f("free apply, 10000 tablets, 8 threads, 10485760 bytes: 1.49", slow(WriterPlace{Threads: 8, Apply: applyFree}, writer.Locked, 1490*time.Millisecond), 0, 1)
	f("most threads, actors, apply real: 1.20", slow(WriterPlace{Threads: 16, Apply: applyReal}, writer.Actors, 1200*time.Millisecond), 0, 1)
	f("intervals lie below 1: 1", slow(WriterPlace{Threads: 16, Apply: applyReal}, writer.Actors, 1060*time.Millisecond), 0, 1)
	f("apply free, 10485760 bytes, fewest threads: 1.20", slow(WriterPlace{Threads: 1, Apply: applyFree}, writer.Locked, 1200*time.Millisecond), 0, 1)
	f("99.9th percentile", usual, 0, 25*time.Microsecond)
	f(cpu, usual, 1, time.Second) // they waited for memory
}

func TestInterval95(t *testing.T) {
	f := func(low, high float64, ratios ...float64) {
		t.Helper()
		l, h := interval95(ratios)
		if math.Abs(l/low-1) > 1e-3 || math.Abs(h/high-1) > 1e-3 {
			t.Errorf("%v: %v to %v, want %v to %v", ratios, l, h, low, high)
		}
	}
	f(1, 1, 1, 1, 1)
	f(math.Exp(-12.706), math.Exp(12.706), math.E, 1/math.E) // deviation √2, error 1, one degree of freedom
	f(1.2237, 2.1127, 1, 2, 2, 1.5, 1.8, 1.6)
	if i := intervalOf([]time.Duration{2, 2, 4}, []time.Duration{4, 2, 2}); i.Median != 1 || i.Low >= 1 || i.High <= 1 {
		t.Errorf("%+v", i)
	}
	if i := intervalOf([]time.Duration{2}, []time.Duration{3}); i != (Interval{Median: 1.5}) {
		t.Errorf("%+v", i)
	}
}

func TestWriterRatios(t *testing.T) {
	c := newWriterCell(WriterPlace{Threads: 3}, []writer.Variant{writer.Handoff, writer.Actors})
	for i, d := range []time.Duration{3, 2} {
		l := &c.lanes[i]
		l.totals, l.cpus = []time.Duration{d, d}, []time.Duration{1, 1 + time.Duration(i)}
	}
	got := c.ratios()
	if len(got) != 1 || got[0].Over != "handoff" || got[0].Threads != 3 || got[0].Pairs != 2 || got[0].Median != 1.5 || got[0].CPU.Median != 0.75 {
		t.Errorf("%+v", got)
	}
	if got := newWriterCell(WriterPlace{}, []writer.Variant{writer.Locked}).ratios(); got != nil {
		t.Errorf("%+v", got)
	}
}

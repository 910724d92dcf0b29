package experiment

import (
	"context"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"millrace/internal/clock"
	"millrace/tablet"
	"millrace/writer"
)

// timedEach says which Adds are timed: one of so many, for a look at the clock costs as much as many an Add. It is prime, so
// that Adds that fill a buffer are not met more often than others, or never.
const timedEach = 61

// Histograms are of up to latencyMax, each value to 1 %.
const (
	latencyMax    = int64(10 * time.Minute)
	latencyDigits = 2
)

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, latencyMax, latencyDigits) }

func record(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(int64(d), 0), latencyMax)) // within bounds it cannot fail
}

// adders are threads that add mutations to a writer, each with a histogram of its own.
type adders struct {
	clock clock.Clock
	hists []*hdrhistogram.Histogram
}

// add adds all mutations from so many threads, which begin together. began is called when they do. The first error ends all.
func (a *adders) add(ctx context.Context, w *writer.BatchWriter, mutations []*tablet.Mutation, threads int, began func()) error {
	for len(a.hists) < threads {
		a.hists = append(a.hists, newHistogram())
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var ready, all sync.WaitGroup
	start := make(chan struct{})
	ready.Add(threads)
	for t := range threads {
		a.hists[t].Reset()
		part := mutations[len(mutations)*t/threads : len(mutations)*(t+1)/threads]
		all.Go(func() {
			ready.Done()
			<-start
			if err := a.addPart(ctx, w, part, t); err != nil {
				cancel(err)
			}
		})
	}
	ready.Wait()
	began()
	close(start)
	all.Wait()
	return context.Cause(ctx)
}

func (a *adders) addPart(ctx context.Context, w *writer.BatchWriter, part []*tablet.Mutation, thread int) error {
	const lookEach = 1024 // at the context: Add looks only when it waits
	h, next := a.hists[thread], thread%timedEach
	for i, m := range part {
		if i%lookEach == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if i != next {
			if err := w.Add(ctx, m); err != nil {
				return err
			}
			continue
		}
		next += timedEach
		began := a.clock.Now()
		if err := w.Add(ctx, m); err != nil {
			return err
		}
		record(h, clock.Since(a.clock, began))
	}
	return nil
}

// clockCost measures what the timing of one Add costs.
func clockCost(c clock.Clock) ClockCost {
	const times = 100_000
	h := newHistogram()
	start := c.Now()
	for range times {
		record(h, clock.Since(c, c.Now()))
	}
	pair := float64(clock.Since(c, start)) / times
	return ClockCost{TimedEach: timedEach, PairNS: pair, PerAddNS: pair / timedEach}
}

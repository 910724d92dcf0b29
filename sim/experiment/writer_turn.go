package experiment

import (
	"context"
	"errors"
	"runtime"
	"time"

	"millrace/internal/clock"
	"millrace/tablet"
	"millrace/writer"
)

// turn is one run of one writer.
type turn struct {
	total, add, cpu time.Duration
	stats           writer.Stats
	maps            int // how often it was found out where tablets are
}

// whole says that all mutations were taken and acknowledged.
func (t *turn) whole(mutations int) bool {
	n := int64(mutations)
	return t.stats.Mutations == n && t.stats.Acknowledged == n && t.stats.Failed == 0
}

// turn adds all mutations to a writer that nobody has used, and closes it. Histograms of the threads are left in a.
func (a *adders) turn(ctx context.Context, w *writer.BatchWriter, mutations []*tablet.Mutation, threads int) (t turn, err error) {
	runtime.GC() // what others have left is not for this one to clean up
	var whole timer
	err = a.add(ctx, w, mutations, threads, func() { whole = startTimer(a.clock) })
	t.add = clock.Since(a.clock, whole.start)
	if err == nil {
		err = w.Close(ctx)
	}
	t.total, t.cpu = whole.stop()
	if err != nil {
		return t, errors.Join(err, abandon(w))
	}
	t.stats = w.Stats()
	return t, nil
}

// patience is how long something may take to end once it is no longer wanted.
const patience = 30 * time.Second

// abandon closes a writer after something went wrong, which was told already. It has its own time, as the run's may be over.
func abandon(w *writer.BatchWriter) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := w.Close(ctx)
	if rejected := (*writer.RejectedError)(nil); errors.As(err, &rejected) {
		return nil
	}
	return err
}

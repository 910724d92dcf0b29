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

// turns are runs of writers in turn, each with the same mutations.
type turns struct {
	adders        adders
	mutations     []*tablet.Mutation
	warmUps, runs int
	progress      func(Phase)
	made, settled int // so far, warm-ups included; and those after which every mutation was acknowledged
}

// each is how many turns every lane has.
func (r *turns) each() int { return max(r.warmUps, 0) + r.runs }

// inTurn calls f for every lane, by its index, of a place, turn by turn. Every other turn goes backwards, so that no lane always comes first.
func (r *turns) inTurn(c *writerCell, p *Phase, f func(lane, turn int) error) error {
	for t := range r.each() {
		for i := range c.lanes {
			if t%2 == 1 {
				i = len(c.lanes) - 1 - i
			}
			r.progress(*p)
			if err := f(i, t); err != nil {
				return err
			}
			p.Done++
		}
	}
	return nil
}

// run is one turn of a lane.
func (r *turns) run(ctx context.Context, w *writer.BatchWriter, threads int) (turn, error) {
	t, err := r.adders.turn(ctx, w, r.mutations, threads)
	if err != nil {
		return t, err
	}
	r.made++
	if t.whole(len(r.mutations)) {
		r.settled++
	}
	return t, nil
}

// note keeps what a turn found, unless it was to warm up.
func (r *turns) note(l *writerLane, t turn, threads, number int) {
	if number >= max(r.warmUps, 0) {
		l.note(t, &r.adders, threads)
	}
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

package experiment

import (
	"context"
	"errors"

	"millrace/actors"
	"millrace/internal/clock"
	"millrace/internal/vfs"
	"millrace/writer"
)

// Writer is the experiment of ACCUMULO-1755: mutations from several threads through one batch writer, whose adds are held up
// by binning in one way or another. They go to a store on fs, and then to where applying them is free. Tables of the store
// go as soon as they were looked at. progress may be nil; it is called from one goroutine.
func Writer(ctx context.Context, fs vfs.FS, o WriterOptions, progress func(Phase)) (*WriterDocument, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	if progress == nil {
		progress = func(Phase) {}
	}
	r := &writerRun{o: o, turns: turns{adders: adders{clock: clock.Real{}}, warmUps: o.WarmUps, runs: o.Runs, progress: progress}}
	r.doc = &WriterDocument{Document: Document[WriterRow]{
		Schema: "millrace.sim.writer/1", Command: "writer", Settings: writerSettings(o), Machine: ThisMachine(),
	}, Ticket: WriterTicket{Caveat: ticketCaveat, Rows: ticketRows}}
	r.doc.Clock = clockCost(r.adders.clock)
	var err error
	if r.mutations, err = makeMutations(ctx, o.Mutations, o.Seed, progress); err != nil {
		return nil, err
	}
	if err := r.real(ctx, fs); err != nil {
		return nil, err
	}
	if err := r.free(ctx); err != nil {
		return nil, err
	}
	r.check()
	r.bars()
	return r.doc, nil
}

// writerRun is one run of Writer.
type writerRun struct {
	o WriterOptions
	turns
	doc   *WriterDocument
	cells []*writerCell
	tally storeTally
}

// real measures with a store as the apply stage.
func (r *writerRun) real(ctx context.Context, fs vfs.FS) (err error) {
	s, err := openStoreStage(ctx, fs, r.o, &r.tally)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	return r.measure(ctx, "into a store", r.o.realPlaces(), func(WriterPlace) applyStage { return s })
}

// free measures with an apply stage that costs nothing.
func (r *writerRun) free(ctx context.Context) (err error) {
	rt, err := actors.NewRuntime(actors.RuntimeOptions{Seed: r.o.Seed})
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		err = errors.Join(err, rt.Close(ctx))
	}()
	return r.measure(ctx, "applied for free", r.o.freePlaces(r.ample()), func(at WriterPlace) applyStage { return newFreeStage(rt, r.o.Mutations, at) })
}

// ample is memory for all mutations at once, in whole MiB.
func (r *writerRun) ample() int64 {
	return (int64(len(r.mutations)*r.size())>>20 + 1) << 20
}

// size is the estimated memory of one mutation.
func (r *writerRun) size() int { return r.mutations[0].EstimatedMemory() }

func (r *writerRun) measure(ctx context.Context, phase string, places []WriterPlace, stage func(WriterPlace) applyStage) error {
	p := Phase{Name: phase, Total: int64(len(places) * r.each() * len(r.o.Variants)), Unit: "runs"}
	for _, at := range places {
		c, s := newWriterCell(at, r.o.Variants), stage(at)
		err := r.inTurn(c, &p, func(lane, turn int) error { return r.turn(ctx, c, &c.lanes[lane], s, turn) })
		if err != nil {
			return err
		}
		r.cells = append(r.cells, c)
		for i := range c.lanes {
			r.doc.Rows = append(r.doc.Rows, c.lanes[i].row(at, r.o.Mutations))
		}
		r.doc.Ratios = append(r.doc.Ratios, c.ratios()...)
	}
	return nil
}

// turn is one run of one variant. The first of each place has every entry read back.
func (r *writerRun) turn(ctx context.Context, c *writerCell, l *writerLane, s applyStage, number int) error {
	w, err := s.open(ctx, writer.Options{MemoryBytes: c.at.MemoryBytes, Variant: l.variant})
	if err != nil {
		return err
	}
	t, err := r.run(ctx, w, c.at.Threads)
	if err != nil {
		return err
	}
	if f, ok := s.(*freeStage); ok {
		t.maps = f.maps()
	}
	r.note(l, t, c.at.Threads, number)
	return s.finish(ctx, number == 0)
}

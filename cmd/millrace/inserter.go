package main

import (
	"context"
	"errors"
	"fmt"

	"millrace/actors"
	"millrace/tablet"
)

// inserter writes mutations in groups, some of which are on their way at a time.
type inserter struct {
	store   *openStore
	table   string
	options []actors.WriteOption
	in      *lineReader // nil for an entry of arguments

	group  []*tablet.Mutation
	lines  []int64
	bytes  int
	onWay  []sentGroup
	counts insertedDocument
}

type sentGroup struct {
	ack       *actors.Ack
	mutations []*tablet.Mutation
	lines     []int64
}

// Groups are large enough to fill a sync of the log, and few enough that an error is heard of soon.
const (
	insertGroupBytes = 1 << 20
	insertGroups     = 4
)

func (w *inserter) add(ctx context.Context, m *tablet.Mutation, line int64) error {
	w.group, w.lines = append(w.group, m), append(w.lines, line)
	if w.bytes += m.EstimatedMemory(); w.bytes < insertGroupBytes {
		return nil
	}
	return w.send(ctx)
}

// send sends the present group, after the oldest has come back if too many are on their way.
func (w *inserter) send(ctx context.Context) error {
	if len(w.group) == 0 {
		return nil
	}
	if len(w.onWay) == insertGroups {
		if err := w.wait(ctx); err != nil {
			return err
		}
	}
	ack, err := w.store.ApplyAsync(ctx, w.table, w.group, w.options...)
	if err != nil {
		return err
	}
	w.onWay = append(w.onWay, sentGroup{ack, w.group, w.lines})
	w.group, w.lines, w.bytes = nil, nil, 0
	return nil
}

// wait hears what became of the oldest group.
func (w *inserter) wait(ctx context.Context) error {
	g := w.onWay[0]
	w.onWay = w.onWay[1:]
	err := g.ack.Wait(ctx)
	var refused *actors.RefusedError
	if err != nil && !errors.As(err, &refused) {
		return err
	}
	bad := map[*tablet.Mutation]error{}
	if refused != nil {
		for _, r := range refused.Refused {
			bad[r.Mutation] = r.Err
		}
	}
	var first error
	for i, m := range g.mutations {
		if why := bad[m]; why != nil {
			if first == nil {
				first = w.refused(g.lines[i], why)
			}
			continue
		}
		w.counts.Entries++
		for u := range m.All() {
			if u.Deleted {
				w.counts.Deletes++
			}
		}
	}
	return first
}

// refused says which entry a constraint stood against.
func (w *inserter) refused(line int64, why error) error {
	if w.in == nil {
		return why
	}
	return &inputError{w.in.name, line, why}
}

// finish sends what is left and waits for all of it. The first error counts.
func (w *inserter) finish(ctx context.Context) error {
	err := w.send(ctx)
	for len(w.onWay) > 0 {
		if e := w.wait(ctx); err == nil {
			err = e
		}
	}
	return err
}

// keep flushes what the log does not have and would be lost with the process, also after an error or an interruption.
func (w *inserter) keep(ctx context.Context, durability string) error {
	ctx = context.WithoutCancel(ctx)
	if durability == "" {
		properties, err := w.store.Properties(ctx, w.table)
		if err != nil {
			return err
		}
		durability = properties["table.durability"]
	}
	if durability != tablet.DurabilityNone.String() {
		return nil
	}
	return w.store.Flush(ctx, w.table)
}

// after says how much was written before an error.
func (w *inserter) after(err error) error {
	if err == nil || w.counts.Entries == 0 {
		return err
	}
	return fmt.Errorf("%w; %s inserted", err, counted(w.counts.Entries, "entry is", "entries are"))
}

package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"millrace/actors/protocol"
	"millrace/tablet"
	"millrace/tablet/locate"
	"millrace/writer"
)

// NewWriter returns a batch writer to a table: mutations are added one by one, by any number of goroutines, and go to their
// tablets in sets. Close the writer to know that all is written; a store that is closed closes its writers first.
func (s *Store) NewWriter(table string, o writer.Options) (*writer.BatchWriter, error) {
	if s.closed.Load() {
		return nil, errClosed
	}
	if _, err := s.table(table); err != nil {
		return nil, err
	}
	h := &writerHost{rt: s.core.rt}
	w, err := newWriter(h, &tableDestination{core: s.core, table: table}, o)
	if err != nil {
		return nil, err
	}
	s.core.writerBytes.Add(w.MemoryBytes())
	if !s.writers.enter(h, w) {
		return nil, errors.Join(errClosed, w.Close(context.Background()))
	}
	return w, nil
}

// openWriters are the batch writers that were not closed yet.
type openWriters struct {
	mu     sync.Mutex
	open   map[*writerHost]*writer.BatchWriter
	order  []*writerHost // as they were opened
	closed bool
}

func (o *openWriters) enter(h *writerHost, w *writer.BatchWriter) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	if o.open == nil {
		o.open = make(map[*writerHost]*writer.BatchWriter)
	}
	o.open[h] = w
	o.order = append(o.order, h)
	h.stopped = func() { o.leave(h) }
	return true
}

func (o *openWriters) leave(h *writerHost) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.open, h)
	o.order = slices.DeleteFunc(o.order, func(other *writerHost) bool { return other == h })
}

// close closes all, so that what they have taken is written while there still are tablets.
func (o *openWriters) close(ctx context.Context) error {
	o.mu.Lock()
	o.closed = true
	var all []*writer.BatchWriter
	for _, h := range o.order {
		all = append(all, o.open[h])
	}
	o.mu.Unlock()
	var errs []error
	for _, w := range all {
		errs = append(errs, w.Close(ctx))
	}
	return errors.Join(errs...)
}

// tableDestination is a table as a destination of a batch writer. It waits for nobody: what is in the way of a set, as a
// tablet that is being split, is the binner's concern, which has a lane for each tablet.
type tableDestination struct {
	core  *core
	table string
}

var _ writer.Destination = (*tableDestination)(nil)

// Map implements writer.Destination.
func (d *tableDestination) Map() (*locate.Map, error) {
	t, ok := d.core.table(d.table)
	if !ok {
		return nil, fmt.Errorf("no table %q: %w", d.table, tablet.ErrUsage)
	}
	return t.extents, nil
}

// Send implements writer.Destination.
func (d *tableDestination) Send(s *writer.Set) {
	d.core.rt.Send(d.core.binner.get(), &protocol.WriteSet{Table: d.table, Set: s})
}

// GiveUp implements writer.Destination.
func (d *tableDestination) GiveUp(s *writer.Set) {
	d.core.rt.Send(d.core.binner.get(), &protocol.GiveUp{Table: d.table, Set: s, Since: s.Progress()})
}

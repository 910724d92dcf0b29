package main

import (
	"context"

	"millrace/actors"
	"millrace/internal/clock"
	"millrace/tablet/locate"
	"millrace/writer"
)

// batch is a store's batch.
type batch interface {
	put(key, value []byte) error
	commit() error
}

// destination sends each set as one batch.
type destination struct {
	tablets *locate.Map
	clock   clock.Clock
	begin   func() batch
}

var _ writer.Blocking = (*destination)(nil)

// Map implements writer.Destination.
func (d *destination) Map() (*locate.Map, error) { return d.tablets, nil }

// SendBlocks implements writer.Blocking.
func (d *destination) SendBlocks() {}

// GiveUp implements writer.Destination: a write is over when Send is.
func (d *destination) GiveUp(*writer.Set) {}

// Send implements writer.Destination.
func (d *destination) Send(s *writer.Set) {
	if err := d.write(s); err != nil {
		s.Refuse(err, true)
		return
	}
	n, bytes := 0, int64(0)
	for i := range s.Bins {
		n += len(s.Bins[i].Mutations)
		bytes += s.Bins[i].Bytes
	}
	s.Done(n, bytes)
}

func (d *destination) write(s *writer.Set) error {
	b, now := d.begin(), d.clock.Now().UnixMilli()
	var key []byte
	for i := range s.Bins {
		for _, m := range s.Bins[i].Mutations {
			for u := range m.All() {
				if !u.HasTimestamp {
					u.Timestamp = now
				}
				key = appendKey(key[:0], m.Row(), &u)
				if err := b.put(key, u.Value); err != nil {
					return err
				}
			}
		}
	}
	return b.commit()
}

// host is the runtime that a store's writers live in, and the destination that they write to.
type host struct {
	rt   *actors.Runtime
	dest *destination
}

func newHost(splits [][]byte, begin func() batch) (host, error) {
	rt, err := actors.NewRuntime(actors.RuntimeOptions{})
	return host{rt, &destination{tablets: locate.FromSplits(1, "peer", splits), clock: clock.Real{}, begin: begin}}, err
}

// NewWriter implements experiment.PeerStore.
func (h host) NewWriter(o writer.Options) (*writer.BatchWriter, error) {
	return actors.NewWriter(h.rt, h.dest, o)
}

func (h host) close(ctx context.Context) error { return h.rt.Close(ctx) }

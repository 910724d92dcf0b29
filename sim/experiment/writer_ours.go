package experiment

import (
	"context"

	"millrace/actors"
	"millrace/tablet"
	"millrace/writer"
)

// Ours is a store of this module as a peer: durability log, and memory enough that nothing is flushed meanwhile.
func Ours() Peer { return Peer{Name: "millrace", Open: openOurs} }

func openOurs(ctx context.Context, dir string, splits [][]byte) (PeerStore, error) {
	table, server := splitProperties(writerProperties)
	store, err := actors.Open(ctx, dir, actors.WithProperties(server))
	if err != nil {
		return nil, err
	}
	if err := store.CreateTable(ctx, writerTable, splits, table); err != nil {
		return nil, closeAfter(err, store)
	}
	return ourStore{store}, nil
}

type ourStore struct{ *actors.Store }

// NewWriter implements PeerStore.
func (s ourStore) NewWriter(o writer.Options) (*writer.BatchWriter, error) {
	return s.Store.NewWriter(writerTable, o)
}

// Each implements PeerStore.
func (s ourStore) Each(ctx context.Context, f func(k *tablet.Key, value []byte) error) error {
	scanner, err := s.Scan(ctx, writerTable, actors.ScanOptions{})
	if err != nil {
		return err
	}
	defer scanner.Close()
	for scanner.Next() {
		e := scanner.Entry()
		if err := f(&e.Key, e.Value); err != nil {
			return err
		}
	}
	return scanner.Err()
}

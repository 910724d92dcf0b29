package main

import (
	"context"
	"errors"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/opt"

	"millrace/sim/experiment"
	"millrace/tablet"
)

type levelStore struct {
	host
	db *leveldb.DB
}

// openLevel opens goleveldb with its defaults, but for the memtable's size.
func openLevel(_ context.Context, dir string, splits [][]byte) (experiment.PeerStore, error) {
	db, err := leveldb.OpenFile(dir, &opt.Options{WriteBuffer: memtableBytes})
	if err != nil {
		return nil, err
	}
	s := &levelStore{db: db}
	if s.host, err = newHost(splits, s.begin); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

func (s *levelStore) begin() batch { return &levelBatch{db: s.db} }

type levelBatch struct {
	db *leveldb.DB
	b  leveldb.Batch
}

func (b *levelBatch) put(key, value []byte) error {
	b.b.Put(key, value)
	return nil
}

func (b *levelBatch) commit() error { return b.db.Write(&b.b, nil) } // not synced by default

// Each implements experiment.PeerStore.
func (s *levelStore) Each(_ context.Context, f func(k *tablet.Key, value []byte) error) error {
	it := s.db.NewIterator(nil, nil)
	defer it.Release()
	for it.Next() {
		if err := entry(it.Key(), it.Value(), f); err != nil {
			return err
		}
	}
	return it.Error()
}

// Close implements experiment.PeerStore.
func (s *levelStore) Close(ctx context.Context) error {
	return errors.Join(s.close(ctx), s.db.Close())
}

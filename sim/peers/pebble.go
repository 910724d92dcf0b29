package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"millrace/sim/experiment"
	"millrace/tablet"
)

// memtableBytes is the memtable of both others: what is written in a run fits.
const memtableBytes = 256 << 20

type pebbleStore struct {
	host
	db *pebble.DB
}

// openPebble opens Pebble with its defaults, but for the memtable's size.
func openPebble(_ context.Context, dir string, splits [][]byte) (experiment.PeerStore, error) {
	db, err := pebble.Open(dir, &pebble.Options{MemTableSize: memtableBytes, Logger: quiet{}})
	if err != nil {
		return nil, err
	}
	s := &pebbleStore{db: db}
	if err := s.grow(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if s.host, err = newHost(splits, s.begin); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// grow has the memtable reach its size before the clock starts: Pebble's begin with 256 KiB and double each time one is full,
// or at once as far as a batch needs.
func (s *pebbleStore) grow() error {
	key := []byte{zero}
	if err := s.db.Set(key, make([]byte, memtableBytes*2/5), pebble.NoSync); err != nil {
		return err
	}
	if err := s.db.Delete(key, pebble.NoSync); err != nil {
		return err
	}
	return s.db.Flush()
}

func (s *pebbleStore) begin() batch { return pebbleBatch{s.db.NewBatch()} }

type pebbleBatch struct{ *pebble.Batch }

func (b pebbleBatch) put(key, value []byte) error { return b.Set(key, value, nil) }

func (b pebbleBatch) commit() error {
	return errors.Join(b.Commit(pebble.NoSync), b.Close())
}

// Each implements experiment.PeerStore.
func (s *pebbleStore) Each(_ context.Context, f func(k *tablet.Key, value []byte) error) (err error) {
	it, err := s.db.NewIter(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		if err := entry(it.Key(), it.Value(), f); err != nil {
			return err
		}
	}
	return nil
}

func entry(key, value []byte, f func(k *tablet.Key, value []byte) error) error {
	k, err := splitKey(key)
	if err != nil {
		return err
	}
	return f(k, value)
}

// Close implements experiment.PeerStore.
func (s *pebbleStore) Close(ctx context.Context) error {
	return errors.Join(s.close(ctx), s.db.Close())
}

// quiet is a logger for what need not be told.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}

func (quiet) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

package experiment

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/writer"
)

// storeStage is a store: its binner, its log, its tablets' memtables.
type storeStage struct {
	store      *actors.Store
	mutations  int
	splits     [][]byte
	properties map[string]string // of tables
	tables     int               // made so far
	tally      *storeTally
}

// storeTally counts runs into a store, and those after which the right entries were there.
type storeTally struct {
	runs, counted  int // entries in memtables and files, versions that nobody reads included
	scans, scanned int // entries as a scan gives them, one by one
}

// openStoreStage opens the store, and removes tables that an earlier run has left.
func openStoreStage(ctx context.Context, fs vfs.FS, o WriterOptions, tally *storeTally) (s *storeStage, err error) {
	table, server := splitProperties(o.Properties)
	store, err := actors.Open(ctx, "", actors.WithFS(fs), actors.WithProperties(server), actors.WithMemoryLimit(o.MemoryLimit), actors.WithSeed(o.Seed))
	if err != nil {
		return nil, err
	}
	s = &storeStage{store: store, mutations: o.Mutations, splits: writerSplits(o.Mutations, o.StoreTablets), properties: table, tally: tally}
	names, err := store.Tables(ctx)
	for _, name := range names {
		if err == nil && strings.HasPrefix(name, writerTable) {
			err = store.DeleteTable(ctx, name)
		}
	}
	if err != nil {
		return nil, closeAfter(err, store)
	}
	return s, nil
}

func (s *storeStage) name() string { return fmt.Sprintf("%s%d", writerTable, s.tables) }

func (s *storeStage) open(ctx context.Context, o writer.Options) (*writer.BatchWriter, error) {
	s.tables++
	if err := s.store.CreateTable(ctx, s.name(), s.splits, s.properties); err != nil {
		return nil, err
	}
	return s.store.NewWriter(s.name(), o)
}

func (s *storeStage) finish(ctx context.Context, scan bool) error {
	s.tally.runs++
	stats, err := s.store.Stats(ctx, s.name())
	if err != nil {
		return err
	}
	entries := int64(0)
	for _, t := range stats {
		if t.Err != nil {
			return t.Err
		}
		entries += t.MemoryEntries
		for _, f := range t.Files {
			entries += f.Entries
		}
	}
	if entries == int64(s.mutations) {
		s.tally.counted++
	}
	if scan {
		s.tally.scans++
		whole, err := s.scan(ctx)
		if err != nil {
			return err
		}
		if whole {
			s.tally.scanned++
		}
	}
	return s.store.DeleteTable(ctx, s.name())
}

// scan says whether a scan gives each row once, with its value, and nothing else.
func (s *storeStage) scan(ctx context.Context) (whole bool, err error) {
	scanner, err := s.store.Scan(ctx, s.name(), actors.ScanOptions{})
	if err != nil {
		return false, err
	}
	defer scanner.Close()
	whole = true
	var row, value []byte
	n := 0
	for scanner.Next() {
		e := scanner.Entry()
		row, value = fmt.Appendf(row[:0], "%010d", n), fmt.Appendf(value[:0], "%010d", s.mutations-1-n)
		whole = whole && bytes.Equal(e.Key.Row(), row) && bytes.Equal(e.Value, value)
		n++
	}
	return whole && n == s.mutations, scanner.Err()
}

func (s *storeStage) close() error { return closeAfter(nil, s.store) }

// closeAfter closes a store and joins what goes wrong. It has its own time, since the run's may be over.
func closeAfter(err error, store *actors.Store) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if e := store.Close(ctx); err == nil {
		err = e
	}
	return err
}

// splitProperties tells the table's from the server's.
func splitProperties(all map[string]string) (table, server map[string]string) {
	table, server = map[string]string{}, map[string]string{}
	for name, value := range all {
		if strings.HasPrefix(name, "table.") {
			table[name] = value
		} else {
			server[name] = value
		}
	}
	return table, server
}

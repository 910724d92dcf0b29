package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"millrace/tablet"
	"millrace/tablet/hosted"
	"millrace/tablet/manifest"
	"millrace/tablet/storage"
	"millrace/tablet/wal"
)

// loadedTable is a table as the manifest and the log have it, ready to be started.
type loadedTable struct {
	*storeTable
	handles []*tabletHandle // in the order of extents
}

// load reads what a directory holds, and begins a new manifest file and a new log behind it. The order matters: the new
// manifest is durable before anything is removed that it does not name.
func (k *core) load(ctx context.Context) ([]*loadedTable, error) {
	if err := storage.Make(k.fs); err != nil {
		return nil, err
	}
	found, err := storage.Load(ctx, k.fs)
	if err != nil {
		return nil, err
	}
	k.state.Store(found.State)
	k.numbers.Store(found.NextNumber - 1)
	tables, err := k.loadTables(found.State)
	if err != nil {
		return nil, err
	}
	report, err := k.replay(ctx, found, tables)
	if err != nil {
		return nil, err
	}
	writer, err := manifest.NewWriter(k.fs, found.State, manifest.Options{NextNumber: k.number, NextLSN: report.NextLSN})
	if err != nil {
		return nil, err
	}
	k.state.Store(writer.State())
	log, err := wal.New(k.fs, k.logOptions(report))
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	k.openedLog.Store(log)
	k.openedManifest.Store(writer)
	if _, err := storage.Sweep(k.fs, found, writer); err != nil {
		k.rt.log.Warn("files that nothing names could not be removed", slog.Any("err", err))
	}
	return tables, nil
}

func (k *core) loadTables(s *manifest.State) ([]*loadedTable, error) {
	var tables []*loadedTable
	for t := range s.Tables() {
		settings, err := ParseTable(t.Properties)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", t.Name, err)
		}
		l := &loadedTable{storeTable: &storeTable{name: t.Name, settings: &settings, properties: t.Properties}}
		for tab := range s.Tablets(t) {
			h, err := loadTablet(k, tab.Number, stateOf(tab), &settings)
			if err != nil {
				return nil, err
			}
			l.handles = append(l.handles, h)
		}
		tables = append(tables, l)
	}
	return tables, nil
}

// replay puts what the log holds beyond files into memory.
func (k *core) replay(ctx context.Context, found *storage.Loaded, tables []*loadedTable) (*wal.Report, error) {
	tablets := map[uint64]*hosted.Tablet{}
	for _, t := range tables {
		for _, h := range t.handles {
			tablets[h.number] = h.tablet
		}
	}
	report, err := found.Replay(ctx, func(e *wal.Entry) error {
		t := tablets[e.Tablet]
		if t == nil {
			return fmt.Errorf("tablet %d is not loaded: %w", e.Tablet, tablet.ErrCorrupt)
		}
		t.RaiseSession(e.Session)
		t.Replay(e.Mutations, e.Timestamp, e.Step)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, s := range report.Sessions { // those of entries that files have, too
		if t := tablets[s.Tablet]; t != nil {
			t.RaiseSession(s.Session)
		}
	}
	return &report, nil
}

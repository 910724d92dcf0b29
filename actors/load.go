package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

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
	fill := newRefill(k, found, tables)
	report, err := fill.run(ctx)
	if err != nil {
		return nil, err
	}
	writer := fill.writer
	if writer == nil {
		if writer, err = manifest.NewWriter(k.fs, found.State, manifest.Options{NextNumber: k.number, NextLSN: report.NextLSN}); err != nil {
			return nil, err
		}
		k.state.Store(writer.State())
	}
	log, err := wal.New(k.fs, k.logOptions(report))
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	fill.filed(log)
	k.openedLog.Store(log)
	k.openedManifest.Store(writer)
	if fill.writer == nil {
		k.sweep(found, writer)
	}
	return tables, nil
}

// sweep removes files that nothing names, as far as it can.
func (k *core) sweep(found *storage.Loaded, w *manifest.Writer) {
	if _, err := storage.Sweep(k.fs, found, w); err != nil {
		k.rt.log.Warn("files that nothing names could not be removed", slog.Any("err", err))
	}
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

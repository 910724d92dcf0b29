package actors

import (
	"context"
	"errors"
	"fmt"

	"millrace/tablet"
	"millrace/tablet/hosted"
	"millrace/tablet/manifest"
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
	if err := errors.Join(k.fs.MkdirAll(manifest.DataDir), k.fs.MkdirAll(manifest.Dir), k.fs.SyncDir(".")); err != nil {
		return nil, err
	}
	found, err := manifest.Read(ctx, k.fs)
	if err != nil {
		return nil, err
	}
	segments, err := wal.List(k.fs)
	if err != nil {
		return nil, err
	}
	orphans, err := k.survey(found, segments)
	if err != nil {
		return nil, err
	}
	k.state.Store(found.State)
	tables, err := k.loadTables(found.State)
	if err != nil {
		return nil, err
	}
	report, err := k.replay(ctx, segments, tables)
	if err != nil {
		return nil, err
	}
	log, err := wal.New(k.fs, k.logOptions(report))
	if err != nil {
		return nil, err
	}
	writer, err := manifest.NewWriter(k.fs, found.State, manifest.Options{NextNumber: k.number, NextLSN: report.NextLSN})
	if err != nil {
		return nil, errors.Join(err, log.Close(k.rt.clock.Now()))
	}
	k.state.Store(writer.State())
	k.openedLog.Store(log)
	k.openedManifest.Store(writer)
	for _, name := range orphans {
		if err := k.fs.Remove(name); err != nil {
			k.rt.log.Warn("file that nothing names could not be removed", "file", name, "err", err)
		}
	}
	return tables, nil
}

// survey finds the highest number that there is, and data files of ours that nothing names.
func (k *core) survey(found *manifest.Found, segments []uint64) (orphans []string, err error) {
	highest := max(found.State.NextNumber()-1, found.Highest())
	for _, n := range segments {
		highest = max(highest, n)
	}
	names, err := k.fs.List(manifest.DataDir)
	if err != nil {
		return nil, err
	}
	for _, base := range names {
		name := manifest.DataDir + "/" + base
		number, ours := manifest.ParseFileName(name)
		if !ours {
			continue
		}
		highest = max(highest, number)
		if f := found.State.Named(number); f == nil || f.Name != name {
			orphans = append(orphans, name)
		}
	}
	k.numbers.Store(highest)
	return orphans, nil
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
func (k *core) replay(ctx context.Context, segments []uint64, tables []*loadedTable) (*wal.Report, error) {
	tablets := map[uint64]*hosted.Tablet{}
	for _, t := range tables {
		for _, h := range t.handles {
			tablets[h.number] = h.tablet
		}
	}
	state := k.state.Load()
	from := func(number uint64) (uint64, bool) {
		t := state.Tablet(number)
		if t == nil {
			return 0, false
		}
		return t.Session, true
	}
	report, err := wal.Replay(ctx, k.fs, segments, from, func(e *wal.Entry) error {
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

package experiment

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"millrace/actors"
	"millrace/tablet"
	"millrace/tablet/visibility"
)

// ingestJournal is a small table beside that of the entries, always synced: what stream is written, and how far. The stream
// follows from its options alone, so that one which was interrupted goes on from a number.
//
//	settings  ingest:seed, ingest:flush-entries, ingest:tablets
//	progress  ingest:flushed, ingest:acknowledged     entries from the beginning of the stream
type ingestJournal struct {
	store *actors.Store
	// Of the runs before: how many entries are in files, and how many were acknowledged.
	flushed, acknowledged int64
	resumed               bool
}

const (
	journalTable        = "ci_run"
	journalFlushed      = "flushed"
	journalAcknowledged = "acknowledged"
)

// openJournal makes the journal of a new run, or reads that of one to go on with.
func openJournal(ctx context.Context, store *actors.Store, o IngestOptions) (*ingestJournal, error) {
	j := &ingestJournal{store: store}
	tables, err := store.Tables(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(tables, journalTable) {
		if len(tables) > 0 {
			return nil, fmt.Errorf("the store is of something else: it has a table %q and no %q: %w", tables[0], journalTable, tablet.ErrUsage)
		}
		if err := store.CreateTable(ctx, journalTable, nil, map[string]string{"table.durability": "sync"}); err != nil {
			return nil, err
		}
	}
	return j, j.begin(ctx, o)
}

// begin compares the settings with those of the run to go on with, or notes them.
func (j *ingestJournal) begin(ctx context.Context, o IngestOptions) error {
	m := tablet.NewMutation([]byte("settings"))
	for _, s := range streamSettings(o) {
		was, ok, err := j.get(ctx, "settings", s.Name)
		switch {
		case err != nil:
			return err
		case ok && was != s.Value:
			return fmt.Errorf("the store is of a run with --%s %s, not %s: %w", s.Name, was, s.Value, tablet.ErrUsage)
		case ok:
			j.resumed = true
		}
		m.Put([]byte("ingest"), []byte(s.Name), nil, []byte(s.Value))
	}
	if !j.resumed {
		return j.store.Apply(ctx, journalTable, []*tablet.Mutation{m})
	}
	var err error
	if j.flushed, err = j.number(ctx, journalFlushed); err == nil {
		j.acknowledged, err = j.number(ctx, journalAcknowledged)
	}
	j.acknowledged = max(j.acknowledged, j.flushed)
	return err
}

// streamSettings are the options that decide what is written, and where.
func streamSettings(o IngestOptions) []Setting {
	return []Setting{
		{"seed", strconv.FormatUint(o.Seed, 10)},
		{"flush-entries", strconv.Itoa(o.FlushEntries)},
		{"tablets", strconv.Itoa(o.Tablets)},
	}
}

func (j *ingestJournal) get(ctx context.Context, row, qualifier string) (value string, ok bool, err error) {
	c := actors.Column{Row: []byte(row), Family: []byte("ingest"), Qualifier: []byte(qualifier)}
	e, ok, err := j.store.Get(ctx, journalTable, c, visibility.Authorizations{})
	return string(e.Value), ok, err
}

func (j *ingestJournal) number(ctx context.Context, name string) (int64, error) {
	text, ok, err := j.get(ctx, "progress", name)
	if err != nil || !ok {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("journal of the run: %s is %q: %w", name, text, tablet.ErrCorrupt)
	}
	return n, nil
}

// note writes down how far the stream has come.
func (j *ingestJournal) note(ctx context.Context, name string, entries int64) error {
	ack, err := j.noteLater(ctx, name, entries)
	if err != nil {
		return err
	}
	return ack.Wait(ctx)
}

func (j *ingestJournal) noteLater(ctx context.Context, name string, entries int64) (*actors.Ack, error) {
	m := tablet.NewMutation([]byte("progress"))
	m.Put([]byte("ingest"), []byte(name), nil, strconv.AppendInt(nil, entries, 10))
	return j.store.ApplyAsync(ctx, journalTable, []*tablet.Mutation{m})
}

package experiment

import (
	"context"
	"fmt"

	"millrace/actors"
	"millrace/tablet"
	"millrace/tablet/iter"
)

// load makes a table of staged files: the entries of each are written and flushed, the oldest first, so that each file comes
// to be as the engine writes it, in the codec asked for.
func (r *ingestRun) load(ctx context.Context, s *stage, codec string) (set fileSet, err error) {
	set = fileSet{shape: s.shape, codec: codec, table: setTable(s.shape, codec)}
	if err := r.store.CreateTable(ctx, set.table, r.options.Splits(r.o.Tablets), r.setProperties(codec)); err != nil {
		return set, err
	}
	rounds, total, done := 0, int64(0), int64(0)
	for _, files := range s.files {
		rounds = max(rounds, len(files))
		for _, f := range files {
			total += f.Entries
		}
	}
	for round := range rounds {
		l := &loader{store: r.store, table: set.table, batchEntries: r.o.BatchEntries}
		for _, files := range s.files {
			at := len(files) - 1 - round
			if at < 0 {
				continue
			}
			if err := l.file(ctx, s, files[at]); err != nil {
				return set, err
			}
			done += files[at].Entries
			r.progress(Phase{Name: "files " + s.shape + " " + codec, Done: done, Total: total, Unit: "entries"})
		}
		if err := l.wait(ctx, 0); err != nil {
			return set, err
		}
		if err := r.store.Flush(ctx, set.table); err != nil {
			return set, err
		}
	}
	set.files, err = r.filesOf(ctx, set.table)
	if err != nil {
		return set, err
	}
	for i, files := range set.files {
		if len(files) != len(s.files[i]) {
			return set, fmt.Errorf("tablet %d has %d files, not %d: a file's entries of every tablet must fit in memory, see --memory-limit: %w",
				i, len(files), len(s.files[i]), tablet.ErrUsage)
		}
	}
	return set, nil
}

// filesOf are the files of each tablet of a table, once no job changes them.
func (r *ingestRun) filesOf(ctx context.Context, table string) (files [][]tablet.FileMeta, err error) {
	stats, err := r.settled(ctx, table)
	if err != nil {
		return nil, err
	}
	for _, s := range stats {
		files = append(files, s.Files)
	}
	return files, nil
}

// loader writes entries as they are, with their timestamps.
type loader struct {
	store        *actors.Store
	table        string
	batchEntries int
	batch        []*tablet.Mutation
	acks         []*actors.Ack
}

// loaderWindow is how many batches may be on their way.
const loaderWindow = 16

// file writes the entries of one file.
func (l *loader) file(ctx context.Context, s *stage, f tablet.FileMeta) error {
	sources, closeAll, err := openSources(s.fs, []tablet.FileMeta{f})
	if err != nil {
		return err
	}
	defer closeAll()
	m := iter.NewMerge(iter.Tree, sources)
	defer m.Close()
	err = eachEntry(ctx, m, func(k *tablet.Key, value []byte) error {
		mutation := tablet.NewMutation(k.Row())
		mutation.Add(tablet.Update{Family: k.Family(), Qualifier: k.Qualifier(), Visibility: k.Visibility(), Value: value,
			Timestamp: k.Timestamp(), HasTimestamp: true, Deleted: k.Deleted()})
		if l.batch = append(l.batch, mutation); len(l.batch) < l.batchEntries {
			return nil
		}
		return l.send(ctx)
	})
	if err != nil {
		return err
	}
	return l.send(ctx)
}

func (l *loader) send(ctx context.Context) error {
	if len(l.batch) == 0 {
		return nil
	}
	ack, err := l.store.ApplyAsync(ctx, l.table, l.batch)
	if err != nil {
		return err
	}
	l.batch = make([]*tablet.Mutation, 0, l.batchEntries) // the store keeps what it was given
	l.acks = append(l.acks, ack)
	return l.wait(ctx, loaderWindow)
}

// wait waits until at most so many batches are on their way.
func (l *loader) wait(ctx context.Context, most int) error {
	for len(l.acks) > most {
		if err := l.acks[0].Wait(ctx); err != nil {
			return err
		}
		l.acks = l.acks[1:]
	}
	return nil
}

package actors

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/internal/clock"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/storage"
)

// Store is an engine for callers that never see an actor. All methods are safe for concurrent use.
type Store struct {
	core     *core
	engine   *actor.PID
	lock     io.Closer
	ownFS    bool
	writes   *admission // of mutations, by their bytes
	scans    *admission // of messages that begin and end scans
	requests *admission // of what the engine is asked
	cancels  *admission // of compactions, each of which may be taken back
	closed   atomic.Bool
	gets     *inFlight
	writers  openWriters
	tokens   atomic.Uint64
}

// Open starts a store on a directory, which is made if it is not there. What an earlier run left is there again: all that
// its durability promised, whether it was closed or not. The context bounds the opening alone.
func Open(ctx context.Context, dir string, options ...Option) (*Store, error) {
	o := storeOptions{mode: iter.Tree}
	for _, set := range options {
		set(&o)
	}
	server, err := ParseServer(o.properties, o.memoryLimit)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	fs := o.fs
	if fs == nil {
		if fs, err = vfs.MakeDir(dir); err != nil {
			return nil, fmt.Errorf("open store: %w", err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var now clock.Clock = clock.Real{}
	if o.runtime.Clock != nil {
		now = o.runtime.Clock
	}
	lock, err := storage.TakeLock(fs, o.self(now.Now()))
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	s, err := start(ctx, o, server, fs)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", dir, err), lock.Close())
	}
	s.lock, s.ownFS = lock, o.fs == nil
	// The engine answers once it has started the actors that every call needs, Close's too.
	if _, err := ask(context.WithoutCancel(ctx), s, &protocol.GetStats{}); err != nil {
		return nil, errors.Join(fmt.Errorf("open store: %w", err), s.Close(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func start(ctx context.Context, o storeOptions, server ServerSettings, fs vfs.FS) (*Store, error) {
	hooks := o.runtime.Hooks
	rt, err := NewRuntime(o.runtime)
	if err != nil {
		return nil, err
	}
	k := &core{rt: rt, fs: fs, server: server, profile: o.profile, mode: o.mode}
	k.files = newOpenFiles(fs, server.ScanFilesMax, k.freeFile)
	k.tables.Store(&tableMap{})
	rt.hooks.Failed = func(err *PanicError) {
		if hooks.Failed != nil {
			hooks.Failed(err)
		}
		if err.Actor == rt.name && o.onFailure != nil {
			o.onFailure(err)
		}
	}
	loaded, err := k.load(ctx)
	if err != nil {
		return nil, errors.Join(err, rt.Close(context.WithoutCancel(ctx)))
	}
	engine, err := rt.Spawn("", k.spec(Spec{Kind: "engine", Last: true, New: func() actor.Actor { return newEngine(k, loaded) }}))
	if err != nil {
		return nil, errors.Join(err, k.openedLog.Load().Close(rt.clock.Now()), k.openedManifest.Load().Close(), rt.Close(context.WithoutCancel(ctx)))
	}
	return &Store{
		core: k, engine: engine, gets: newInFlight(),
		writes: newAdmission(rt, "writes", server.QueueBytes), requests: newAdmission(rt, "requests", requestsMost),
		scans: newAdmission(rt, "scans", scanMessagesMost), cancels: newAdmission(rt, "compactions", requestsMost),
	}, nil
}

// Runtime is what the store's actors run in, for hosts that look on.
func (s *Store) Runtime() *Runtime { return s.core.rt }

// Settings are the properties that hold for the store.
func (s *Store) Settings() ServerSettings { return s.core.server }

// CreateTable makes a table that is cut at the given rows. Properties are Accumulo's, see TableSettings; errors in them
// wrap tablet.ErrUsage.
func (s *Store) CreateTable(ctx context.Context, table string, splits [][]byte, properties map[string]string) error {
	_, err := ask(ctx, s, &protocol.CreateTable{Table: table, Splits: splits, Properties: maps.Clone(properties)})
	return err
}

// DeleteTable takes a table away. Scans of it that have begun end as they began.
func (s *Store) DeleteTable(ctx context.Context, table string) error {
	_, err := ask(ctx, s, &protocol.DeleteTable{Table: table})
	return err
}

// Tables are the names of the tables, sorted.
func (s *Store) Tables(ctx context.Context) ([]string, error) {
	if s.closed.Load() {
		return nil, errClosed
	}
	return slices.Sorted(maps.Keys(*s.core.tables.Load())), ctx.Err()
}

// Properties are those that were set for a table; for all others the defaults hold.
func (s *Store) Properties(ctx context.Context, table string) (map[string]string, error) {
	if s.closed.Load() {
		return nil, errClosed
	}
	t, err := s.table(table)
	if err != nil {
		return nil, err
	}
	return maps.Clone(t.properties), ctx.Err()
}

// SetProperties changes properties of a table; an empty value takes one back to its default. They hold for whatever begins
// after the return. Errors in them wrap tablet.ErrUsage; then nothing has changed.
func (s *Store) SetProperties(ctx context.Context, table string, properties map[string]string) error {
	_, err := ask(ctx, s, &protocol.SetProperties{Table: table, Properties: maps.Clone(properties)})
	return err
}

// AddSplits cuts a table at rows; each becomes the last of its tablet. Where the table is cut already nothing happens.
// Reads and writes go on meanwhile. After an error some of the rows may have been cut at.
func (s *Store) AddSplits(ctx context.Context, table string, rows [][]byte) error {
	_, err := ask(ctx, s, &protocol.AddSplits{Table: table, Rows: rows})
	return err
}

// Tablets are the extents of a table, sorted.
func (s *Store) Tablets(table string) ([]tablet.Extent, error) {
	t, err := s.table(table)
	if err != nil {
		return nil, err
	}
	return t.extents.Extents(), nil
}

// table is a table as it is now.
func (s *Store) table(name string) (*storeTable, error) {
	t, ok := s.core.table(name)
	if !ok {
		return nil, fmt.Errorf("no table %q: %w", name, tablet.ErrUsage)
	}
	return t, nil
}

// newer waits until a table is no longer as t says, because tablets were split or replaced.
func (s *Store) newer(ctx context.Context, t *storeTable) (*storeTable, error) {
	rt := s.core.rt
	for {
		now, err := s.table(t.name)
		switch {
		case err != nil:
			return nil, err
		case now.version > t.version:
			return now, nil
		case now.failed() != nil:
			return nil, now.failed()
		case rt.work.Err() != nil:
			return nil, ErrStopped
		}
		settled := rt.settle(ctx, s.engine.Id, nil, readyFunc(func() bool { return isClosed(now.passed) || rt.work.Err() != nil }))
		select {
		case <-now.passed:
		case <-rt.work.Done():
		case <-settled.Done():
			return nil, context.Cause(settled)
		}
	}
}

// Flush returns when everything that was applied to the table before is in synced files.
func (s *Store) Flush(ctx context.Context, table string) error {
	_, err := ask(ctx, s, &protocol.FlushTable{Table: table})
	return err
}

// CompactOptions say how Compact works. The zero value compacts as the store does by itself.
type CompactOptions struct {
	// Mode is how to merge. Default as the store does.
	Mode *iter.Mode
	// Scratch compacts every tablet's present files in one pass, measures and hashes the output, and throws it away: so
	// that modes can be compared on identical files.
	Scratch bool
	// Codec is another codec than the table's for the output.
	Codec string
	// NoFlush leaves in memory what is there.
	NoFlush bool
	// Files are the numbers of the files to compact; those whose entries might otherwise change places with them are taken
	// along. Default all of each tablet. Delete markers go only where these are all of a tablet's files.
	Files []uint64
	// KeepDeletes keeps delete markers even where all files of a tablet are compacted, so that what is written afterwards
	// with an old timestamp stays hidden.
	KeepDeletes bool
	// Recode compresses every block anew, also those that come out as they went in. Then the output depends on the entries
	// alone, and not on where the blocks of the inputs end.
	Recode bool
	// Progress is called now and then with the number of entries read so far, in all tablets together, by one goroutine at a
	// time. It must not block, nor call the store.
	Progress func(entries int64)
}

// Compact compacts all files of each tablet of the table into one, and returns what it did, in the order of extents.
// When the context ends, jobs that run for it are cancelled; what they have committed stays.
func (s *Store) Compact(ctx context.Context, table string, o CompactOptions) ([]protocol.TabletCompaction, error) {
	q := &protocol.CompactTable{
		Token: s.tokens.Add(1), Table: table, NoFlush: o.NoFlush,
		Order: protocol.CompactOrder{
			Mode: s.core.mode, Scratch: o.Scratch, Codec: o.Codec, Files: slices.Clone(o.Files), KeepDeletes: o.KeepDeletes,
			Recode: o.Recode, Progress: summed(o.Progress),
		},
	}
	if o.Mode != nil {
		q.Order.Mode = *o.Mode
	}
	if o.Codec != "" {
		var name string
		if err := parseCodec(&name, o.Codec); err != nil {
			return nil, err
		}
	}
	place, err := s.cancels.enter(ctx, 1) // before it is needed: then nobody will want to wait
	if err != nil {
		return nil, err
	}
	done, err := ask(ctx, s, q)
	switch {
	case err == nil:
		place.Return()
		return done.Tablets, nil
	case ctx.Err() != nil:
		cancel := &protocol.CancelCompact{Request: q.Token}
		cancel.Admit(place)
		s.core.rt.Send(s.engine, cancel)
	default:
		place.Return()
	}
	return nil, err
}

// summed has a function told the sum of what its parts are told, one at a time.
func summed(f func(int64)) func(int64) {
	if f == nil {
		return nil
	}
	var mu sync.Mutex
	var sum int64
	return func(n int64) {
		mu.Lock()
		defer mu.Unlock()
		sum += n
		f(sum)
	}
}

// Stats tells of the tablets of a table, or of all if the name is empty, in the order of extents.
func (s *Store) Stats(ctx context.Context, table string) ([]protocol.TabletStats, error) {
	st, err := ask(ctx, s, &protocol.GetStats{Table: table})
	if err != nil {
		return nil, err
	}
	return st.Tablets, nil
}

// OpenFiles is how many files are open, and how many holds there are on files.
func (s *Store) OpenFiles() (open, leases int) { return s.core.files.count() }

// ask sends the engine a request, once it is admitted.
func ask[T any](ctx context.Context, s *Store, q protocol.Request[T]) (*T, error) {
	if s.closed.Load() {
		return nil, errClosed
	}
	t, err := s.requests.enter(ctx, 1)
	if err != nil {
		return nil, err
	}
	q.Admit(t)
	return Ask(ctx, s.core.rt, s.engine, q)
}

var errClosed = fmt.Errorf("store: %w", tablet.ErrClosed)

// Close ends the store: no call is let in any more, what was let in is applied, tablets that hold entries of durability
// none are flushed, scans end, jobs are cancelled and remove what they have not finished, files are closed. So after a Close
// without an error all is there again that was acknowledged, at whatever durability. Everything else that is in memory is
// in the log too, and is not flushed. What a phase could not do before the context ended is in the error, and the next
// phases are tried all the same.
func (s *Store) Close(ctx context.Context) error {
	if s.closed.Swap(true) {
		return nil
	}
	s.writes.close(errClosed)
	s.requests.close(errClosed)
	s.cancels.close(errClosed)
	k := s.core
	var errs []error
	phase := func(what string, err error) {
		if err != nil && !errors.Is(err, ErrStopped) { // what has failed need not be stopped
			errs = append(errs, fmt.Errorf("close store: %s: %w", what, err))
		}
	}
	k.rt.Send(k.binner.get(), &protocol.LastTries{})
	phase("close batch writers", s.writers.close(ctx))
	_, err := Ask(ctx, k.rt, k.binner.get(), &protocol.Drain{})
	phase("drain writes", err)
	_, err = Ask(ctx, k.rt, s.engine, &protocol.FlushUnlogged{})
	phase("flush what is not logged", err)
	k.rt.stopWork()
	_, err = Ask(ctx, k.rt, s.engine, &protocol.StopTablets{})
	phase("stop tablets", err)
	_, err = Ask(ctx, k.rt, k.log.get(), &protocol.Drain{})
	phase("close log", err)
	_, err = Ask(ctx, k.rt, k.manifest.get(), &protocol.Drain{})
	phase("close manifest", err)
	_, err = Ask(ctx, k.rt, k.filer.get(), &protocol.Drain{})
	phase("remove obsolete files", err)
	phase("stop", k.rt.Stop(ctx, s.engine))
	phase("end look-ups", s.gets.wait(ctx, k.rt))
	phase("close files", k.files.close())
	phase("end goroutines", k.rt.Close(ctx))
	phase("unlock", s.lock.Close())
	if s.ownFS {
		phase("close directory", vfs.Close(k.fs))
	}
	return errors.Join(errs...)
}

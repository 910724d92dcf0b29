package actors

import (
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/compactor/plan"
	"millrace/internal/clock"
	"millrace/internal/vfs"
	"millrace/tablet/iter"
	"millrace/tablet/storage"
)

// Option is an argument of Open that need not be given.
type Option func(*storeOptions)

type storeOptions struct {
	runtime     RuntimeOptions
	fs          vfs.FS
	holder      *storage.Holder
	properties  map[string]string
	memoryLimit int64
	profile     plan.Profile
	mode        iter.Mode
	onFailure   func(error)
}

// WithActorSystem has the store live in the host's actor system, below one actor of the store's name. The system stays
// the host's: it is not shut down. Default: a system of the store's own, which prints nothing.
func WithActorSystem(s *actor.ActorSystem) Option {
	return func(o *storeOptions) { o.runtime.System = s }
}

// WithName names the store among those of one actor system. Default "millrace".
func WithName(name string) Option { return func(o *storeOptions) { o.runtime.Name = name } }

// WithLogger takes the store's log lines. Default: they are discarded.
func WithLogger(l *slog.Logger) Option { return func(o *storeOptions) { o.runtime.Logger = l } }

// WithClock gives the store another time than the machine's.
func WithClock(c clock.Clock) Option { return func(o *storeOptions) { o.runtime.Clock = c } }

// WithSeed makes what the store draws at random repeatable.
func WithSeed(seed uint64) Option { return func(o *storeOptions) { o.runtime.Seed = seed } }

// WithScheduler has mailboxes run one message at a time, in an order of the scheduler's: for simulation.
func WithScheduler(s Scheduler) Option { return func(o *storeOptions) { o.runtime.Scheduler = s } }

// WithWindow bounds every window of credits: for tests of what happens when they are as small as they can be.
func WithWindow(most int) Option { return func(o *storeOptions) { o.runtime.Window = most } }

// WithHooks lets a test or a simulator look on.
func WithHooks(h Hooks) Option { return func(o *storeOptions) { o.runtime.Hooks = h } }

// WithFS gives the store its files from somewhere else than the directory.
func WithFS(fs vfs.FS) Option { return func(o *storeOptions) { o.fs = fs } }

// WithHolder says who holds the store to those who find it locked, instead of this process: for a simulator, whose runs
// write the same bytes in every process.
func WithHolder(pid int, host string) Option {
	return func(o *storeOptions) { o.holder = &storage.Holder{PID: pid, Host: host} }
}

// self is who holds the store from now on.
func (o *storeOptions) self(now time.Time) storage.Holder {
	if o.holder == nil {
		return storage.Self(now)
	}
	h := *o.holder
	h.Since = now
	return h
}

// WithProperties sets properties that hold for the whole store, by Accumulo's names: see ServerSettings.
func WithProperties(p map[string]string) Option { return func(o *storeOptions) { o.properties = p } }

// WithMemoryLimit is the base of properties that are percentages: 33 % for memtables and 5 % for mutations on their way
// to them, unless set otherwise. Default 1 GiB.
func WithMemoryLimit(bytes int64) Option { return func(o *storeOptions) { o.memoryLimit = bytes } }

// WithProfile chooses the release whose rules of compaction are followed. Default 2.1.
func WithProfile(p plan.Profile) Option { return func(o *storeOptions) { o.profile = p } }

// WithMergeMode chooses how compactions merge that nobody asked for. All modes give the same output. Default iter.Tree.
func WithMergeMode(m iter.Mode) Option { return func(o *storeOptions) { o.mode = m } }

// OnFailure is told once, on a goroutine of the store's, when the store has failed as a whole: its root actor has
// panicked. Every call fails from then on; Close still cleans up.
func OnFailure(f func(error)) Option { return func(o *storeOptions) { o.onFailure = f } }

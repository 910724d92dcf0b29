package manifest

import (
	"errors"
	"fmt"

	"millrace/internal/record"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// Options are what a Writer is made with. A zero field means its default, if it has one.
type Options struct {
	// NextNumber gives a number above every one that the store ever used, each once. Required.
	NextNumber func() uint64
	// NextLSN is the log's next sequence number, to be kept in the manifest. Default: that of the state.
	NextLSN uint64
	// SameRun says that this writer follows one that was given up in the same run of the store, so that files may still come
	// whose numbers were handed out before. The first writer of a run refuses such.
	SameRun bool
	// RollBytes is how long a file grows before the next is begun, or twice its snapshot if that is more. Default 4 MiB.
	RollBytes int64
}

// Writer records edits. One goroutine owns it; the States that it gives out are anybody's.
//
//	begin ──> sound ──Record──> sound
//	  ^         │
//	  │         └── write or sync failed ──> in doubt
//	  └───────── next Record or Heal ───────────┘
//
// A file in doubt is never touched again: it may hold the edit that failed, or not, and a crash lets the next Read decide.
// The doubt ends when a new file with the last certain state is on stable storage.
type Writer struct {
	fs    vfs.FS
	opts  Options
	state *State

	current *file // nil while a new one is to be begun
	number  uint64
	stale   []uint64 // files that mean nothing any more once the current one is durable, and are not removed yet
	closed  bool

	doubt   error
	doubted []*FileRef // that failed edits added
}

// file is the manifest file being written.
type file struct {
	f        vfs.File
	w        *record.Writer
	snapshot int64 // where the snapshot ends
}

// ErrInDoubt marks the error of an edit of which nobody knows whether it was recorded.
var ErrInDoubt = errors.New("in doubt")

// DoubtError says that an edit may have been recorded or not. It is an ErrInDoubt to errors.Is.
type DoubtError struct{ Err error }

func (e *DoubtError) Error() string {
	return fmt.Sprintf("manifest: edit may be recorded or not, until a new file is begun: %v", e.Err)
}

// Unwrap is what failed.
func (e *DoubtError) Unwrap() error { return e.Err }

// Is makes errors.Is(err, ErrInDoubt) true.
func (e *DoubtError) Is(target error) bool { return target == ErrInDoubt }

// Recorded is the result of a Record.
type Recorded struct {
	State *State
	// Unnamed are the files that lost their last claim: no tablet of the store names them any more.
	Unnamed []tablet.FileMeta
}

// NewWriter begins a new file with a state, that of Read, and makes it durable, name and all. Only then may anything be
// removed that the state does not name. Files of Read are removed if they can be. The directory must exist.
func NewWriter(fsys vfs.FS, s *State, o Options) (*Writer, error) {
	if o.NextNumber == nil {
		return nil, fmt.Errorf("manifest: NextNumber is missing: %w", tablet.ErrUsage)
	}
	if o.RollBytes < 0 {
		return nil, fmt.Errorf("manifest: RollBytes is %d, must be at least 1: %w", o.RollBytes, tablet.ErrUsage)
	}
	if o.RollBytes == 0 {
		o.RollBytes = 4 << 20
	}
	stale, _, err := list(fsys)
	if err != nil {
		return nil, err
	}
	w := &Writer{fs: fsys, opts: o, stale: stale}
	if len(stale) > 0 {
		w.number = stale[len(stale)-1]
	}
	number := o.NextNumber()
	var first Edit = Open{NextNumber: number, NextLSN: o.NextLSN}
	if o.SameRun {
		first = Advance{NextNumber: number, NextLSN: o.NextLSN}
	}
	if w.state, err = Apply(s, first); err != nil {
		return nil, err
	}
	if err := w.begin(number); err != nil {
		return nil, fmt.Errorf("begin manifest: %w", err)
	}
	return w, nil
}

// State is the last that is certain.
func (w *Writer) State() *State { return w.state }

// Record makes edits durable, all or none, and returns the state after them. Otherwise the error is
//
//   - an ErrRefused: they break a rule, and nothing was written;
//   - an ErrInDoubt: nobody knows. The state stays the one before, and nothing may be removed that the edits name, be it
//     to come or to go, until InDoubt is nil. The same edits may be recorded again;
//   - an ErrBusy: a new file was to be begun and could not be. They were not recorded, and may be tried again.
func (w *Writer) Record(edits ...Edit) (Recorded, error) {
	if w.closed {
		return Recorded{}, fmt.Errorf("manifest: %w", tablet.ErrClosed)
	}
	if len(edits) == 0 {
		return Recorded{State: w.state}, nil
	}
	d, err := change(w.state, edits)
	if err != nil {
		return Recorded{}, err
	}
	if err := w.Heal(); err != nil {
		return Recorded{}, err
	}
	if _, err := w.current.w.Append(appendEdits(nil, edits)); err != nil {
		return Recorded{}, fmt.Errorf("manifest: %w", err)
	}
	if err := w.current.w.Sync(); err != nil {
		w.abandon()
		w.doubt = &DoubtError{Err: err}
		w.doubted = append(w.doubted, d.new...)
		return Recorded{}, w.doubt
	}
	after := d.State // without what the draft keeps besides
	w.state = &after
	return Recorded{State: w.state, Unnamed: metas(d.gone)}, nil
}

func metas(files []*FileRef) []tablet.FileMeta {
	var out []tablet.FileMeta
	for _, f := range files {
		out = append(out, f.FileMeta)
	}
	return out
}

// Heal begins a new file if the current one is in doubt, or too long. It is nil when edits can be recorded; else the error
// is an ErrBusy, and a later call may succeed.
func (w *Writer) Heal() error {
	if w.closed {
		return fmt.Errorf("manifest: %w", tablet.ErrClosed)
	}
	if w.current != nil && w.current.w.Size() <= max(w.opts.RollBytes, 2*w.current.snapshot) {
		return nil
	}
	if err := w.begin(w.opts.NextNumber()); err != nil {
		return fmt.Errorf("manifest: nothing is recorded until a new file can be begun: %w: %w", tablet.ErrBusy, err)
	}
	return nil
}

// InDoubt is the *DoubtError of the last edit that failed, nil when the state on stable storage is certain.
func (w *Writer) InDoubt() error { return w.doubt }

// Doubted returns files that only edits in doubt would have named: they are garbage once the doubt is over. It is empty
// before, and each file is returned once. Whoever means to record such an edit again does so before asking.
func (w *Writer) Doubted() []tablet.FileMeta {
	if w.doubt != nil {
		return nil
	}
	var out []tablet.FileMeta
	for _, f := range w.doubted {
		if w.state.Named(f.Number) == nil {
			out = append(out, f.FileMeta)
		}
	}
	w.doubted = nil
	return out
}

// Close ends a doubt if it can, and seals the file, so that from now on every damage to it shows. Everything recorded is
// durable already, whatever the error.
func (w *Writer) Close() error {
	if w.closed {
		return nil
	}
	var err error
	if w.current == nil {
		err = w.Heal()
	}
	w.closed = true
	if w.current == nil {
		return err
	}
	if err := w.current.w.Seal(); err != nil {
		w.abandon()
		return fmt.Errorf("close manifest: %w", err)
	}
	f := w.current.f
	w.current = nil
	if err := f.Close(); err != nil {
		return fmt.Errorf("close manifest: %w", err)
	}
	return nil
}

package iter

import (
	"context"

	"millrace/internal/invariant"
	"millrace/tablet"
)

// StackOptions say what a Stack takes out. The zero value drops delete markers and what they hide.
type StackOptions struct {
	// PropagateDeletes keeps each delete marker that is not itself hidden, for older data that this merge does not see.
	PropagateDeletes bool
	// MaxVersions is how many entries of a cell are kept, the newest; 0 all. A delete marker counts as one.
	MaxVersions int
	// Columns are those fetched. The families go to Seek besides: only qualifiers are looked at here.
	Columns Columns
	// Visible says whether entries with a label may be seen; nil shows all. It is asked once a cell, and must not keep
	// the label.
	Visible func(label []byte) bool
}

// Stack is a merge with the system iterators delete, qualifier, visibility and version above it, in this order. They are
// fused into one pass that decides by the codes of the entries; keys are looked at only to filter.
type Stack struct {
	merge *Merge
	opts  StackOptions
	books Books
	runs  []Run // from the merge, still to pass on; a part of in

	// The state between two entries of the merge.
	carry   uint64 // the largest code among the entries dropped since one was kept
	kept    int    // entries of this cell
	deleted bool   // a marker of this cell was seen
	fetched bool   // row, family and qualifier are wanted
	wanted  bool   // the cell is wanted: fetched, and its label visible
	fresh   bool   // no entry since Seek, so the next begins a cell whatever its code says

	watch watchedRuns // in checking builds

	// Until the start of the range is reached.
	early          bool
	start          tablet.Key // owns its bytes
	startInclusive bool

	in [stackRuns]Run
}

// stackRuns is how many runs are drawn at once: 3 KiB of them.
const stackRuns = 128

// NewStack puts the system iterators on a merge, which has one stack at a time and must not be read beside it.
func NewStack(m *Merge, o StackOptions) *Stack {
	if m.stack == nil {
		m.stack = &Stack{}
	}
	s := m.stack
	s.reset()
	s.merge, s.opts = m, o
	return s
}

// reset lets go of everything that is not the stack's own.
func (s *Stack) reset() {
	s.merge, s.opts, s.books, s.early = nil, StackOptions{}, Books{}, false
	s.start = keptKey(s.start)
	s.begin()
}

// begin forgets what was read before a seek.
func (s *Stack) begin() {
	s.runs = nil
	s.watch.begin()
	s.carry, s.kept, s.deleted, s.fetched, s.wanted, s.fresh = 0, 0, false, true, true, true
}

// Seek is as in RunSource. To know what a marker or a version count before the start does to the rest of its cell, it
// goes back to the cell's first possible key and passes over what lies before the start.
func (s *Stack) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	s.begin()
	start, bounded := r.Start()
	s.early = bounded && !r.Empty()
	if s.early {
		s.start.Assign(&start.Key)
		s.startInclusive = start.Inclusive
		r = r.WithStart(cellStart(&start.Key))
	}
	return s.merge.Seek(ctx, r, f)
}

// cellStart is the smallest key of a key's cell: a delete marker of the greatest timestamp. It shares the key's bytes.
func cellStart(k *tablet.Key) tablet.Key {
	return tablet.KeyView(k.Data(), k.Ends(), tablet.MaxTimestamp, true)
}

// Fill is as in RunSource; the codes of runs are against the entry kept before.
func (s *Stack) Fill(ctx context.Context, out []Run) (int, error) {
	if len(out) == 0 {
		return s.merge.Fill(ctx, out) // for its error
	}
	for {
		if n, more, err := s.FillSome(ctx, out); n > 0 || !more || err != nil {
			return n, err
		}
	}
}

// FillSome is Fill for callers that must not be kept long: it draws from the merge once at most, so that n may be 0
// because all that was drawn was dropped. more is false at the end, when n is 0 too.
func (s *Stack) FillSome(ctx context.Context, out []Run) (n int, more bool, err error) {
	if n := s.drain(out); n > 0 {
		return n, true, nil
	}
	drawn, err := s.merge.Fill(ctx, s.in[:])
	if drawn == 0 || err != nil {
		return 0, false, err
	}
	s.runs = s.in[:drawn]
	return s.drain(out), true, nil
}

// Batch is as in RunSource.
func (s *Stack) Batch(src uint16) *tablet.Batch { return s.merge.Batch(src) }

// Books returns the counts since NewStack. They balance at any time: what was drawn ahead does not count yet.
func (s *Stack) Books() Books {
	if invariant.Enabled {
		err := s.books.Balance()
		invariant.Check(err == nil, "%v", err)
	}
	return s.books
}

// Merge is what lies below.
func (s *Stack) Merge() *Merge { return s.merge }

// Generation is that of the merge.
func (s *Stack) Generation() uint32 { return s.merge.Generation() }

// Close closes the merge.
func (s *Stack) Close() error {
	if s.merge == nil {
		return nil
	}
	return s.merge.Close()
}

// drain passes on what is left of the runs drawn from the merge, as far as out has room.
func (s *Stack) drain(out []Run) (n int) {
	runs, filters := s.runs, s.filters()
	for len(runs) > 0 && n < len(out) {
		run := &runs[0]
		b := s.merge.Batch(run.Src)
		switch {
		case s.early || s.fresh || b.Facts.Deletes || filters:
			n = s.passEntries(b, run, out, n)
		case s.opts.MaxVersions == 0 && !s.deleted:
			n = s.passRun(run, out, n)
		case s.opts.MaxVersions > 0 && beginsCells(b, run):
			n = s.passCells(run, out, n)
		default:
			n = s.passCodes(b, run, out, n)
		}
		if run.Lo < run.Hi {
			break
		}
		runs = runs[1:]
	}
	s.runs = runs
	if invariant.Enabled {
		s.watch.check("stack", s.merge.Batch, out[:n], s.opts.PropagateDeletes)
	}
	return n
}

func (s *Stack) filters() bool { return s.opts.Visible != nil || s.opts.Columns.filters() }

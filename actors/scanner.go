package actors

import (
	"context"
	"fmt"
	stditer "iter"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors/protocol"
	"millrace/reader/scan"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/visibility"
)

// ScanOptions say what a scan reads. The zero value reads every entry with an empty label.
type ScanOptions struct {
	// Range is what to read. Its bytes must not change.
	Range   tablet.Range
	Columns iter.Columns
	// Authorizations decide which labels are seen.
	Authorizations visibility.Authorizations
	// Versions is how many entries of a cell are wanted. Default as the table's properties say, 1 if they are silent; -1
	// all that are stored.
	Versions int
	// Iterators are added to the table's, which they must not collide with in name or priority.
	Iterators []iter.Setting
	// Limit is how many entries are wanted at most; 0 all.
	Limit int
	// After goes on behind a place of an earlier scan with the same options; see Scanner.Place.
	After scan.Place
	// Snapshot has the scan read all tablets as they are when Scan is called, which holds their memory and files until it
	// comes to them. Without it each tablet is read as it is when the scan comes to it, the first when Scan is called.
	Snapshot bool
	// PageEntries bounds what one message carries. Default 1000.
	PageEntries int
}

// scanWindow is how many pages are on their way to a scanner: one that is read, one that waits, one that is filled.
const scanWindow = 3

// scanEnds is how many ends may come for a scan: its own, and a second if scans is stopped just then.
const scanEnds = 2

// Scanner reads a range of a table in key order, across tablets. It sees what was acknowledged before it came to a tablet,
// to the first of them when it was made. Flushes, compactions and splits change nothing for it. It belongs to one
// goroutine, and must be closed.
type Scanner struct {
	store   *Store
	ctx     context.Context
	options ScanOptions
	spec    scan.Spec
	limits  scan.Limits
	in      *Inbox

	tour  tour
	views []tabletPart // taken and not yet read, the next first
	scan  uint64       // number of the present tablet's scan
	open  bool         // it has not ended

	page    *scan.Page
	session *actor.PID
	at      int        // next entry of the page
	left    int        // entries that may still be handed out, if there is a limit
	place   scan.Place // behind the pages before this one
	entry   tablet.Entry
	err     error
}

// Scan begins to read. Errors of the range's tablets come from the scanner.
func (s *Store) Scan(ctx context.Context, table string, o ScanOptions) (*Scanner, error) {
	if s.closed.Load() {
		return nil, errClosed
	}
	t, err := s.table(table)
	if err != nil {
		return nil, err
	}
	sc := &Scanner{store: s, ctx: ctx, options: o, left: o.Limit, place: o.After.Clone(), tour: tour{store: s, table: table}}
	if sc.spec, err = t.scanSpec(table, o, s.core); err != nil {
		return nil, fmt.Errorf("scan table %s: %w", table, err)
	}
	sc.limits = scan.Limits{Entries: o.PageEntries, Bytes: t.settings.ScanBytes}.WithDefaults()
	if o.Limit > 0 {
		sc.limits.Entries = min(sc.limits.Entries, o.Limit)
	}
	from := o.After.Clone() // a session reads its range's start while the scanner's own place moves on
	rest, skip := from.Rest(o.Range)
	sc.spec.Skip = skip
	sc.tour.begin(rest)
	sc.in = s.core.rt.NewInbox(scanWindow + scanEnds)
	sc.err = sc.enter()
	for o.Snapshot && sc.err == nil && sc.tour.more {
		sc.err = sc.take()
	}
	return sc, nil
}

// scanSpec is what a scan wants of each tablet, its part of the range and its labels apart.
func (t *storeTable) scanSpec(table string, o ScanOptions, k *core) (spec scan.Spec, err error) {
	stack := t.settings.Iterators.Scan
	spec = scan.Spec{Columns: o.Columns, MaxVersions: stack.MaxVersions, Mode: k.mode, Env: iter.Env{Table: table, Now: k.rt.clock.Now}}
	switch {
	case o.Versions < 0:
		spec.MaxVersions = 0
	case o.Versions > 0:
		spec.MaxVersions = o.Versions
	}
	for _, a := range o.Authorizations.Tokens() {
		spec.Env.Authorizations = append(spec.Env.Authorizations, []byte(a))
	}
	spec.Iterators, err = iter.Combine(stack.Iterators, o.Iterators)
	return spec, err
}

// visible says which labels a set of authorizations sees; one that does not parse is hidden. It belongs to one goroutine.
func visible(a visibility.Authorizations) func(label []byte) bool {
	labels := visibility.NewEvaluator(a)
	return func(label []byte) bool {
		ok, _ := labels.Visible(label)
		return ok
	}
}

// Next moves to the next entry. It returns false at the end, and after an error.
func (sc *Scanner) Next() bool {
	for sc.err == nil {
		switch {
		case sc.options.Limit > 0 && sc.left == 0:
			return false
		case sc.page != nil && sc.at < sc.page.Len():
			sc.entry = sc.page.Entry(sc.at)
			sc.at++
			sc.left--
			return true
		case sc.open:
			sc.err = sc.receive()
		case len(sc.views) > 0 || sc.tour.more:
			sc.err = sc.enter()
		default:
			return false
		}
	}
	return false
}

// take takes a view of the next tablet, if there is one.
func (sc *Scanner) take() error {
	part, ok, err := sc.tour.next(sc.ctx)
	if ok {
		sc.views = append(sc.views, part)
	}
	return err
}

// enter begins the next tablet's scan.
func (sc *Scanner) enter() error {
	if len(sc.views) == 0 {
		if err := sc.take(); err != nil || len(sc.views) == 0 {
			return err
		}
	}
	ticket, err := sc.store.scans.enter(sc.ctx, 1)
	if err != nil {
		return err // Close releases the view
	}
	part := sc.views[0]
	sc.views = sc.views[1:]
	sc.keepPlace()
	sc.scan++
	sc.open = true
	spec := sc.spec
	spec.Range = part.rng
	spec.Visible = visible(sc.options.Authorizations) // each session has its own: it remembers what it met
	sc.spec.Skip = 0                                  // what was handed out lies in the first tablet
	open := &protocol.ScanOpen{
		Client: sc.in.PID(), Scan: sc.scan, View: part.view, Spec: spec, Credit: sc.store.core.rt.window(scanWindow), Limits: sc.limits,
	}
	open.Admit(ticket)
	sc.store.core.rt.Send(sc.store.core.scans.get(), open)
	return nil
}

// receive waits for the next page, or the scan's end. The page worked through goes back.
func (sc *Scanner) receive() error {
	if page := sc.page; page != nil {
		sc.keepPlace()
		sc.store.core.rt.Send(sc.session, &protocol.Credit{Scan: sc.scan, Batches: 1, Pages: []*scan.Page{page}})
	}
	for {
		msg, err := sc.in.Receive(sc.ctx)
		if err != nil {
			return err
		}
		switch m := msg.(type) {
		case *protocol.ScanBatch:
			if m.Scan == sc.scan {
				sc.page, sc.session, sc.at = m.Page, m.Session, 0
				return nil
			}
		case *protocol.ScanEnd:
			if m.Scan == sc.scan {
				sc.leave()
				return m.Err
			}
		}
	}
}

// keepPlace lets go of the present page, and remembers how far it was read.
func (sc *Scanner) keepPlace() {
	if sc.page != nil {
		sc.place.Advance(sc.page, sc.at)
		sc.page, sc.at = nil, 0
	}
}

// leave ends the present tablet's scan, whatever there is left of it.
func (sc *Scanner) leave() {
	if sc.open {
		sc.open = false
		ticket, _ := sc.store.scans.enter(context.Background(), 1) // it is never closed
		end := &protocol.ScanClose{Client: sc.in.PID(), Scan: sc.scan}
		end.Admit(ticket)
		sc.store.core.rt.Send(sc.store.core.scans.get(), end)
	}
}

// Entry is the present entry, a view until the next call of Next or Close.
func (sc *Scanner) Entry() tablet.Entry { return sc.entry }

// Err is why Next returned false, nil at the end.
func (sc *Scanner) Err() error { return sc.err }

// Place is where the scan stands: behind the present entry. Another scan goes on from there by ScanOptions.After. It
// may be asked after the end, and not after Close.
func (sc *Scanner) Place() scan.Place {
	place := sc.place.Clone()
	if sc.page != nil {
		place.Advance(sc.page, sc.at)
	}
	return place
}

// All yields what is left, an error last.
func (sc *Scanner) All() stditer.Seq2[tablet.Entry, error] {
	return func(yield func(tablet.Entry, error) bool) {
		for sc.Next() {
			if !yield(sc.entry, nil) {
				return
			}
		}
		if sc.err != nil {
			yield(tablet.Entry{}, sc.err)
		}
	}
}

// Close gives the scan up, if it has not ended, and lets go of what it holds.
func (sc *Scanner) Close() {
	sc.leave()
	for _, part := range sc.views {
		part.view.Release()
	}
	sc.views, sc.page = nil, nil
	if sc.err == nil {
		sc.err = fmt.Errorf("scanner: %w", tablet.ErrClosed)
	}
	sc.in.Close()
}

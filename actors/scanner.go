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
	Range   tablet.Range
	Columns iter.Columns
	// Authorizations decide which labels are seen.
	Authorizations visibility.Authorizations
	// Versions is how many entries of a cell are wanted. Default as the table's properties say, 1 if they are silent; -1
	// all that are stored.
	Versions int
	// Iterators are added to the table's, which they must not collide with in name or priority.
	Iterators []iter.Setting
	// PageEntries bounds what one message carries. Default 1000.
	PageEntries int
}

// scanWindow is how many pages are on their way to a scanner: one that is read, one that waits, one that is filled.
const scanWindow = 3

// scanEnds is how many ends may come for a scan: its own, and a second if scans is stopped just then.
const scanEnds = 2

// Scanner reads a range of a table in key order, across tablets. Entries acknowledged before a tablet is reached are
// seen. It belongs to one goroutine, and must be closed.
type Scanner struct {
	store   *Store
	ctx     context.Context
	table   *storeTable
	options ScanOptions
	spec    scan.Spec
	in      *Inbox

	next, end int    // tablets still to read
	scan      uint64 // number of the present tablet's scan
	open      bool   // it has not ended
	page      *scan.Page
	session   *actor.PID
	at        int // next entry of the page
	entry     tablet.Entry
	err       error
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
	sc := &Scanner{store: s, ctx: ctx, table: t, options: o, in: s.core.rt.NewInbox(scanWindow + scanEnds)}
	if sc.spec, err = t.scanSpec(table, o, s.core); err != nil {
		sc.in.Close()
		return nil, fmt.Errorf("scan table %s: %w", table, err)
	}
	sc.next, sc.end = t.extents.Overlapping(o.Range)
	return sc, nil
}

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

// Next moves to the next entry. It returns false at the end, and after an error.
func (sc *Scanner) Next() bool {
	for sc.err == nil {
		if sc.page != nil && sc.at < sc.page.Len() {
			sc.entry = sc.page.Entry(sc.at)
			sc.at++
			return true
		}
		switch {
		case sc.open:
			sc.err = sc.receive()
		case sc.next < sc.end:
			sc.err = sc.openTablet()
		default:
			return false
		}
	}
	return false
}

// openTablet begins the next tablet's scan.
func (sc *Scanner) openTablet() error {
	t := &sc.table.tablets[sc.next]
	sc.next++
	view, err := t.View()
	if err != nil {
		return fmt.Errorf("scan %v: %w", t.Extent, err)
	}
	sc.scan++
	sc.open, sc.page = true, nil
	spec := sc.spec
	spec.Range = sc.options.Range.Clip(t.Extent.DataRange())
	labels := visibility.NewEvaluator(sc.options.Authorizations) // each session has its own: it remembers what it met
	spec.Visible = func(label []byte) bool {
		visible, _ := labels.Visible(label) // a label that does not parse is hidden
		return visible
	}
	sc.store.core.rt.Send(sc.store.core.scans.get(), &protocol.ScanOpen{
		Client: sc.in.PID(), Scan: sc.scan, View: view, Spec: spec, Credit: scanWindow,
		Limits: scan.Limits{Entries: sc.options.PageEntries, Bytes: sc.table.settings.ScanBytes},
	})
	return nil
}

// receive waits for the next page, or the scan's end. The page worked through goes back.
func (sc *Scanner) receive() error {
	if sc.page != nil {
		sc.store.core.rt.Send(sc.session, &protocol.Credit{Scan: sc.scan, Batches: 1, Pages: []*scan.Page{sc.page}})
		sc.page = nil
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
				sc.closeTablet()
				return m.Err
			}
		}
	}
}

// closeTablet ends the present tablet's scan, whatever there is left of it.
func (sc *Scanner) closeTablet() {
	if sc.open {
		sc.open = false
		sc.store.core.rt.Send(sc.store.core.scans.get(), &protocol.ScanClose{Client: sc.in.PID(), Scan: sc.scan})
	}
}

// Entry is the present entry, a view until the next call of Next or Close.
func (sc *Scanner) Entry() tablet.Entry { return sc.entry }

// Err is why Next returned false, nil at the end.
func (sc *Scanner) Err() error { return sc.err }

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
	sc.closeTablet()
	if sc.err == nil {
		sc.err = fmt.Errorf("scanner: %w", tablet.ErrClosed)
	}
	sc.in.Close()
}

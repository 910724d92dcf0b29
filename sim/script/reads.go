package script

import (
	"context"
	"encoding/json"
	"fmt"

	"millrace/actors"
	"millrace/reader/scan"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/visibility"
)

// readSpec is what a scan reads.
type readSpec struct {
	rng         rangeSpec
	columns     iter.Columns
	auths       visibility.Authorizations
	maxVersions int // 0: as the table says
	limit       int // -1: all
}

// parseReadSpec takes columns and auths, and what only scans have.
func parseReadSpec(o *object) (s readSpec) {
	s.rng = rangeOf(o)
	s.columns, s.auths = parseColumns(o), parseAuths(o)
	s.maxVersions = o.count("maxVersions", 1, 0)
	s.limit = o.count("limit", 0, -1)
	return s
}

// parseColumns takes a list of [cf] and [cf, cq].
func parseColumns(o *object) iter.Columns {
	var columns []iter.Column
	for _, raw := range o.list("columns") {
		parts, err := listOf(raw)
		if err != nil || len(parts) < 1 || len(parts) > 2 {
			o.failf("field %q: %s is neither [cf] nor [cf, cq]", "columns", excerpt(raw))
			break
		}
		c := iter.Column{Family: o.part("columns", parts[0]), Whole: len(parts) == 1}
		if !c.Whole {
			c.Qualifier = o.part("columns", parts[1])
		}
		columns = append(columns, c)
	}
	return iter.FetchColumns(columns...)
}

func (o *object) part(name string, raw json.RawMessage) []byte {
	b, err := parseBytes(raw, false)
	if err != nil {
		o.failf("field %q: %v", name, err)
	}
	return b.bytes()
}

func parseAuths(o *object) visibility.Authorizations {
	var tokens []string
	for _, raw := range o.list("auths") {
		tokens = append(tokens, string(o.part("auths", raw)))
	}
	set, err := visibility.NewAuthorizations(tokens...)
	if err != nil {
		o.failf("field %q: %v", "auths", err)
	}
	return set
}

// options are the engine's for this read; none says that the engine refuses the range, which then holds nothing.
func (s *readSpec) options(r *runner) (o actors.ScanOptions, none bool) {
	rng, err := s.rng.make()
	if err != nil {
		return o, true
	}
	return actors.ScanOptions{
		Range: rng, Columns: s.columns, Authorizations: s.auths, Versions: s.maxVersions, Limit: max(s.limit, 0),
		PageEntries: r.mode.pageEntries(),
	}, s.limit == 0
}

// scanStep reads, and reads once more in pages of each size.
type scanStep struct {
	readSpec
	expectation
	pages []int
}

func parseScan(o *object, _ string) step {
	s := &scanStep{readSpec: parseReadSpec(o), expectation: parseExpectation(o)}
	for _, raw := range o.list("pages") {
		var n int
		if json.Unmarshal(raw, &n) != nil || n < 1 {
			o.failf("field %q: %s is no size of a page", "pages", excerpt(raw))
		}
		s.pages = append(s.pages, n)
	}
	return s
}

func (s *scanStep) run(ctx context.Context, r *runner) error {
	o, none := s.options(r)
	if none {
		return s.check(nil)
	}
	found, _, err := r.scan(ctx, o)
	if err != nil {
		return err
	}
	if err := s.check(found); err != nil {
		return err
	}
	for _, n := range s.pages {
		if err := s.inPages(ctx, r, o, n, found); err != nil {
			return fmt.Errorf("pages of %d: %w", n, err)
		}
	}
	return nil
}

// inPages reads in pages, each a scan of its own from behind the last entry of the page before: from the place where that
// scan stood; and, where no two keys are equal, from a range that begins behind its last key.
func (s *scanStep) inPages(ctx context.Context, r *runner, o actors.ScanOptions, n int, whole []tablet.Entry) error {
	byPlace := func(place scan.Place, _ tablet.Key) { o.After = place }
	if err := s.pagesAre(ctx, r, &o, n, whole, byPlace); err != nil {
		return err
	}
	for i := 1; i < len(whole); i++ {
		if tablet.Compare(&whole[i-1].Key, &whole[i].Key) == 0 {
			return nil
		}
	}
	o.After = scan.Place{}
	return s.pagesAre(ctx, r, &o, n, whole, func(_ scan.Place, last tablet.Key) { o.Range = o.Range.After(last) })
}

// pagesAre reads in pages and compares. goOn sets where the next page begins.
func (s *scanStep) pagesAre(ctx context.Context, r *runner, o *actors.ScanOptions, n int, whole []tablet.Entry, goOn func(scan.Place, tablet.Key)) error {
	var all []tablet.Entry
	for {
		o.Limit = n
		if s.limit > 0 {
			o.Limit = min(n, s.limit-len(all))
		}
		page, place, err := r.scan(ctx, *o)
		if err != nil {
			return err
		}
		all = append(all, page...)
		if len(page) < o.Limit || len(all) >= len(whole)+n || len(all) == s.limit {
			break
		}
		goOn(place, page[len(page)-1].Key)
	}
	if d := differ(all, whole); d >= 0 {
		return &mismatch{found: showEntries(all, d), expected: "as one scan gives, " + showEntries(whole, d)}
	}
	return nil
}

// differ is the number of the first entry in which two answers differ; -1 if they do not.
func differ(a, b []tablet.Entry) int {
	for i := range min(len(a), len(b)) {
		if tablet.Compare(&a[i].Key, &b[i].Key) != 0 || string(a[i].Value) != string(b[i].Value) {
			return i
		}
	}
	if len(a) == len(b) {
		return -1
	}
	return min(len(a), len(b))
}

// scan reads everything, and says where it stands then.
func (r *runner) scan(ctx context.Context, o actors.ScanOptions) ([]tablet.Entry, scan.Place, error) {
	sc, err := r.store.Scan(ctx, tableName, o)
	if err != nil {
		return nil, scan.Place{}, err
	}
	defer sc.Close()
	found := drain(sc, -1)
	return found, sc.Place(), sc.Err()
}

// drain reads so many entries, or all that are left if n is negative.
func drain(sc *actors.Scanner, n int) (found []tablet.Entry) {
	for len(found) != n && sc.Next() {
		found = append(found, sc.Entry().Clone())
	}
	return found
}

// openScan is a scan that stays open while other operations run.
type openScan struct {
	scanner *actors.Scanner // nil for a range that holds nothing
	cancel  context.CancelFunc
}

func (s *openScan) close() {
	if s.scanner != nil {
		s.scanner.Close()
		s.cancel()
	}
}

type openStep struct {
	readSpec
	id string
}

func parseOpen(o *object, _ string) step {
	o.must("id")
	return &openStep{id: o.text("id"), readSpec: parseReadSpec(o)}
}

// run opens the scan under a context that outlives the operation; each read has the time of an operation.
func (s *openStep) run(ctx context.Context, r *runner) error {
	if r.scans[s.id] != nil {
		return fmt.Errorf("scan %q is open already", s.id)
	}
	open := &openScan{}
	if o, none := s.options(r); !none {
		o.Snapshot = true
		var scanCtx context.Context
		scanCtx, open.cancel = context.WithCancel(context.WithoutCancel(ctx))
		var err error
		if open.scanner, err = r.store.Scan(scanCtx, tableName, o); err != nil {
			open.cancel()
			return err
		}
	}
	r.scans[s.id] = open
	return nil
}

type readStep struct {
	expectation
	id string
	n  int // -1: all that is left
}

func parseRead(o *object, _ string) step {
	o.must("id")
	return &readStep{id: o.text("id"), n: o.count("n", 0, -1), expectation: parseExpectation(o)}
}

func (s *readStep) run(ctx context.Context, r *runner) error {
	open := r.scans[s.id]
	if open == nil {
		return fmt.Errorf("scan %q is not open", s.id)
	}
	if open.scanner == nil {
		return s.check(nil)
	}
	stop := context.AfterFunc(ctx, open.cancel)
	defer stop()
	found := drain(open.scanner, s.n)
	if err := open.scanner.Err(); err != nil {
		return err
	}
	return s.check(found)
}

type closeStep struct{ id string }

func parseClose(o *object, _ string) step {
	o.must("id")
	return &closeStep{id: o.text("id")}
}

func (s *closeStep) run(_ context.Context, r *runner) error {
	open := r.scans[s.id]
	if open == nil {
		return fmt.Errorf("scan %q is not open", s.id)
	}
	open.close()
	delete(r.scans, s.id)
	return nil
}

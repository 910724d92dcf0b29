package scan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"millrace/tablet"
	"millrace/tablet/iter"
)

// TestPagesAndResuming: however a scan is cut into pages, and wherever it is torn down and opened again behind the last
// key, the entries are those of the slow way: sort all, then look at each cell.
func TestPagesAndResuming(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reopens := rapid.Bool().Draw(t, "reopens")
		runs := drawRuns(t)
		spec := Spec{
			Range:       drawRange(t),
			MaxVersions: rapid.IntRange(0, 2).Draw(t, "versions"),
			Mode:        rapid.SampledFrom([]iter.Mode{iter.Old, iter.New}).Draw(t, "mode"),
		}
		if rapid.Bool().Draw(t, "labels") {
			spec.Visible = func(label []byte) bool { return string(label) != "x" }
		}
		if rapid.Bool().Draw(t, "columns") {
			spec.Columns = iter.FetchColumns(iter.Column{Family: []byte("a"), Whole: true}, iter.Column{Family: []byte("b"), Qualifier: []byte("q")})
		}
		if rapid.Bool().Draw(t, "iterators") {
			spec.Iterators = []iter.Setting{{Name: "vers", Class: "VersioningIterator", Priority: 20, Options: map[string]string{"maxVersions": "1"}}}
		}
		want := slowly(runs, spec)
		got := inPages(t, runs, spec, reopens)
		if !slices.Equal(got, want) {
			t.Fatalf("got\n%q\nwant\n%q", got, want)
		}
	})
}

// inPages reads everything, opening a new session now and then.
func inPages(t *rapid.T, runs [][]tablet.Entry, spec Spec, reopens bool) (got []string) {
	pool := iter.NewPool()
	work := int64(rapid.IntRange(0, 3).Draw(t, "work"))
	var p Page
	for {
		s, err := Open(pool, sources(runs), spec)
		if err != nil {
			t.Fatal(err)
		}
		for {
			l := Limits{Entries: rapid.IntRange(1, 5).Draw(t, "page"), Bytes: int64(rapid.IntRange(1, 2000).Draw(t, "bytes")), Work: work}
			more, err := s.Fill(context.Background(), &p, l)
			if err != nil {
				t.Fatal(err)
			}
			if more && p.Len() == 0 && work == 0 || p.Len() > l.Entries {
				t.Fatalf("page of %d entries, at most %d, more %v", p.Len(), l.Entries, more)
			}
			for i := range p.Len() {
				got = append(got, show(p.Entry(i)))
			}
			if !more {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				return got
			}
			if reopens && rapid.Bool().Draw(t, "reopen") {
				break
			}
		}
		spec.Range, spec.Skip = s.Rest()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// slowly is the model.
func slowly(runs [][]tablet.Entry, spec Spec) (want []string) {
	type ranked struct {
		e   tablet.Entry
		src int
	}
	var all []ranked
	for src, run := range runs {
		for _, e := range run {
			all = append(all, ranked{e, src})
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		if c := tablet.Compare(&a.e.Key, &b.e.Key); c != 0 {
			return c
		}
		return a.src - b.src
	})
	deleted, versions := false, 0
	limit := spec.MaxVersions
	if len(spec.Iterators) > 0 {
		limit = 1
	}
	for i, r := range all {
		if i == 0 || !tablet.SameCell(&all[i-1].e.Key, &r.e.Key) {
			deleted, versions = false, 0
		}
		deleted = deleted || r.e.Key.Deleted()
		if deleted || !wanted(r.e.Key, spec) {
			continue
		}
		if versions++; limit > 0 && versions > limit || !spec.Range.Contains(&r.e.Key) {
			continue
		}
		want = append(want, show(r.e))
	}
	return want
}

func wanted(k tablet.Key, spec Spec) bool {
	f, q := string(k.Family()), string(k.Qualifier())
	fetched := !spec.Columns.Families().Inclusive() || f == "a" || f == "b" && q == "q"
	return fetched && (spec.Visible == nil || spec.Visible(k.Visibility()))
}

func drawRuns(t *rapid.T) [][]tablet.Entry {
	field := func(of ...string) *rapid.Generator[string] { return rapid.SampledFrom(of) }
	n := 0
	runs := make([][]tablet.Entry, rapid.IntRange(0, 4).Draw(t, "sources"))
	for i := range runs {
		for range rapid.IntRange(0, 25).Draw(t, "entries") {
			n++
			ts := rapid.IntRange(1, 3).Draw(t, "ts")
			runs[i] = append(runs[i], tablet.Entry{Key: tablet.NewKey(tablet.Fields{
				Row:        []byte(field("r", "ra", "s").Draw(t, "row")),
				Family:     []byte(field("a", "b", "c").Draw(t, "family")),
				Qualifier:  []byte(field("", "q").Draw(t, "qualifier")),
				Visibility: []byte(field("", "x").Draw(t, "label")),
				Timestamp:  int64(ts),
				Deleted:    rapid.IntRange(0, 5).Draw(t, "kind") == 0,
			}), Value: fmt.Appendf(nil, "v%d", n)})
		}
		slices.SortStableFunc(runs[i], func(a, b tablet.Entry) int { return tablet.Compare(&a.Key, &b.Key) })
	}
	return runs
}

func drawRange(t *rapid.T) tablet.Range {
	switch rapid.IntRange(0, 3).Draw(t, "range") {
	case 0:
		return tablet.ExactRow([]byte("ra"))
	case 1:
		return tablet.RowRange(tablet.RowBounds{Start: []byte("r"), StartExclusive: true})
	case 2: // into the middle of a cell
		return tablet.Range{}.After(tablet.NewKey(tablet.Fields{Row: []byte("r"), Family: []byte("b"), Timestamp: 2000}))
	}
	return tablet.Range{}
}

func sources(runs [][]tablet.Entry) []iter.Source {
	var s []iter.Source
	for _, r := range runs {
		s = append(s, iter.FromEntries(r, 3))
	}
	return s
}

func show(e tablet.Entry) string { return fmt.Sprintf("%v=%s", e.Key, e.Value) }

func TestErrorsStickAndNameTheRange(t *testing.T) {
	boom := errors.New("boom")
	entries := make([]tablet.Entry, 10)
	for i := range entries {
		entries[i].Key = tablet.NewKey(tablet.Fields{Row: fmt.Appendf(nil, "%02d", i)})
	}
	s, err := Open(iter.NewPool(), []iter.Source{iter.FromEntries(entries, 3).FailAfter(5, boom)}, Spec{Range: tablet.ExactRow([]byte("04"))})
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	if _, err := s.Fill(t.Context(), &Page{}, Limits{}); !errors.Is(err, tablet.ErrClosed) {
		t.Errorf("fill after close: %v", err)
	}

	src := iter.FromEntries(entries, 1).FailAfter(5, boom)
	if s, err = Open(iter.NewPool(), []iter.Source{src}, Spec{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var p Page
	got := 0
	for {
		more, err := s.Fill(t.Context(), &p, Limits{Entries: 2})
		got += p.Len()
		if err != nil {
			if !errors.Is(err, boom) {
				t.Errorf("error %v", err)
			}
			break
		}
		if !more {
			t.Fatal("the error was swallowed")
		}
	}
	if got != 5 {
		t.Errorf("%d entries before the error, want 5", got)
	}
	if _, err := s.Fill(t.Context(), &p, Limits{}); !errors.Is(err, boom) || p.Len() != 0 {
		t.Errorf("after an error: %d entries, %v", p.Len(), err)
	}
	if _, err := Open(iter.NewPool(), nil, Spec{Iterators: []iter.Setting{{Name: "x", Class: "no such", Priority: 1}}}); err == nil {
		t.Error("an unknown iterator was taken")
	}
}

// A page must not be filled entry by entry with an allocation each.
func BenchmarkFill(b *testing.B) {
	entries := make([]tablet.Entry, 100_000)
	for i := range entries {
		entries[i] = tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: fmt.Appendf(nil, "%012d", i), Family: []byte("f")}), Value: make([]byte, 40)}
	}
	batches := iter.Batches(entries, 256)
	pool := iter.NewPool()
	var p Page
	b.ReportAllocs()
	for b.Loop() {
		s, err := Open(pool, []iter.Source{iter.FromBatches(batches)}, Spec{MaxVersions: 1})
		if err != nil {
			b.Fatal(err)
		}
		for more := true; more; {
			if more, err = s.Fill(b.Context(), &p, Limits{}); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(entries)), "ns/entry")
}

// boundless is an iterator that reads on behind the range, which an iterator may.
type boundless struct{ iter.Iterator }

func (b *boundless) Init(_ map[string]string, env iter.Env) error {
	b.Iterator = env.Source
	return nil
}

func (b *boundless) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	start, _ := r.Start()
	return b.Iterator.Seek(ctx, tablet.Range{}.WithStart(start.Key), f)
}

func init() { iter.Register("test.boundless", func() iter.Iterator { return &boundless{} }) }

func TestSessionClipsWhatIteratorsDeliver(t *testing.T) {
	var entries []tablet.Entry
	for i := range 5 {
		entries = append(entries, tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: fmt.Appendf(nil, "%d", i)})})
	}
	s, err := Open(iter.NewPool(), []iter.Source{iter.FromEntries(entries, 3)}, Spec{
		Range:     tablet.RowRange(tablet.RowBounds{Start: []byte("1"), End: []byte("2")}),
		Iterators: []iter.Setting{{Name: "b", Class: "test.boundless", Priority: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var p Page
	if more, err := s.Fill(t.Context(), &p, Limits{}); more || err != nil || p.Len() != 2 {
		t.Errorf("%d entries, more %v, %v; want the two of the range", p.Len(), more, err)
	}
}

// A scan that finds nothing must let go now and then.
func TestWorkIsBounded(t *testing.T) {
	entries := make([]tablet.Entry, 10_000)
	for i := range entries {
		entries[i].Key = tablet.NewKey(tablet.Fields{Row: fmt.Appendf(nil, "%06d", i), Visibility: []byte("x")})
	}
	s, err := Open(iter.NewPool(), []iter.Source{iter.FromEntries(entries, 10)}, Spec{Visible: func([]byte) bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	calls, read := 0, int64(0)
	for more := true; more; calls++ {
		if more, err = s.Fill(t.Context(), &Page{}, Limits{Work: 100}); err != nil {
			t.Fatal(err)
		}
		now := s.Books().Read
		if now-read > 2000 {
			t.Errorf("one call read %d entries for 100", now-read)
		}
		read = now
	}
	if read != 10_000 || calls < 5 {
		t.Errorf("%d entries in %d calls", read, calls)
	}
}

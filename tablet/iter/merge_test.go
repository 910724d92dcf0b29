package iter

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"millrace/tablet"
)

var allModes = Modes()

// TestMergeRandom holds every mode against a stable sort, and every code against direct computation.
func TestMergeRandom(t *testing.T) {
	r := random(t)
	pool := NewPool()
	for range rounds(30_000) {
		sources := newKeyMaker(r).sources(1+r.IntN(12), 1+r.IntN(24))
		want := reference(sources)
		for _, mode := range allModes {
			m := verified(pool.Get(mode, openSources(r, sources)))
			if err := m.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
				t.Fatal(err)
			}
			got := mustRead(t, m, 1+r.IntN(20))
			if !entriesEqual(got.entries, want) {
				t.Fatalf("%v: got\n%swant\n%s", mode, show(got.entries), show(want))
			}
			checkCodes(t, got, nil)
			checkEnd(t, m)
			if s := m.Stats(); s.Entries != int64(len(want)) || s.Switches > s.Entries {
				t.Fatalf("%v: %+v after %d entries", mode, s, len(want))
			}
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// checkEnd wants the end to stay.
func checkEnd(t *testing.T, s RunSource) {
	t.Helper()
	for range 3 {
		if n, err := s.Fill(ctx, make([]Run, 4)); n != 0 || err != nil {
			t.Fatalf("after the end: %d runs, %v", n, err)
		}
	}
}

// TestMergeSeek seeks merges again and again, into ranges and families; some sources are fenced.
func TestMergeSeek(t *testing.T) {
	r := random(t)
	for range rounds(3_000) {
		g := newKeyMaker(r)
		sources := g.sources(1+r.IntN(6), 1+r.IntN(24))
		opened := openSources(r, sources)
		fences := make([]tablet.Range, len(opened))
		for i := range opened {
			if r.IntN(2) == 0 {
				opened[i] = FilterFamilies(opened[i])
			}
			if r.IntN(3) == 0 {
				fences[i] = randomRange(g)
				opened[i] = Fence(opened[i], fences[i])
				sources[i] = clip(sources[i], fences[i], tablet.Families{})
			}
		}
		all := reference(sources)
		m := verified(NewMerge(allModes[r.IntN(len(allModes))], opened))
		for range 5 {
			rg, f := randomRange(g), randomFamilies(g)
			if err := m.Seek(ctx, rg, f); err != nil {
				t.Fatal(err)
			}
			if r.IntN(3) == 0 { // leave in the middle
				if _, err := read(m, 2, r.IntN(5)); err != nil {
					t.Fatal(err)
				}
				continue
			}
			got := mustRead(t, m, 1+r.IntN(9))
			want := clip(all, rg, f)
			if !entriesEqual(got.entries, want) {
				t.Fatalf("%v %v: got\n%swant\n%s", rg, f, show(got.entries), show(want))
			}
			var base *tablet.Key
			if start, ok := rg.Start(); ok && start.Inclusive {
				base = &start.Key
			}
			checkCodes(t, got, base)
		}
		m.Close()
	}
}

func randomRange(g *keyMaker) tablet.Range {
	for {
		var bounds [2]*tablet.Bound
		for i := range bounds {
			if g.r.IntN(4) > 0 {
				bounds[i] = &tablet.Bound{Key: g.key(), Inclusive: g.r.IntN(2) == 0}
			}
		}
		if r, err := tablet.NewRange(bounds[0], bounds[1]); err == nil {
			return r
		}
	}
}

func randomFamilies(g *keyMaker) tablet.Families {
	names := make([][]byte, g.r.IntN(4))
	for i := range names {
		names[i] = g.key().Family()
	}
	switch g.r.IntN(3) {
	case 0:
		return tablet.OnlyFamilies(names...)
	case 1:
		return tablet.AllFamiliesBut(names...)
	}
	return tablet.Families{}
}

func clip(entries []tablet.Entry, r tablet.Range, f tablet.Families) []tablet.Entry {
	var out []tablet.Entry
	for _, e := range entries {
		if r.Contains(&e.Key) && f.Accepts(e.Key.Family()) {
			out = append(out, e)
		}
	}
	return out
}

// sameKey makes k sources of n entries each that all have one key.
func sameKey(k, n int) [][]tablet.Entry {
	key := tablet.NewKey(tablet.Fields{Row: []byte("r"), Timestamp: 1})
	out := make([][]tablet.Entry, k)
	for s := range out {
		for i := range n {
			out[s] = append(out[s], tablet.Entry{Key: key, Value: fmt.Appendf(nil, "%d/%d", s, i)})
		}
	}
	return out
}

// TestMergeDuplicates has equal keys in every source: order is by source, then position, and all codes but the first are 0.
func TestMergeDuplicates(t *testing.T) {
	for _, mode := range allModes {
		for _, k := range []int{1, 2, 3, 5, 7, 8, 9, 64, 255, 256, 1000} {
			sources := sameKey(k, 3)
			m := verified(NewMerge(mode, openSources(rand.New(rand.NewPCG(uint64(k), 1)), sources)))
			if err := m.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
				t.Fatal(err)
			}
			got := mustRead(t, m, 7)
			if !entriesEqual(got.entries, slices.Concat(sources...)) {
				t.Fatalf("%v, %d sources: got\n%s", mode, k, show(got.entries))
			}
			if i := slices.IndexFunc(got.codes[1:], func(c uint64) bool { return c != 0 }); i >= 0 {
				t.Fatalf("%v, %d sources: code %#x at %d", mode, k, got.codes[i+1], i+1)
			}
		}
	}
}

// TestMergeMost merges as many sources as there can be.
func TestMergeMost(t *testing.T) {
	if testing.Short() {
		t.Skip("65,535 sources")
	}
	key := tablet.NewKey(tablet.Fields{Row: []byte("r")})
	sources := make([]Source, maxSources)
	for i := range sources {
		sources[i] = FromEntries([]tablet.Entry{{Key: key}}, 1)
	}
	for _, mode := range allModes {
		m := NewMerge(mode, sources)
		if err := m.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
			t.Fatal(err)
		}
		runs := make([]Run, 8)
		for want := range maxSources {
			n, err := m.Fill(ctx, runs)
			if n != 1 || err != nil || int(runs[0].Src) != want {
				t.Fatalf("%v: %d runs, %v, source %d, want %d", mode, n, err, runs[0].Src, want)
			}
		}
		checkEnd(t, m)
	}
}

// TestMergeComparisons holds the costs that the modes are known by.
func TestMergeComparisons(t *testing.T) {
	keys := ingestKeys(rand.New(rand.NewPCG(1, 1)), 1<<15)
	f := func(mode Mode, stretch int, least, most float64) {
		t.Helper()
		m := NewMerge(mode, dealt(keys, 8, stretch).sources())
		if err := m.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
			t.Fatal(err)
		}
		n := drainRuns(t, m, make([]Run, 64))
		per := float64(m.Stats().Comparisons) / float64(n)
		if per < least || per > most {
			t.Errorf("%v, runs of %d: %.4f comparisons an entry, want %.3f to %.3f", mode, stretch, per, least, most)
		}
	}
	f(Old, 1, 5, 9)
	f(Old, 64, 5, 9)
	f(New, 1, 4, 9)
	f(New, 64, 0.9, 1.3)
	f(New, 1024, 0.99, 1.1)
	f(Swap, 1, 3, 7)
	f(Swap, 1024, 0.99, 1.1)
	for _, mode := range []Mode{Tree, TreeEntry} {
		f(mode, 1, 0, 0.1)
		f(mode, 1024, 0, 0.001)
	}
}

// TestMergeError wants all that is certainly before an error, then the error, and the error again.
func TestMergeError(t *testing.T) {
	boom := errors.New("boom")
	r := random(t)
	for range rounds(3_000) {
		sources := newKeyMaker(r).sources(1+r.IntN(5), 12)
		broken := r.IntN(len(sources))
		after := r.IntN(len(sources[broken]) + 1)
		opened := openSources(r, sources)
		opened[broken] = FromEntries(sources[broken], 1+r.IntN(3)).FailAfter(after, boom)
		m := NewMerge(allModes[r.IntN(len(allModes))], opened)
		err := m.Seek(ctx, tablet.Range{}, tablet.Families{})
		var got output
		if err == nil {
			got, err = read(m, 1+r.IntN(8), -1)
		}
		if !errors.Is(err, boom) {
			t.Fatalf("got %v", err)
		}
		// Exactly what comes up to the last entry that the broken source could deliver.
		sources[broken] = sources[broken][:after]
		want := reference(sources)
		last := fmt.Sprintf("%d/%d", broken, after-1)
		cut := slices.IndexFunc(want, func(e tablet.Entry) bool { return string(e.Value) == last }) + 1
		if !entriesEqual(got.entries, want[:cut]) {
			t.Fatalf("source %d failed at %d: got\n%swant\n%s", broken, after, show(got.entries), show(want[:cut]))
		}
		if _, err := m.Fill(ctx, make([]Run, 1)); !errors.Is(err, boom) {
			t.Fatalf("second time: %v", err)
		}
	}
}

// TestMergeBackwards wants an error with the source's name when it goes backwards: always where a batch ends, and inside
// batches in checking builds.
func TestMergeBackwards(t *testing.T) {
	entries := parseEntries(t, `
		a f:q [] 1 x
		c f:q [] 1 x
		b f:q [] 1 x
		d f:q [] 1 x`)
	f := func(mode Mode, batch, others int, verify bool, want string) {
		t.Helper()
		sources := []Source{FromEntries(entries, batch).Named("00000007.rf")}
		for range others {
			sources = append(sources, FromEntries(entries[:1], 1))
		}
		m := NewMerge(mode, sources)
		m.verify = m.verify || verify
		err := m.Seek(ctx, tablet.Range{}, tablet.Families{})
		if err == nil {
			_, err = read(m, 8, -1)
		}
		if !errors.Is(err, tablet.ErrCorrupt) || !strings.Contains(err.Error(), "00000007.rf") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, batches of %d, %d others: %v", mode, batch, others, err)
		}
	}
	for _, mode := range allModes {
		for others := range 3 {
			f(mode, 1, others, false, "entry 0 ")
			f(mode, 2, others, false, "entry 0 ")
			f(mode, 3, others, true, "entry 2 ")
			f(mode, 4, others, true, "entry 2 ")
		}
	}
}

// changed alters each batch of a source.
type changed struct {
	*SliceSource
	alter func(b *tablet.Batch)
}

func (c *changed) Next(ctx context.Context) (*tablet.Batch, error) {
	b, err := c.SliceSource.Next(ctx)
	if b != nil {
		c.alter(b)
	}
	return b, err
}

// TestMergeVerifies wants every lie of a source to be found in checking builds.
func TestMergeVerifies(t *testing.T) {
	entries := parseEntries(t, `
		a f:q [] 1 x
		b f:q [] 2 delete
		b f:q [] 1 x`)
	f := func(want string, r tablet.Range, alter func(b *tablet.Batch)) {
		t.Helper()
		m := verified(NewMerge(New, []Source{&changed{FromEntries(entries, 8), alter}}))
		err := m.Seek(ctx, r, tablet.Families{})
		if want == "" {
			if err != nil {
				t.Errorf("unchanged: %v", err)
			}
			return
		}
		if err == nil || !errors.Is(err, tablet.ErrCorrupt) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	all := tablet.Range{}
	f("", all, func(*tablet.Batch) {})
	f("code ", all, func(b *tablet.Batch) { b.Codes[0]++ })
	f("code ", all, func(b *tablet.Batch) { b.Codes[2] = tablet.CodeSameCell })
	f("largest code", all, func(b *tablet.Batch) { b.Facts.MaxCode-- })
	f("no marker", all, func(b *tablet.Batch) { b.Facts.Deletes = false })
	f("codes for", all, func(b *tablet.Batch) { b.Codes = b.Codes[:2] })
	f("comes after", all, func(b *tablet.Batch) { b.Refs[1], b.Refs[2] = b.Refs[2], b.Refs[1] })
	f("not asked for", tablet.ExactRow([]byte("a")), func(b *tablet.Batch) {
		k := tablet.NewKey(tablet.Fields{Row: []byte("c")})
		prev := b.Key(0)
		b.AppendKey(&k, tablet.CodeOf(&prev, &k), 0, 0)
	})
	f("without entries", all, func(b *tablet.Batch) { b.Reset() })
}

func TestMergeUsage(t *testing.T) {
	m := NewMerge(New, nil)
	f := func(what string, err error, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	_, err := m.Fill(ctx, make([]Run, 1))
	f("fill before seek", err, tablet.ErrUsage)
	f("seek", m.Seek(ctx, tablet.Range{}, tablet.Families{}), nil)
	_, err = m.Fill(ctx, nil)
	f("fill nothing", err, tablet.ErrUsage)
	checkEnd(t, m)
}

func TestMergeCancelled(t *testing.T) {
	m := NewMerge(New, openSources(rand.New(rand.NewPCG(1, 1)), sameKey(3, 3)))
	if err := m.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := m.Fill(cancelled, make([]Run, 9)); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	// Nothing was lost.
	if got := mustRead(t, m, 9); len(got.entries) != 9 {
		t.Fatalf("%d entries after a cancelled call, want 9", len(got.entries))
	}
}

func TestParseMode(t *testing.T) {
	for _, m := range allModes {
		if got, err := ParseMode(m.String()); got != m || err != nil {
			t.Errorf("%v: %v, %v", m, got, err)
		}
	}
	_, err := ParseMode("nev")
	if !errors.Is(err, tablet.ErrUsage) || !strings.Contains(err.Error(), `"new"`) {
		t.Errorf("got %v", err)
	}
}

package iter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"millrace/tablet"
)

// entriesOver is the lowest iterator over sources, with everything kept.
func entriesOver(sources ...Source) *Entries { return NewEntries(verified(NewMerge(New, sources))) }

// build puts iterators given as --iter texts on entries.
func build(t *testing.T, in []tablet.Entry, env Env, texts ...string) Iterator {
	t.Helper()
	var settings []Setting
	for _, text := range texts {
		s, err := ParseSetting(text)
		if err != nil {
			t.Fatal(err)
		}
		settings = append(settings, s)
	}
	it, err := Build(entriesOver(FromEntries(in, 2)), settings, env)
	if err != nil {
		t.Fatal(err)
	}
	return it
}

func TestEntriesEnds(t *testing.T) {
	e := entriesOver(FromEntries(parseEntries(t, "x f:q [] 9 v"), 1))
	if _, ok := e.Top(); ok {
		t.Error("a top before seek")
	}
	if err := e.Next(ctx); !errors.Is(err, tablet.ErrUsage) {
		t.Errorf("next before seek: %v", err)
	}
	if got := mustReadEntries(t, e, tablet.Range{}, tablet.Families{}); len(got) != 1 {
		t.Errorf("%d entries, want 1", len(got))
	}
	if err := e.Next(ctx); !errors.Is(err, tablet.ErrUsage) {
		t.Errorf("next after the end: %v", err)
	}
	if got := mustReadEntries(t, e, tablet.Range{}, tablet.Families{}); len(got) != 1 {
		t.Errorf("%d entries after another seek, want 1", len(got))
	}
}

func TestEntriesError(t *testing.T) {
	boom := errors.New("boom")
	e := entriesOver(FromEntries(parseEntries(t, "x f:q [] 9 v\ny f:q [] 9 v"), 1).FailAfter(1, boom))
	got, err := readEntries(e, tablet.Range{}, tablet.Families{})
	if !errors.Is(err, boom) || len(got) != 1 {
		t.Errorf("%d entries, then %v", len(got), err)
	}
	if _, ok := e.Top(); ok {
		t.Error("a top after an error")
	}
}

func TestEntriesClone(t *testing.T) {
	in := parseEntries(t, "x f:q [] 9 v\ny f:q [] 9 v")
	open := func() (RunSource, error) { return NewMerge(New, []Source{FromEntries(in, 1)}), nil }
	if _, err := entriesOver().Clone(Env{}); !errors.Is(err, tablet.ErrUnsupported) {
		t.Errorf("clone without OnClone: %v", err)
	}
	s, _ := open()
	a := NewEntries(s).OnClone(open)
	if err := a.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		t.Fatal(err)
	}
	b, err := a.Clone(Env{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the clone reads all, and can itself be cloned
		if got := mustReadEntries(t, b, tablet.Range{}, tablet.Families{}); !entriesEqual(got, in) {
			t.Errorf("clone read\n%s", show(got))
		}
		if b, err = b.Clone(Env{}); err != nil {
			t.Fatal(err)
		}
	}
	if top, _ := a.Top(); string(top.Key.Row()) != "x" {
		t.Errorf("the clone moved the original to %v", top.Key)
	}
}

func TestCloneStack(t *testing.T) {
	in := parseEntries(t, "x f:q [] 9 1\nx f:q [] 8 2\ny f:q [] 9 3")
	open := func() (RunSource, error) { return NewMerge(New, []Source{FromEntries(in, 1)}), nil }
	s, _ := open()
	below := NewEntries(s).OnClone(open)
	f := func(top Iterator, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		want := mustReadEntries(t, top, tablet.Range{}, tablet.Families{})
		other, err := below.Clone(Env{})
		if err != nil {
			t.Fatal(err)
		}
		clone, err := top.Clone(Env{Source: other})
		if err != nil {
			t.Fatal(err)
		}
		if got := mustReadEntries(t, clone, tablet.Range{}, tablet.Families{}); !entriesEqual(got, want) || len(got) != 2 {
			t.Errorf("got\n%swant\n%s", show(got), show(want))
		}
	}
	f(Build(below, []Setting{{Name: "v", Class: "VersioningIterator", Priority: 1}}, Env{}))
	f(Build(below, []Setting{{Name: "s", Class: "SummingCombiner", Priority: 1, Options: map[string]string{"all": "true", "type": "STRING"}}}, Env{}))
}

// TestVersioningIterator holds the iterator against the fused one, torn down after every entry.
func TestVersioningIterator(t *testing.T) {
	r := random(t)
	for range rounds(600) {
		g := newKeyMaker(r)
		sources := g.sources(1+r.IntN(3), 40)
		if r.IntN(4) == 0 { // few cells of many versions, so that the rest is skipped by a seek
			g.alphabet, g.longest = "a", 1
			sources = g.sources(2, 200)
		}
		most := 1 + r.IntN(3)
		want := modelVersions(reference(sources), most)
		checkTearDown(t, want, func() Iterator {
			v := &VersioningIterator{}
			err := v.Init(map[string]string{"maxVersions": fmt.Sprint(most)}, Env{Source: entriesOver(openSources(r, sources)...)})
			if err != nil {
				t.Fatal(err)
			}
			return v
		}, tablet.Families{})
	}
}

// TestVersioningSkips wants a seek in place of many steps.
func TestVersioningSkips(t *testing.T) {
	var in []tablet.Entry
	for ts := range 1000 {
		in = append(in, tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: []byte("x"), Timestamp: int64(1000 - ts)})})
	}
	in = append(in, tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: []byte("y")})})
	below := &counting{Iterator: entriesOver(FromEntries(in, 10))}
	v := &VersioningIterator{}
	if err := v.Init(nil, Env{Source: below}); err != nil {
		t.Fatal(err)
	}
	if got := mustReadEntries(t, v, tablet.Range{}, tablet.Families{}); len(got) != 2 {
		t.Fatalf("got\n%s", show(got))
	}
	if below.nexts > 2*stepsBeforeSeek+2 || below.seeks != 2 {
		t.Errorf("%d steps and %d seeks", below.nexts, below.seeks)
	}
}

type counting struct {
	Iterator
	nexts, seeks int
}

func (c *counting) Next(ctx context.Context) error {
	c.nexts++
	return c.Iterator.Next(ctx)
}

func (c *counting) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	c.seeks++
	return c.Iterator.Seek(ctx, r, f)
}

func TestSummingCombiner(t *testing.T) {
	in := `
		x f:q [] 9 3
		x f:q [] 8 4
		x f:q [] 7 delete
		x f:q [] 6 5
		x f:r [] 9 1
		x f:r [] 8 1
		x g:q [] 2 1
		x g:q [] 1 1`
	f := func(env Env, options, want string) {
		t.Helper()
		got := mustReadEntries(t, build(t, parseEntries(t, in), env, "sum=10,class=SummingCombiner,type=STRING,"+options), tablet.Range{}, tablet.Families{})
		if want := formatEntries(parseEntries(t, want)); formatEntries(got) != want {
			t.Errorf("%s: got\n%swant\n%s", options, formatEntries(got), want)
		}
	}
	f(Env{}, "all=true", `
		x f:q [] 9 7
		x f:q [] 7 delete
		x f:q [] 6 5
		x f:r [] 9 2
		x g:q [] 2 2`)
	f(Env{}, "columns=f:r", `
		x f:q [] 9 3
		x f:q [] 8 4
		x f:q [] 7 delete
		x f:q [] 6 5
		x f:r [] 9 2
		x g:q [] 2 1
		x g:q [] 1 1`)
	f(Env{}, "columns=f:r,%67", `
		x f:q [] 9 3
		x f:q [] 8 4
		x f:q [] 7 delete
		x f:q [] 6 5
		x f:r [] 9 2
		x g:q [] 2 2`)
	f(Env{Scope: Major}, "all=true,reduceOnFullCompactionOnly=true", in)
	full := `
		x f:q [] 9 7
		x f:q [] 7 delete
		x f:q [] 6 5
		x f:r [] 9 2
		x g:q [] 2 2`
	f(Env{Scope: Major, FullMajor: true}, "all=true,reduceOnFullCompactionOnly=true", full)
	f(Env{Scope: Scan}, "all=true,reduceOnFullCompactionOnly=true", full)
}

// TestSummingTearDown tears the combiner down after every entry.
func TestSummingTearDown(t *testing.T) {
	r := random(t)
	for range rounds(1_000) {
		sources := newKeyMaker(r).sources(1+r.IntN(3), 30)
		for _, s := range sources {
			for i := range s {
				s[i].Value = fmt.Append(nil, r.IntN(100))
				if s[i].Key.Deleted() {
					s[i].Value = nil
				}
			}
		}
		merged := modelDeletes(reference(sources), true)
		want := modelSums(t, merged)
		checkTearDown(t, want, func() Iterator {
			return build(t, merged, Env{}, "sum=1,class=SummingCombiner,all=true,type=STRING")
		}, tablet.Families{})
	}
}

func modelSums(t *testing.T, in []tablet.Entry) (out []tablet.Entry) {
	for i, e := range in {
		if i > 0 && !e.Key.Deleted() {
			if last := &out[len(out)-1]; !last.Key.Deleted() && tablet.SameCell(&last.Key, &e.Key) {
				var a, b int
				fmt.Sscan(string(last.Value), &a)
				fmt.Sscan(string(e.Value), &b)
				last.Value = fmt.Append(nil, a+b)
				continue
			}
		}
		out = append(out, e)
	}
	return out
}

func TestSummingTypes(t *testing.T) {
	f := func(options string, values []string, want string) {
		t.Helper()
		var in []tablet.Entry
		for i, v := range values {
			in = append(in, tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: []byte("x"), Timestamp: int64(-i)}), Value: []byte(v)})
		}
		it := build(t, in, Env{}, "sum=1,class=SummingCombiner,all=true,"+options)
		got, err := readEntries(it, tablet.Range{}, tablet.Families{})
		if bad, ok := strings.CutPrefix(want, "error "); ok {
			if err == nil || !strings.Contains(err.Error(), bad) {
				t.Errorf("%s %q: %v, want %s", options, values, err, bad)
			}
			if _, ok := it.Top(); ok {
				t.Errorf("%s %q: a top after the error", options, values)
			}
			return
		}
		if err != nil || len(got) != 1 || string(got[0].Value) != want {
			t.Errorf("%s %q: %v, got\n%swant %q", options, values, err, show(got), want)
		}
	}
	most, least := fmt.Sprint(math.MaxInt64), fmt.Sprint(math.MinInt64)
	f("type=STRING", []string{"1", "-3"}, "-2")
	f("type=STRING", []string{most, "1"}, most)
	f("type=STRING", []string{most, "1", "-1"}, fmt.Sprint(math.MaxInt64-1))
	f("type=STRING", []string{least, "-1"}, least)
	f("type=STRING", []string{least, least}, least)
	f("type=STRING", []string{least, most}, "-1")
	f("type=STRING", []string{"1", "x"}, `error value "x"`)
	f("type=STRING", []string{"1", "9223372036854775808"}, "error 9223372036854775808")
	f("type=STRING,lossy=true", []string{"1", "x", "2"}, "3")
	f("type=STRING,lossy=true", []string{"x"}, "0")
	f("type=FIXEDLEN", []string{"\x00\x00\x00\x00\x00\x00\x01\x00", "\xff\xff\xff\xff\xff\xff\xff\xff"}, "\x00\x00\x00\x00\x00\x00\x00\xff")
	f("type=FIXEDLEN", []string{"\x00"}, "error 1 bytes, not 8")
	f("type=VARLEN", []string{"\x7f", "\x01"}, "\x8f\x80")
	f("type=VARLEN", []string{"\x8f\x80", "\xff"}, "\x7f")
	f("type=VARLEN", []string{"\x01\x01"}, "error not a variable-length number")
	f("type=VARLEN", []string{""}, "error not a variable-length number")
}

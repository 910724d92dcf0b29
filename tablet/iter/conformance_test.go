package iter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"millrace/tablet"
)

// TestEveryClassHasSamples wants a description of each class, and samples that use each option.
func TestEveryClassHasSamples(t *testing.T) {
	for _, class := range Names() {
		d, ok := Describe(class)
		if !ok || d.Class != class || d.What == "" {
			t.Errorf("%s: description %+v", class, d)
		}
		used := map[string]bool{}
		for _, s := range samples {
			if s.class == class {
				used["class"] = true
				for option := range s.setting(t, 1).Options {
					used[option] = true
				}
			}
		}
		if !used["class"] {
			t.Errorf("%s has no sample", class)
		}
		for _, o := range d.Options {
			if !used[o.Name] {
				t.Errorf("%s: no sample has option %s", class, o.Name)
			}
			if o.What == "" || o.Value == "" {
				t.Errorf("%s: option %+v is not described", class, o)
			}
		}
	}
}

// TestEveryClassRefuses wants unknown and missing options refused, and a missing source.
func TestEveryClassRefuses(t *testing.T) {
	for _, s := range samples {
		set := s.setting(t, 1)
		d, _ := Describe(s.class)
		init := func(change func(opts map[string]string), env Env) error {
			opts := map[string]string{}
			for k, v := range set.Options {
				opts[k] = v
			}
			change(opts)
			return registry[s.class]().Init(opts, env)
		}
		env := sampleEnv(Scan)
		if err := init(func(map[string]string) {}, env); !errors.Is(err, tablet.ErrUsage) {
			t.Errorf("%v without a source: %v", s, err)
		}
		env.Source = entriesOver()
		if err := init(func(map[string]string) {}, env); err != nil {
			t.Errorf("%v: %v", s, err)
		}
		if err := init(func(o map[string]string) { o["no such"] = "option" }, env); !errors.Is(err, tablet.ErrUsage) || !strings.Contains(err.Error(), `no such="option"`) {
			t.Errorf("%v with an unknown option: %v", s, err)
		}
		for _, o := range d.Options {
			wrong := func(opts map[string]string) { opts[o.Name] = "?(" }
			if o.Required {
				wrong = func(opts map[string]string) { delete(opts, o.Name) }
			} else if o.Value == "TEXT" || strings.HasPrefix(o.Value, "FAMILY") {
				continue
			}
			if err := init(wrong, env); !errors.Is(err, tablet.ErrUsage) || !strings.Contains(err.Error(), o.Name) {
				t.Errorf("%v with option %s wrong or missing: %v", s, o.Name, err)
			}
		}
	}
}

// TestIteratorsAgainstModels holds every class against its model, in ranges and families, sought anew and again.
func TestIteratorsAgainstModels(t *testing.T) {
	eachCase(t, 150, func(c conformance) {
		it := c.open()
		for range 4 {
			r, f := c.someRange(), randomFamilies(c.g)
			got := inRange(mustReadEntries(t, it, r, f), r)
			c.check(fmt.Sprintf("%v of %v", r, f), got, c.want(r, f))
			if !slices.IsSortedFunc(got, func(a, b tablet.Entry) int { return tablet.Compare(&a.Key, &b.Key) }) {
				t.Fatalf("%v: not in order:\n%s", c.sample, show(got))
			}
		}
	})
}

// TestTornDownAfterEveryEntry gives the last key as an exclusive start to an iterator built anew, on sources that hold the
// same data otherwise dealt, as after a flush or a compaction.
func TestTornDownAfterEveryEntry(t *testing.T) {
	eachCase(t, 60, func(c conformance) {
		r, f := c.someRange(), randomFamilies(c.g)
		c.tearDown(1, r, f)
	})
}

// TestPagesOfAResumedScan is the same scan in pages; what is left of fully equal keys where a page ends is passed over.
func TestPagesOfAResumedScan(t *testing.T) {
	eachCase(t, 30, func(c conformance) {
		r, f := c.someRange(), randomFamilies(c.g)
		for _, page := range []int{2, 3, 7} {
			c.tearDown(page, r, f)
		}
	})
}

// TestStacksOfTwoTornDown puts one class on another, and tears both down.
func TestStacksOfTwoTornDown(t *testing.T) {
	r := random(t)
	for range rounds(3_000) {
		lower, upper := samples[r.IntN(len(samples))], samples[r.IntN(len(samples))]
		g := newKeyMaker(r)
		c := conformance{sample: lower, t: t, r: r, g: g, scope: Scope(r.IntN(3))}
		c.in = modelDeletes(reference(g.sources(2, 20)), c.scope != Scan)
		for i := range c.in {
			if !c.in[i].Key.Deleted() {
				c.in[i].Value = decimal(r)
			}
		}
		settings := []Setting{lower.setting(t, 1), upper.setting(t, 2)}
		if _, ok := settings[1].Options[typeOption]; ok {
			settings[1].Options[lossyOption] = "true" // encoded rows are no numbers
		}
		open := func() Iterator {
			it, err := Build(entriesOver(c.deal()...), settings, sampleEnv(c.scope))
			if err != nil {
				t.Fatal(err)
			}
			return it
		}
		checkTearDown(t, mustReadEntries(t, open(), tablet.Range{}, tablet.Families{}), open, tablet.Families{})
	}
}

// TestMarkersPassInCompactions counts delete markers, without which older data would come back.
func TestMarkersPassInCompactions(t *testing.T) {
	markers := func(in []tablet.Entry) (out []tablet.Entry) {
		for _, e := range in {
			if e.Key.Deleted() {
				out = append(out, e)
			}
		}
		return out
	}
	eachCase(t, 30, func(c conformance) {
		if c.scope != Scan && !c.dropsMarkers {
			got := mustReadEntries(t, c.open(), tablet.Range{}, tablet.Families{})
			c.check("markers", markers(got), markers(c.in))
		}
	})
}

// TestClonesAreIndependent reads a clone and the original in turns.
func TestClonesAreIndependent(t *testing.T) {
	eachCase(t, 15, func(c conformance) {
		open := func() (RunSource, error) { return verified(NewMerge(New, c.deal())), nil }
		s, _ := open()
		below := NewEntries(s).OnClone(open)
		original := c.build(below)
		if err := original.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
			t.Fatal(err)
		}
		other, err := below.Clone(Env{})
		if err != nil {
			t.Fatal(err)
		}
		env := sampleEnv(c.scope)
		env.Source = other
		clone, err := original.Clone(env)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := original.Clone(Env{}); !errors.Is(err, tablet.ErrUsage) {
			t.Fatalf("%v cloned without a source: %v", c.sample, err)
		}
		if _, ok := clone.Top(); ok {
			t.Fatalf("%v: a clone has been sought", c.sample)
		}
		if err := clone.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
			t.Fatal(err)
		}
		var got [2][]tablet.Entry
		for moved := true; moved; {
			moved = false
			for i, it := range []Iterator{original, clone} {
				if e, ok := it.Top(); ok {
					got[i] = append(got[i], e.Clone())
					moved = true
					if err := it.Next(ctx); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		want := c.want(tablet.Range{}, tablet.Families{})
		c.check("the original", got[0], want)
		c.check("the clone", got[1], want)
	})
}

// TestSeeksOfEmptyAndDisjointRanges seeks where nothing can be, and to before it, on iterators fresh and used.
func TestSeeksOfEmptyAndDisjointRanges(t *testing.T) {
	eachCase(t, 15, func(c conformance) {
		it := c.open()
		if err := it.Next(ctx); !errors.Is(err, tablet.ErrUsage) {
			t.Fatalf("%v: next before seek: %v", c.sample, err)
		}
		if _, ok := it.Top(); ok {
			t.Fatalf("%v: a top before seek", c.sample)
		}
		k := c.g.key()
		behind := []byte(strings.Repeat("\xff", 6000))
		empty := tablet.RowRange(tablet.RowBounds{Start: k.Row(), End: k.Row(), EndExclusive: true})
		nothing := func(r tablet.Range, f tablet.Families) {
			t.Helper()
			c.check("nothing", inRange(mustReadEntries(t, it, r, f), r), nil)
			if err := it.Next(ctx); !errors.Is(err, tablet.ErrUsage) {
				t.Fatalf("%v: next at the end: %v", c.sample, err)
			}
		}
		nothing(empty, tablet.Families{})
		nothing(tablet.RowRange(tablet.RowBounds{Start: behind}), tablet.Families{})
		nothing(tablet.Range{}, tablet.OnlyFamilies())
		nothing(tablet.Range{}, tablet.OnlyFamilies([]byte("no such family")))
		nothing(tablet.Range{}.After(tablet.RowKey(behind)), tablet.OnlyFamilies(behind))
		c.check("everything", mustReadEntries(t, it, tablet.Range{}, tablet.Families{}), c.want(tablet.Range{}, tablet.Families{}))
		to := tablet.RowRange(tablet.RowBounds{End: k.Row()})
		c.check("up to a row", inRange(mustReadEntries(t, it, to, tablet.Families{}), to), c.want(to, tablet.Families{}))
		nothing(empty, tablet.OnlyFamilies(k.Family()))
	})
}

// TestSeeksOverManySources seeks as the first call and to where sources stand already, over 0 to 64 sources, many empty.
func TestSeeksOverManySources(t *testing.T) {
	eachCase(t, 9, func(c conformance) {
		for _, n := range []int{0, 1, 2, 63, 64} {
			sources := make([]Source, n)
			for i := range sources {
				sources[i] = FromEntries(nil, 1)
			}
			few := c
			if n == 0 {
				few.in = nil
			} else {
				copy(sources[c.r.IntN(n):], []Source{FromEntries(c.in, 3)})
			}
			it := few.build(entriesOver(sources...))
			want := few.want(tablet.Range{}, tablet.Families{})
			few.check("first seek", mustReadEntries(t, it, tablet.Range{}, tablet.Families{}), want)
			for i, e := range want {
				if !c.byRow && i < 5 {
					r := tablet.Range{}.WithStart(e.Key)
					few.check("seek to an entry", mustReadEntries(t, it, r, tablet.Families{}), few.want(r, tablet.Families{}))
					few.check("and again", mustReadEntries(t, it, r, tablet.Families{}), few.want(r, tablet.Families{}))
				}
			}
		}
	})
}

// TestErrorsBelow wants an error of a source to come up, unless a seek goes past where it would be met, and no entry after
// it until the next seek.
func TestErrorsBelow(t *testing.T) {
	boom := errors.New("boom")
	eachCase(t, 9, func(c conformance) {
		if len(c.in) == 0 {
			return
		}
		it := c.build(entriesOver(FromEntries(c.in, 1).FailAfter(c.r.IntN(len(c.in)), boom)))
		got, err := readEntries(it, tablet.Range{}, tablet.Families{})
		if err == nil {
			c.check("past the error", got, c.want(tablet.Range{}, tablet.Families{}))
		} else if !errors.Is(err, boom) {
			t.Fatalf("%v: %v", c.sample, err)
		}
		if e, ok := it.Top(); ok {
			t.Fatalf("%v: a top after an error: %v", c.sample, e.Key)
		}
	})
}

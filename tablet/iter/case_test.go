package iter

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"millrace/tablet"
)

// conformance is one random case of a sample.
type conformance struct {
	sample
	t     *testing.T
	r     *rand.Rand
	g     *keyMaker
	scope Scope
	in    []tablet.Entry // what the stack below delivers
}

// eachCase runs f on random cases of every sample and scope.
func eachCase(t *testing.T, n int, f func(c conformance)) {
	r := random(t)
	for _, s := range samples {
		for i := range rounds(n) {
			c := conformance{sample: s, t: t, r: r, g: newKeyMaker(r), scope: Scope(i % 3)}
			if r.IntN(2) == 0 {
				c.g.alphabet = "ab1"
			}
			most := 40
			if r.IntN(4) == 0 { // many versions in few rows
				c.g.longest, most = 1, 120
			}
			c.in = modelDeletes(reference(c.g.sources(1+r.IntN(3), most)), c.scope != Scan)
			for j := range c.in {
				if !c.in[j].Key.Deleted() {
					c.in[j].Value = s.value(r)
				}
			}
			f(c)
		}
	}
}

// deal splits entries over several sources, so that their merge gives them back.
func (c conformance) deal() []Source {
	runs := make([][]tablet.Entry, 1+c.r.IntN(4))
	src := 0
	for i := range c.in {
		if i > 0 && tablet.Compare(&c.in[i-1].Key, &c.in[i].Key) == 0 {
			src += c.r.IntN(len(runs) - src) // equal keys: the newer source first
		} else {
			src = c.r.IntN(len(runs))
		}
		runs[src] = append(runs[src], c.in[i])
	}
	return openSources(c.r, runs)
}

func (c conformance) build(below Iterator) Iterator {
	c.t.Helper()
	it, err := Build(below, []Setting{c.setting(c.t, 1)}, sampleEnv(c.scope))
	if err != nil {
		c.t.Fatal(err)
	}
	return it
}

// open builds everything anew; the sources, too, are others each time.
func (c conformance) open() Iterator { return c.build(entriesOver(c.deal()...)) }

// want is what the sample's model has in a range.
func (c conformance) want(r tablet.Range, f tablet.Families) []tablet.Entry {
	in := clip(c.in, tablet.Range{}, f)
	if !c.beyondEnd {
		in = slices.DeleteFunc(in, func(e tablet.Entry) bool { return r.AfterEnd(&e.Key) })
	}
	return clip(c.model(in, c.scope), r, tablet.Families{})
}

// someRange is one that the sample's model knows of.
func (c conformance) someRange() tablet.Range {
	if c.r.IntN(4) == 0 {
		return tablet.Range{}
	}
	if !c.byRow {
		return randomRange(c.g)
	}
	from, to := c.g.key(), c.g.key()
	return tablet.RowRange(tablet.RowBounds{Start: from.Row(), End: to.Row(), StartExclusive: c.r.IntN(2) == 0, EndExclusive: c.r.IntN(2) == 0})
}

func (c conformance) check(what string, got, want []tablet.Entry) {
	c.t.Helper()
	if !entriesEqual(got, want) {
		c.t.Fatalf("%v in %v, %s: got\n%swant\n%sof\n%s", c.sample, c.scope, what, show(got), show(want), show(c.in))
	}
}

// inRange drops what an iterator delivers behind the end of a range, as it may.
func inRange(in []tablet.Entry, r tablet.Range) []tablet.Entry {
	return slices.DeleteFunc(in, func(e tablet.Entry) bool { return r.AfterEnd(&e.Key) })
}

func (c conformance) tearDown(page int, r tablet.Range, f tablet.Families) {
	c.t.Helper()
	want := pages(c.want(r, f), page)
	var got []tablet.Entry
	for rest := r; ; {
		it := c.open()
		if err := it.Seek(ctx, rest, f); err != nil {
			c.t.Fatal(err)
		}
		n := 0
		for ; n < page; n++ {
			e, ok := it.Top()
			if !ok || rest.AfterEnd(&e.Key) {
				c.check(fmt.Sprintf("pages of %d in %v of %v", page, r, f), got, want)
				return
			}
			got = append(got, e.Clone())
			if n+1 < page {
				if err := it.Next(ctx); err != nil {
					c.t.Fatal(err)
				}
			}
		}
		if len(got) > len(want)+page {
			c.t.Fatalf("%v: does not get on at %v", c.sample, got[len(got)-1].Key)
		}
		rest = r.After(got[len(got)-1].Key)
	}
}

// pages leaves out what is equal to the last key of a page, behind the page.
func pages(in []tablet.Entry, page int) (out []tablet.Entry) {
	for len(in) > 0 {
		n := min(page, len(in))
		out = append(out, in[:n]...)
		last := in[n-1].Key
		in = slices.DeleteFunc(slices.Clone(in[n:]), func(e tablet.Entry) bool { return tablet.Compare(&e.Key, &last) == 0 })
	}
	return out
}

//go:build accumulo

package accumulo

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"millrace/tablet"
	"millrace/tablet/rfile"
)

// TestTheirs has Accumulo write entries of its own making in every codec, block size and grouping, some with a Bloom
// filter and a sample. Our reader must find what was written, and our writer must make the same file of it.
func TestTheirs(t *testing.T) {
	eachRelease(t, func(t *testing.T, r *release) {
		turn := 0
		for _, codec := range r.judge.codecs {
			for i, size := range sizes {
				for j, groups := range javaGroupings {
					if codec != "none" && codec != "gz" && (i+j)%len(javaGroupings) != 0 {
						continue // every size and every grouping, if not with each other
					}
					s := settings{codec: codec, block: size[0], index: size[1], groups: groups}.extras(turn)
					if s.bloom != nil && turn%2 == 0 {
						s.bloom.Hash = jenkins
					}
					number := fmt.Sprint(seed + turn)
					t.Run(s.String(), func(t *testing.T) {
						path := newPath(t)
						n := fmt.Sprint(fewer(3000, s))
						want := r.judge.count(t, append([]string{"write", path, number, n}, s.words()...)...)
						theirs(t, r, path, "theirs: "+s.String(), want, s)
					})
					turn++
				}
			}
		}
	})
}

// TestTheirsMillion is the same for a million entries and the default block sizes, written by the newest release.
func TestTheirsMillion(t *testing.T) {
	n := "1000000"
	if testing.Short() {
		n = "50000"
	}
	s := settings{codec: "none", block: rfile.DefaultBlockBytes, index: rfile.DefaultIndexBlockBytes, groups: javaGroupings[2]}
	eachRelease(t, func(t *testing.T, r *release) {
		if r != releases()[0] {
			t.Skip("one release is enough")
		}
		path := newPath(t)
		want := r.judge.count(t, append([]string{"write", path, "1", n}, s.words()...)...)
		theirs(t, r, path, "theirs: a million, "+s.String(), want, s)
	})
}

// TestCopied has Accumulo copy files that we wrote, of entries that are hard on an encoder; it must come to the bytes
// that we come to.
func TestCopied(t *testing.T) {
	eachRelease(t, func(t *testing.T, r *release) {
		rng := rand.New(rand.NewPCG(seed, 4))
		rounds := 60
		if testing.Short() {
			rounds = 20
		}
		for round := range rounds {
			size := sizes[rng.IntN(len(sizes))]
			s := settings{codec: "none", block: size[0], index: size[1], groups: groupings[rng.IntN(len(groupings))]}
			s = s.extras(round)
			if round%4 == 3 {
				s.block, s.index = 1+rng.IntN(400), 1+rng.IntN(400)
			}
			all := hostile(rng, 1+rng.IntN(800))
			if round%10 == 9 {
				all = bulky(rng, 100)
			}
			from := write(t, settings{codec: "gz", bcfile: 1, block: 5000, index: 1000}, all)
			what := fmt.Sprintf("round %d, %v", round, s)
			t.Run(what, func(t *testing.T) { copied(t, r, from, "copied: "+what, s) })
		}
		for path, g := range goldens(t, "../testdata/golden") {
			if slices.Contains(r.reads, int(g.BCFile[0])) && slices.Contains(r.judge.codecs, g.Codec) {
				s := settings{codec: "none", block: 1000, index: 400}
				t.Run(g.File, func(t *testing.T) { copied(t, r, path, "copied: "+g.File, s) })
			}
		}
	})
}

func copied(t *testing.T, r *release, from, what string, s settings) {
	t.Helper()
	path := newPath(t)
	want := r.judge.count(t, append([]string{"copy", from, path}, s.words()...)...)
	theirs(t, r, path, what, want, s)
}

// jenkins is the hash that our reader knows and our writer does not.
const jenkins = "jenkins"

// randomised is what our reader says of a bzip2 block in a mode that the C library never writes. Hadoop's compressor in
// Java does, on very repetitive data; Accumulo as it is cannot use that one, only the judge can, see Bzip2Codec.java.
const randomised = "deprecated randomized files"

// theirs holds a file of Accumulo's against what it says it wrote, and against what our writer makes of the same entries.
func theirs(t *testing.T, r *release, path, what string, want count, s settings) {
	t.Helper()
	f := open(t, path)
	ok := true
	if _, err := f.Verify(context.Background(), rfile.VerifyOptions{}); err != nil {
		if s.codec == "bzip2" && strings.Contains(err.Error(), randomised) {
			t.Logf("%-7s %-72s %8d entries  not read: %s", r.version, what, want.entries, randomised)
			return
		}
		t.Errorf("%s: %v", what, err)
		ok = false
	}
	if got := merged(t, f, f.Groups()); got != want {
		t.Errorf("%s: we read %+v, Accumulo %s wrote %+v", what, got, r.version, want)
		ok = false
	}
	ok = sampled(t, r, path, what, s) && ok
	all := entriesIn(t, f)
	rng := rand.New(rand.NewPCG(seed, 5))
	ok = seeks(t, r.judge, path, all, lookups(rng, all, familiesOf(f), 60)) && ok
	ok = same(t, r, path, what, f, s) && ok
	report(t, r, what, want.entries, ok)
}

// TestLowestKey pins what Accumulo makes of the lowest key there can be, a delete marker of the empty key at the greatest
// timestamp: its writer refuses it, as if it came out of order, and its reader returns it.
func TestLowestKey(t *testing.T) {
	all := []tablet.Entry{
		{Key: tablet.NewKey(tablet.Fields{Timestamp: math.MaxInt64, Deleted: true})},
		{Key: tablet.NewKey(tablet.Fields{Timestamp: math.MaxInt64})},
		{Key: tablet.NewKey(tablet.Fields{Row: []byte("r")})},
	}
	path := write(t, settings{codec: "gz", bcfile: 1, block: 1000, index: 1000}, all)
	eachRelease(t, func(t *testing.T, r *release) {
		if got := r.judge.count(t, "read", path); got != tally(all) {
			t.Errorf("Accumulo %s reads %+v, want %+v", r.version, got, tally(all))
		}
		if _, err := r.judge.ask("copy", path, newPath(t), "codec=gz"); err == nil {
			t.Errorf("Accumulo %s writes it", r.version)
		} else {
			t.Log(err)
		}
	})
}

// TestEmptyKeys is a block that began with an empty key, over its size but not by a tenth: the mean key size is 0 then,
// which to Accumulo is no mean yet, and it asks again at the next key.
func TestEmptyKeys(t *testing.T) {
	all := []tablet.Entry{
		{Key: tablet.NewKey(tablet.Fields{}), Value: make([]byte, 91)},
		{Key: tablet.NewKey(tablet.Fields{Row: []byte("bb")})},
		{Key: tablet.NewKey(tablet.Fields{Row: []byte("z")})},
		{Key: tablet.NewKey(tablet.Fields{Row: []byte("zz")})},
	}
	from := write(t, settings{codec: "gz", bcfile: 1, block: 1000, index: 1000}, all)
	eachRelease(t, func(t *testing.T, r *release) {
		copied(t, r, from, "copied: empty keys first", settings{codec: "none", block: 100, index: 100})
	})
}

// TestMeanSize has rows of several versions, so that index keys cannot be shortened, and sizes whose mean now and then is
// a whole number: there the last bit of the mean decides whether a key of just that size ends a block.
func TestMeanSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	var all []tablet.Entry
	for i := range 60_000 {
		row := append(fmt.Appendf(nil, "%07d", i), "xxxx"[:rng.IntN(5)]...)
		for v := range 1 + rng.IntN(6) {
			all = append(all, tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: row, Timestamp: int64(-v)}), Value: []byte("v")})
		}
	}
	from := write(t, settings{codec: "gz", bcfile: 1, block: 5000, index: 1000}, all)
	eachRelease(t, func(t *testing.T, r *release) {
		copied(t, r, from, "copied: sizes about their mean", settings{codec: "none", block: 100, index: 10_000})
	})
}

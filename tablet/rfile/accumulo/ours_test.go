//go:build accumulo

package accumulo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"millrace/tablet"
	"millrace/tablet/rfile"
)

const seed = 20261130

// judged has our reader check a file, and Accumulo read it in both of its ways and answer seeks; it prints a line.
func judged(t *testing.T, r *release, path, what string, s settings, all []tablet.Entry, families []string, n int) {
	t.Helper()
	ok := true
	want := tally(all)
	if _, err := open(t, path).Verify(context.Background(), rfile.VerifyOptions{}); err != nil {
		t.Errorf("%s: %v", what, err)
		ok = false
	}
	for _, way := range []string{"read", "scan"} {
		if got := r.judge.count(t, way, path); got != want {
			t.Errorf("%s: %s: Accumulo %s returns %+v, want %+v", what, way, r.version, got, want)
			ok = false
		}
	}
	ok = sampled(t, r, path, what, s) && ok
	rng := rand.New(rand.NewPCG(seed, uint64(want.entries)))
	ok = seeks(t, r.judge, path, all, lookups(rng, all, families, n)) && ok
	report(t, r, what, want.entries, ok)
}

// sampled says whether Accumulo and we find the same sample in a file, if it was to have one.
func sampled(t *testing.T, r *release, path, what string, s settings) bool {
	t.Helper()
	if s.sampler == nil {
		return true
	}
	f := open(t, path)
	got, want := merged(t, f, f.Samples()), r.judge.count(t, append([]string{"sample", path}, s.words()...)...)
	if got != want {
		t.Errorf("%s: sample: we read %+v, Accumulo %+v", what, got, want)
		return false
	}
	return true
}

func report(t *testing.T, r *release, what string, entries int64, ok bool) {
	t.Helper()
	verdict := "ok"
	if !ok {
		verdict = "NOT OK"
	}
	t.Logf("%-7s %-72s %8d entries  %s", r.version, what, entries, verdict)
}

var hostileFamilies = []string{"f", "ff", "", "\x00", "\xff", "z", "nobody"}

// TestOurs writes every codec, container version, with and without sums, in all block sizes, groupings and kinds of
// entries in turn, and wants Accumulo to return exactly what was written.
func TestOurs(t *testing.T) {
	kinds := []struct {
		name string
		make func(*rand.Rand, int) []tablet.Entry
		n    int
	}{{"hostile", hostile, 500}, {"orderly", orderly, 6000}, {"bulky", bulky, 120}}
	eachRelease(t, func(t *testing.T, r *release) {
		wantCodecs(t, r, "none", "gz", "snappy")
		if r.bcfile == 3 {
			wantCodecs(t, r, "lz4", "zstd", "bzip2")
		}
		rng := rand.New(rand.NewPCG(seed, 1))
		turn := 0
		for _, codec := range r.judge.codecs {
			for _, size := range sizes {
				for _, bcfile := range r.reads {
					for _, sums := range []bool{false, true} {
						if !canWrite(codec) {
							continue
						}
						kind := kinds[turn%len(kinds)]
						s := settings{codec: codec, bcfile: bcfile, sums: sums, block: size[0], index: size[1], groups: groupings[turn/len(kinds)%len(groupings)]}.extras(turn)
						all := kind.make(rng, fewer(kind.n, s))
						what := kind.name + " " + s.String()
						t.Run(what, func(t *testing.T) {
							judged(t, r, write(t, s, all), "ours: "+what, s, all, hostileFamilies, 60)
						})
						turn++
					}
				}
			}
		}
	})
}

// TestOursLevels wants small blocks to make indexes of three levels and more, so that TestOurs tests them.
func TestOursLevels(t *testing.T) {
	all := orderly(rand.New(rand.NewPCG(seed, 1)), 6000)
	for i, least := range []int{0, 2, 1, 3, 4} {
		path := write(t, settings{codec: "none", bcfile: 1, block: sizes[i][0], index: sizes[i][1]}, all)
		if level := open(t, path).Groups()[0].IndexLevel(); level < least {
			t.Errorf("blocks of %v: the root is of level %d, want %d at least", sizes[i], level, least)
		}
	}
}

// TestOursMillion writes a million entries in five groups with the default block sizes.
func TestOursMillion(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n = 50_000
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	all := orderly(rng, n)
	s := settings{codec: "gz", bcfile: 1, sums: true, block: rfile.DefaultBlockBytes, index: rfile.DefaultIndexBlockBytes,
		groups: []group{{"one", []string{"f"}}, {"two", []string{"ff", "nobody"}}},
		bloom:  &rfile.BloomOptions{Functor: "RowFunctor", Hash: "murmur"}}
	path := write(t, s, all)
	eachRelease(t, func(t *testing.T, r *release) {
		judged(t, r, path, "ours: a million, "+s.String(), s, all, hostileFamilies, 3000)
	})
}

// TestOursEmpty writes what has no entries: no group at all, an empty default group, an empty named one.
func TestOursEmpty(t *testing.T) {
	eachRelease(t, func(t *testing.T, r *release) {
		for _, s := range []settings{
			{noDefault: true},
			{},
			{groups: []group{{"g", []string{"f", "ff"}}}},
			{groups: []group{{"g", []string{"f", "ff"}}}, noDefault: true},
		} {
			for _, bcfile := range r.reads {
				s.codec, s.bcfile, s.block, s.index = "gz", bcfile, 1000, 1000
				judged(t, r, write(t, s, nil), "ours: empty "+s.String(), s, nil, hostileFamilies, 5)
			}
		}
	})
}

// TestOursFamilies writes as many families as the default group lists, and one more.
func TestOursFamilies(t *testing.T) {
	eachRelease(t, func(t *testing.T, r *release) {
		for _, n := range []int{1000, 1001, 1002} {
			var all []tablet.Entry
			var families []string
			for i := range n {
				families = append(families, fmt.Sprintf("family%04d", i))
				all = append(all, tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: []byte("r"), Family: []byte(families[i])}), Value: []byte("v")})
			}
			s := settings{codec: "gz", bcfile: 1, sums: true, block: 1000, index: 1000}
			judged(t, r, write(t, s, all), fmt.Sprintf("ours: %d families, %v", n, s), s, all, families, 60)
		}
	})
}

// TestContainer3 holds the one thing that a release refuses against what we say of it.
func TestContainer3(t *testing.T) {
	all := orderly(rand.New(rand.NewPCG(seed, 3)), 100)
	path := write(t, settings{codec: "gz", bcfile: 3, block: 1000, index: 1000}, all)
	eachRelease(t, func(t *testing.T, r *release) {
		_, err := r.judge.ask("read", path)
		if reads := slices.Contains(r.reads, 3); reads != (err == nil) {
			t.Errorf("Accumulo %s reads a BCFile 3: %v, want %v (%v)", r.version, err == nil, reads, err)
		}
	})
}

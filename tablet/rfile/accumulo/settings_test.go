//go:build accumulo

package accumulo

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"millrace/tablet/rfile"
)

// group is a named locality group.
type group struct {
	name     string
	families []string
}

// settings are how one file is written, by either side.
type settings struct {
	codec        string
	bcfile       int  // ours only: Accumulo has no choice
	sums         bool // ours only
	block, index int
	groups       []group
	noDefault    bool // no default group behind the named ones
	bloom        *rfile.BloomOptions
	sampler      *rfile.Sampler
}

func (s settings) String() string {
	text := fmt.Sprintf("%s blocks %d/%d groups %d", s.codec, s.block, s.index, len(s.groups))
	if !s.noDefault {
		text += "+1"
	}
	if s.bcfile != 0 {
		text += fmt.Sprintf(" BCFile %d", s.bcfile)
	}
	if s.sums {
		text += " sums"
	}
	if s.bloom != nil {
		text += " " + s.bloom.Functor + " " + s.bloom.Hash
	}
	if s.sampler != nil {
		text += " " + s.sampler.Class + " " + s.sampler.Options["hasher"]
	}
	return text
}

// words are the settings as the judge takes them.
func (s settings) words() []string {
	w := []string{"codec=" + s.codec, fmt.Sprint("block=", s.block), fmt.Sprint("index=", s.index)}
	var groups []string
	for _, g := range s.groups {
		var families []string
		for _, f := range g.families {
			families = append(families, hex.EncodeToString([]byte(f)))
		}
		groups = append(groups, hex.EncodeToString([]byte(g.name))+":"+strings.Join(families, ","))
	}
	w = append(w, "groups="+strings.Join(groups, ";"))
	if s.noDefault {
		w = append(w, "default=false")
	}
	if s.bloom != nil {
		w = append(w, fmt.Sprintf("bloom=%s,%s,%d", s.bloom.Functor, s.bloom.Hash, s.bloom.Keys))
	}
	if s.sampler != nil {
		sample := "sample=" + s.sampler.Class
		for option, value := range s.sampler.Options {
			sample += "," + option + ":" + value
		}
		w = append(w, sample)
	}
	return w
}

// options are the settings as our writer takes them.
func (s settings) options() rfile.WriterOptions {
	return rfile.WriterOptions{Codec: s.codec, BlockBytes: s.block, IndexBlockBytes: s.index, BCFile: s.bcfile, NoSums: !s.sums,
		Bloom: s.bloom, Sampler: s.sampler}
}

// sizes are block and index block sizes: the defaults, sizes that make three levels and more of a small file, and those
// that cut at every turn.
var sizes = [][2]int{{102400, 131072}, {1000, 400}, {4096, 1000}, {64, 64}, {1, 1}}

// fewer is a number of entries, cut down where nearly each of them makes a block.
func fewer(n int, s settings) int {
	if s.block < 100 && n > 1000 {
		return n / 4
	}
	return n
}

// groupings for the families of hostile entries, which are "", "f", "ff", "\x00" and "\xff".
var groupings = [][]group{
	nil,
	{{"g", []string{"f"}}},
	{{"one", []string{"f", "ff"}}, {"two", []string{""}}, {"empty", []string{"nobody", "no one"}}},
	{{"nul\x00 and 😀", []string{"\xff"}}, {"b", []string{"\x00"}}, {"c", []string{"f"}}, {"d", []string{"ff"}}},
}

// javaGroupings are the same for the entries that the judge makes up.
var javaGroupings = [][]group{
	nil,
	{{"one", []string{"a", "cf"}}, {"two", []string{"b"}}, {"empty", []string{"nobody"}}},
	{{"a", []string{"a"}}, {"b", []string{"b"}}, {"c", []string{"cf", "cf:long family name"}}},
}

// extras gives every few files a Bloom filter, a sample or both, of all kinds in turn. Keys are few, so that filters have
// several rows.
func (s settings) extras(turn int) settings {
	if turn%3 == 1 {
		functors := []string{"RowFunctor", "ColumnFamilyFunctor", "ColumnQualifierFunctor"}
		s.bloom = &rfile.BloomOptions{Keys: 100 + turn, Functor: functors[turn/3%len(functors)], Hash: "murmur"}
	}
	if turn%4 == 2 {
		hashers := []string{"murmur3_32", "md5", "sha1"}
		s.sampler = &rfile.Sampler{Class: "RowSampler", Options: map[string]string{"hasher": hashers[turn/4%len(hashers)], "modulus": "3"}}
		if turn%8 == 2 {
			s.sampler.Class = "RowColumnSampler"
			s.sampler.Options["row"], s.sampler.Options["qualifier"] = "true", "true"
		}
	}
	return s
}

// canWrite leaves out what our writer has no compressor for.
func canWrite(codec string) bool { return codec != "bzip2" }

// wantCodecs fails the test if a codec that a release should know did not come up here.
func wantCodecs(t *testing.T, r *release, codecs ...string) {
	t.Helper()
	for _, c := range codecs {
		if !slices.Contains(r.judge.codecs, c) {
			t.Errorf("Accumulo %s: codec %s did not work here; it has %v", r.version, c, r.judge.codecs)
		}
	}
}

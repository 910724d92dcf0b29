package iter

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"millrace/tablet"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 takes one from the clock")

var roundsFlag = flag.Int("n", 0, "rounds of each random test; 0 leaves it to the test")

var ctx = context.Background()

// random returns a generator and logs its seed.
func random(t testing.TB) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// rounds is n, or a tenth with -short, or what the flag says.
func rounds(n int) int {
	if *roundsFlag > 0 {
		return *roundsFlag
	}
	if testing.Short() {
		return n / 10
	}
	return n
}

var alphabets = []string{"\x00\x01", "\x00\xff", "a", "ab", "\x00a\xff"}

var timestamps = []int64{math.MaxInt64, math.MaxInt64 - 1, 1 << 40, 256, 2, 1, 0, -1, -1 << 41, math.MinInt64 + 1, math.MinInt64}

// keyMaker makes adversarial keys: fields that are empty, prefixes of each other and of equal concatenations, timestamps
// at both extremes.
type keyMaker struct {
	r        *rand.Rand
	alphabet string
	longest  int
	markers  bool
	known    []tablet.Key
}

func newKeyMaker(r *rand.Rand) *keyMaker {
	return &keyMaker{r: r, alphabet: alphabets[r.IntN(len(alphabets))], longest: 1 + r.IntN(8), markers: r.IntN(3) > 0}
}

func (g *keyMaker) field() []byte {
	n := g.r.IntN(g.longest + 1)
	if g.r.IntN(2000) == 0 {
		n = 5100 + g.r.IntN(30) // about where the chunk number saturates
	}
	f := make([]byte, n)
	for i := range f {
		f[i] = g.alphabet[g.r.IntN(len(g.alphabet))]
		if n > 1000 && i < 5090 {
			f[i] = g.alphabet[0]
		}
	}
	return f
}

// key makes a key; a third of them are known already, a third share some fields with a known one.
func (g *keyMaker) key() tablet.Key {
	if n := len(g.known); n > 0 && g.r.IntN(3) == 0 {
		return g.known[g.r.IntN(n)]
	}
	f := tablet.Fields{Row: g.field(), Family: g.field(), Qualifier: g.field(), Visibility: g.field()}
	if n := len(g.known); n > 0 && g.r.IntN(2) == 0 {
		like := g.known[g.r.IntN(n)]
		f.Row = like.Row()
		if g.r.IntN(4) > 0 {
			f.Family = like.Family()
		}
		if g.r.IntN(4) > 0 {
			f.Qualifier = like.Qualifier()
		}
		if g.r.IntN(4) > 0 {
			f.Visibility = like.Visibility()
		}
	}
	f.Timestamp = timestamps[g.r.IntN(len(timestamps))]
	f.Deleted = g.markers && g.r.IntN(5) == 0
	k := tablet.NewKey(f)
	g.known = append(g.known, k)
	return k
}

// sources makes k sorted runs. Each value names the source and the position.
func (g *keyMaker) sources(k, most int) [][]tablet.Entry {
	out := make([][]tablet.Entry, k)
	for s := range out {
		n := g.r.IntN(most + 1)
		for range n {
			out[s] = append(out[s], tablet.Entry{Key: g.key()})
		}
		slices.SortStableFunc(out[s], func(a, b tablet.Entry) int { return tablet.Compare(&a.Key, &b.Key) })
		for i := range out[s] {
			out[s][i].Value = fmt.Appendf(nil, "%d/%d", s, i)
		}
	}
	return out
}

// reference merges by one stable sort.
func reference(sources [][]tablet.Entry) []tablet.Entry {
	all := slices.Concat(sources...)
	slices.SortStableFunc(all, func(a, b tablet.Entry) int { return tablet.Compare(&a.Key, &b.Key) })
	return all
}

// output is what a run source delivered: copies of the entries, and the code of each.
type output struct {
	entries []tablet.Entry
	codes   []uint64
}

// read drains a run source by vectors of a given length, until the end or n entries (-1 all).
func read(s RunSource, vector, n int) (output, error) {
	var out output
	runs := make([]Run, vector)
	for {
		got, err := s.Fill(ctx, runs)
		if err != nil || got == 0 {
			return out, err
		}
		for _, r := range runs[:got] {
			b := s.Batch(r.Src)
			for i := r.Lo; i < r.Hi; i++ {
				if len(out.entries) == n {
					return out, nil
				}
				code := b.Codes[i]
				if i == r.Lo {
					code = r.Code
				}
				out.entries = append(out.entries, b.Entry(int(i)).Clone())
				out.codes = append(out.codes, code)
			}
		}
	}
}

func mustRead(t *testing.T, s RunSource, vector int) output {
	t.Helper()
	out, err := read(s, vector, -1)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// entriesEqual compares keys and values in order.
func entriesEqual(a, b []tablet.Entry) bool {
	return slices.EqualFunc(a, b, func(x, y tablet.Entry) bool {
		return tablet.Compare(&x.Key, &y.Key) == 0 && bytes.Equal(x.Value, y.Value)
	})
}

func show(entries []tablet.Entry) string {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "  %v = %s\n", e.Key, e.Value)
	}
	return b.String()
}

// checkCodes compares codes with direct computation. base is what the first is against, nil the empty key.
func checkCodes(t *testing.T, out output, base *tablet.Key) {
	t.Helper()
	for i := range out.entries {
		k := &out.entries[i].Key
		want := tablet.CodeOfFirst(k)
		if base != nil {
			want = tablet.CodeOf(base, k)
		}
		if out.codes[i] != want {
			t.Fatalf("code of entry %d is %#x, want %#x, of\n%s", i, out.codes[i], want, show(out.entries[:i+1]))
		}
		base = k
	}
}

// openSources makes sources with random batch sizes.
func openSources(r *rand.Rand, entries [][]tablet.Entry) []Source {
	out := make([]Source, len(entries))
	for i, e := range entries {
		out[i] = FromEntries(e, 1+r.IntN(len(e)+1)).Named(fmt.Sprintf("run %d", i))
	}
	return out
}

// verified turns the checks of checking builds on.
func verified(m *Merge) *Merge {
	m.verify = true
	return m
}

// parseEntries reads "row family:qualifier [visibility] timestamp value" lines; "-" is an empty field, and the word
// delete in place of a value makes a marker.
func parseEntries(t *testing.T, text string) []tablet.Entry {
	t.Helper()
	var out []tablet.Entry
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		var row, column, label, value string
		var ts int64
		if _, err := fmt.Sscanf(line, "%s %s %s %d %s", &row, &column, &label, &ts, &value); err != nil {
			t.Fatalf("entry %q: %v", line, err)
		}
		family, qualifier, _ := strings.Cut(column, ":")
		label = strings.Trim(label, "[]")
		f := tablet.Fields{Row: []byte(row), Family: []byte(family), Qualifier: []byte(qualifier), Visibility: []byte(label), Timestamp: ts}
		e := tablet.Entry{Value: []byte(value)}
		if value == "delete" {
			f.Deleted, e.Value = true, nil
		}
		e.Key = tablet.NewKey(f)
		out = append(out, e)
	}
	return out
}

// formatEntries is the inverse of parseEntries.
func formatEntries(entries []tablet.Entry) string {
	var b strings.Builder
	for _, e := range entries {
		value := string(e.Value)
		if e.Key.Deleted() {
			value = "delete"
		}
		fmt.Fprintf(&b, "%s %s:%s [%s] %d %s\n", e.Key.Row(), e.Key.Family(), e.Key.Qualifier(), e.Key.Visibility(), e.Key.Timestamp(), value)
	}
	return b.String()
}

package rfile

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"millrace/tablet"
)

// randomEntries makes sorted entries that are hard on an encoder: fields of few bytes values, empty and nested ones,
// extreme timestamps, delete markers, equal keys in a row.
func randomEntries(rng *rand.Rand, n int, alphabet string, families []string) []tablet.Entry {
	field := func(most int) []byte {
		b := make([]byte, rng.IntN(most+1))
		for i := range b {
			b[i] = alphabet[rng.IntN(len(alphabet))]
		}
		return b
	}
	times := []int64{math.MinInt64, math.MaxInt64, 0, -1, 1, 1_700_000_000_000}
	var all []tablet.Entry
	for range n {
		ts := times[rng.IntN(len(times))]
		if rng.IntN(2) == 0 {
			ts = rng.Int64() - rng.Int64()
		}
		all = append(all, tablet.Entry{
			Key: tablet.NewKey(tablet.Fields{Row: field(12), Family: []byte(families[rng.IntN(len(families))]), Qualifier: field(3),
				Visibility: field(2), Timestamp: ts, Deleted: rng.IntN(8) == 0}),
			Value: field(40),
		})
		for rng.IntN(10) == 0 {
			again := all[len(all)-1].Clone()
			again.Value = field(5)
			all = append(all, again)
		}
	}
	sortEntries(all)
	return all
}

func sortEntries(all []tablet.Entry) {
	slices.SortStableFunc(all, func(a, b tablet.Entry) int { return tablet.Compare(&a.Key, &b.Key) })
}

// writeGroups writes entries into groups, the last one the default group if its families are nil.
func writeGroups(t testing.TB, o WriterOptions, all []tablet.Entry, groups [][]string) ([]byte, tablet.FileMeta) {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, o)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for i, group := range groups {
		var families [][]byte
		for _, f := range group {
			families = append(families, []byte(f))
			named[f] = true
		}
		if group == nil {
			err = w.StartDefaultGroup()
		} else {
			err = w.StartGroup(fmt.Sprint("g", i), families)
		}
		if err != nil {
			t.Fatal(err)
		}
		for j := range all {
			f := string(all[j].Key.Family())
			if group == nil && named[f] || group != nil && !slices.Contains(group, f) {
				continue
			}
			if err := w.Append(&all[j].Key, all[j].Value); err != nil {
				t.Fatal(err)
			}
		}
	}
	meta, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), meta
}

func sameEntries(t testing.TB, what string, got, want []tablet.Entry) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if tablet.Compare(&got[i].Key, &want[i].Key) != 0 || !bytes.Equal(got[i].Value, want[i].Value) {
			t.Fatalf("%s: entry %d is %v, want %v", what, i, got[i].Key, want[i].Key)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d entries, want %d", what, len(got), len(want))
	}
}

// TestRoundTrip writes random entries in every codec, many block sizes and groupings, and reads them back.
func TestRoundTrip(t *testing.T) {
	const seed = 20261130
	rng := rand.New(rand.NewPCG(seed, 1))
	alphabets := []string{"\x00\x01", "\x00\xff", "a", "ab\x00\xff\x7f", "0123456789abcdef"}
	groupings := [][][]string{{nil}, {{"f"}, nil}, {{"f", "ff"}, {""}, nil}, {{"f"}, {"ff"}, {""}, nil}, {{"nobody"}, nil}}
	rounds := 120
	if testing.Short() {
		rounds = 30
	}
	for round := range rounds {
		o := WriterOptions{
			Codec:           []string{"none", "gz", "snappy", "lz4", "zstd"}[round%5],
			BlockBytes:      []int{1, 64, 100, 1000, 30000}[rng.IntN(5)],
			IndexBlockBytes: []int{1, 64, 300, 5000}[rng.IntN(4)],
			BCFile:          []int{1, 3}[rng.IntN(2)],
			NoSums:          rng.IntN(3) == 0,
		}
		groups := groupings[rng.IntN(len(groupings))]
		families := []string{"f", "ff", "", "\x00", "\xff"}
		all := randomEntries(rng, rng.IntN(400), alphabets[rng.IntN(len(alphabets))], families)
		file, meta := writeGroups(t, o, all, groups)
		what := fmt.Sprintf("seed %d round %d: %+v, %d groups, %d entries", seed, round, o, len(groups), len(all))
		r := readBytes(t, file)
		if meta.Entries != int64(len(all)) || meta.Bytes != int64(len(file)) {
			t.Fatalf("%s: meta %+v", what, meta)
		}
		var back []tablet.Entry
		for _, g := range r.Groups() {
			back = append(back, collect(t, r, g, 1+rng.IntN(300), tablet.Range{}, tablet.Families{})...)
		}
		sortEntries(back)
		sameEntries(t, what, back, all)
		if _, err := verifyAll(context.Background(), r); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		checkMeta(t, what, meta, all)
	}
}

func checkMeta(t *testing.T, what string, m tablet.FileMeta, all []tablet.Entry) {
	t.Helper()
	if len(all) == 0 {
		if m.FirstRow != nil || m.LastRow != nil {
			t.Fatalf("%s: rows %q to %q of an empty file", what, m.FirstRow, m.LastRow)
		}
		return
	}
	oldest, newest, deletes := int64(math.MaxInt64), int64(math.MinInt64), int64(0)
	for _, e := range all {
		oldest, newest = min(oldest, e.Key.Timestamp()), max(newest, e.Key.Timestamp())
		if e.Key.Deleted() {
			deletes++
		}
	}
	if !bytes.Equal(m.FirstRow, all[0].Key.Row()) || !bytes.Equal(m.LastRow, all[len(all)-1].Key.Row()) ||
		m.MinTimestamp != oldest || m.MaxTimestamp != newest || m.Deletes != deletes || !m.TimestampsKnown {
		t.Fatalf("%s: meta %+v", what, m)
	}
}

// TestSeek holds every seek against a linear scan: to each key, just before and after it, past the end, backwards, with
// and without an end and with families.
func TestSeek(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, o := range []WriterOptions{
		{Codec: "none", BlockBytes: 64, IndexBlockBytes: 100},
		{Codec: "lz4", BlockBytes: 500, IndexBlockBytes: 64},
		{Codec: "gz", BlockBytes: 1, IndexBlockBytes: 1},
		{Codec: "snappy"},
	} {
		all := randomEntries(rng, 200, "ab\x00\xff", []string{"f", "ff", ""})
		file, _ := writeGroups(t, o, all, [][]string{nil})
		r := readBytes(t, file)
		g := r.Groups()[0]
		c := r.Cursor(g, CursorOptions{BatchEntries: 5})
		seek := func(rng tablet.Range, f tablet.Families) {
			t.Helper()
			var want []tablet.Entry
			for _, e := range all {
				if rng.Contains(&e.Key) && f.Accepts(e.Key.Family()) {
					want = append(want, e)
				}
			}
			if err := c.Seek(context.Background(), rng, f); err != nil {
				t.Fatal(err)
			}
			sameEntries(t, fmt.Sprintf("%s blocks of %d, %v", o.Codec, o.BlockBytes, rng), drain(t, c, rng), want)
		}
		for _, i := range rng.Perm(len(all)) { // forwards and backwards
			k := all[i].Key
			end := all[min(i+rng.IntN(20), len(all)-1)].Key
			for _, f := range []tablet.Families{{}, tablet.OnlyFamilies([]byte("ff")), tablet.AllFamiliesBut([]byte("f"), []byte("x"))} {
				seek(tablet.Range{}.WithStart(k), f)
				seek(tablet.Range{}.After(k), f)
				bounded, err := tablet.NewRange(&tablet.Bound{Key: k, Inclusive: true}, &tablet.Bound{Key: end, Inclusive: true})
				if err != nil {
					t.Fatal(err)
				}
				seek(bounded, f)
			}
			seek(tablet.Exact(k.Row()), tablet.Families{})
			seek(tablet.Exact(k.Row(), k.Family(), k.Qualifier()), tablet.Families{})
			seek(tablet.Prefix(k.Row()), tablet.Families{})
		}
		seek(tablet.Range{}, tablet.Families{})
		seek(tablet.Range{}, tablet.OnlyFamilies())
		seek(tablet.Exact(bytes.Repeat([]byte{0xff}, 40)), tablet.Families{})
		seek(tablet.Exact(nil), tablet.Families{})
	}
}

// TestLargeKeys writes keys and values up to a megabyte among small ones.
func TestLargeKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	all := randomEntries(rng, 300, "ab", []string{"f"})
	big := func(n int) []byte { return bytes.Repeat([]byte{'a'}, n) }
	for _, n := range []int{5114, 5115, 5116, 5121, 70000, 1 << 20, 1<<20 + 3} {
		all = append(all,
			tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: big(n), Timestamp: 1}), Value: big(3)},
			tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: []byte("a"), Family: big(n), Timestamp: 1}), Value: big(n)},
			tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: append(big(n), 'b'), Qualifier: big(n), Timestamp: 1})})
	}
	sortEntries(all)
	for _, codec := range []string{"none", "snappy", "lz4", "gz"} {
		file, _ := writeGroups(t, WriterOptions{Codec: codec, BlockBytes: 5000}, all, [][]string{nil})
		r := readBytes(t, file)
		sameEntries(t, codec, collect(t, r, r.Groups()[0], 100, tablet.Range{}, tablet.Families{}), all)
	}
}

// TestWriterRefuses gives a writer what it must not take.
func TestWriterRefuses(t *testing.T) {
	key := func(row, family string) *tablet.Key {
		k := tablet.NewKey(tablet.Fields{Row: []byte(row), Family: []byte(family)})
		return &k
	}
	refuse := func(what string, f func(w *Writer) error) {
		t.Helper()
		w, err := NewWriter(&bytes.Buffer{}, WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		err = f(w)
		if tablet.OutcomeOf(err).Exit != 2 {
			t.Errorf("%s: %v", what, err)
		}
		if _, again := w.Finish(); again == nil {
			t.Errorf("%s: Finish went on", what)
		}
	}
	first := func(errs ...error) error {
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		return nil
	}
	refuse("order", func(w *Writer) error {
		return first(w.Append(key("b", "f"), nil), w.Append(key("a", "f"), nil))
	})
	refuse("family of another group", func(w *Writer) error {
		return first(w.StartGroup("g", [][]byte{[]byte("f")}), w.StartDefaultGroup(), w.Append(key("a", "f"), nil))
	})
	refuse("family not listed", func(w *Writer) error {
		return first(w.StartGroup("g", [][]byte{[]byte("f")}), w.Append(key("a", "x"), nil))
	})
	refuse("family in two groups", func(w *Writer) error {
		return first(w.StartGroup("g", [][]byte{[]byte("f")}), w.StartGroup("h", [][]byte{[]byte("f")}))
	})
	refuse("group behind the default group", func(w *Writer) error {
		return first(w.StartDefaultGroup(), w.StartGroup("h", nil))
	})
	refuse("group twice", func(w *Writer) error { return first(w.StartGroup("h", nil), w.StartGroup("h", nil)) })
	for _, o := range []WriterOptions{{BlockBytes: -1}, {IndexBlockBytes: -1}, {BCFile: 2}} {
		if _, err := NewWriter(&bytes.Buffer{}, o); tablet.OutcomeOf(err).Exit != 2 {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := NewWriter(&bytes.Buffer{}, WriterOptions{Codec: "lzo"}); tablet.OutcomeOf(err).Exit != 6 {
		t.Errorf("lzo: %v", err)
	}
}

package rfile

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"millrace/tablet"
)

// TestSampleHashes compares the hashes with published values.
func TestSampleHashes(t *testing.T) {
	f := func(name string, hash func([]byte) uint32, in string, want uint32) {
		t.Helper()
		if got := hash([]byte(in)); got != want {
			t.Errorf("%s of %q is %08x, want %08x", name, in, got, want)
		}
	}
	f("murmur3", murmur3, "", 0)
	f("murmur3", murmur3, "a", 0x3c2569b2)
	f("murmur3", murmur3, "hello", 0x248bfa47)
	f("murmur3", murmur3, "hello, world", 0x149bbb7f)
	f("murmur3", murmur3, "The quick brown fox jumps over the lazy dog", 0x2e4ff723)
	f("md5", md5Head, "", 0xd98c1dd4)      // d41d8cd9…
	f("sha1", sha1Head, "abc", 0x363e99a9) // a9993e36…
}

// TestSample writes random entries with each sampler and holds the sample against a filter over all entries, by both
// ways of writing.
func TestSample(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 12))
	for round := range 30 {
		s := &Sampler{Class: []string{"RowSampler", samplerPackage + "RowColumnSampler"}[round%2], Options: map[string]string{
			"hasher": []string{"murmur3_32", "md5", "sha1"}[round%3], "modulus": fmt.Sprint(1 + rng.IntN(4))}}
		var fields [4]bool
		if round%2 == 0 {
			fields[0] = true
		} else {
			for fields == [4]bool{} {
				for i, name := range []string{"row", "family", "qualifier", "visibility"} {
					fields[i] = rng.IntN(2) == 0
					s.Options[name] = fmt.Sprint(fields[i])
				}
			}
		}
		accept, err := s.acceptor()
		if err != nil {
			t.Fatal(err)
		}
		all := randomEntries(rng, 400, []string{"ab", "abcdefghij"}[round%2], []string{"f", "ff", ""})
		o := WriterOptions{Codec: "none", BlockBytes: 300, IndexBlockBytes: 200, Sampler: s}
		file, meta := writeGroups(t, o, all, [][]string{{"f", "x"}, nil})
		if meta.Entries != int64(len(all)) {
			t.Errorf("%d entries, want %d", meta.Entries, len(all))
		}
		r := readBytes(t, file)
		if _, err := verifyAll(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		if !r.Sampler().Equal(s) || len(r.Samples()) != 2 {
			t.Fatalf("sampler %+v with %d groups", r.Sampler(), len(r.Samples()))
		}
		for i, g := range r.Groups() {
			var want []tablet.Entry
			for _, e := range collect(t, r, g, 50, tablet.Range{}, tablet.Families{}) {
				var in []byte
				for j, field := range [][]byte{e.Key.Row(), e.Key.Family(), e.Key.Qualifier(), e.Key.Visibility()} {
					if fields[j] {
						in = append(in, field...)
					}
				}
				if int32(accept.hash(in))%accept.modulus == 0 {
					want = append(want, e)
				}
			}
			sameEntries(t, fmt.Sprint("sample of ", g), collect(t, r, r.Samples()[i], 50, tablet.Range{}, tablet.Families{}), want)
		}
		if again := copyByRuns(t, r, o, rng); !bytes.Equal(sampleOf(t, readBytes(t, again)), sampleOf(t, r)) {
			t.Errorf("round %d: written by runs, the sample differs", round)
		}
	}
}

// copyByRuns writes a file again, batch by batch.
func copyByRuns(t *testing.T, r *Reader, o WriterOptions, rng *rand.Rand) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range r.Groups() {
		if g.Default {
			err = w.StartDefaultGroup()
		} else {
			var families [][]byte
			for _, f := range g.Families {
				families = append(families, f.Family)
			}
			err = w.StartGroup(g.Name, families)
		}
		c := r.Cursor(g, CursorOptions{BatchEntries: 1 + rng.IntN(30)})
		if err == nil {
			err = c.Seek(context.Background(), tablet.Range{}, tablet.Families{})
		}
		for err == nil {
			var b *tablet.Batch
			if b, err = c.Next(context.Background()); b == nil {
				break
			}
			err = w.AppendRun(b, b.Codes[0], 0, b.Len())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func sampleOf(t *testing.T, r *Reader) []byte {
	d := NewDigest()
	for _, g := range r.Samples() {
		for _, e := range collect(t, r, g, 50, tablet.Range{}, tablet.Families{}) {
			d.Add(&e.Key, e.Value)
		}
	}
	return []byte(d.Hex())
}

// TestLargeSample writes a sample of more than 10 MB: all but its last entry go into the file behind the block that made
// it too large, and close a block of the sample there.
func TestLargeSample(t *testing.T) {
	value := make([]byte, 400_000)
	var all []tablet.Entry
	for i := range 70 {
		all = append(all, tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: fmt.Appendf(nil, "%04d", i)}), Value: value})
	}
	o := WriterOptions{Codec: "none", BlockBytes: 3_000_000, Sampler: &Sampler{"RowSampler", map[string]string{"hasher": "md5", "modulus": "1"}}}
	file, _ := writeGroups(t, o, all, [][]string{nil})
	r := readBytes(t, file)
	if _, err := verifyAll(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	blocks := func(g *Group) (entries []int, offsets []int64) {
		err := r.Walk(context.Background(), g, Visitor{Leaf: func(l LeafInfo) error {
			entries, offsets = append(entries, l.Entries), append(offsets, l.Region.Offset)
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		return entries, offsets
	}
	main, mainAt := blocks(r.Groups()[0])
	sample, sampleAt := blocks(r.Samples()[0])
	if want := []int{9, 9, 9, 9, 9, 9, 9, 7}; !slices.Equal(main, want) {
		t.Errorf("blocks of %v entries, want %v", main, want)
	}
	// Three blocks hold 10.8 MB, 26 entries of which go out; so do 27 behind the sixth block; 17 are left.
	if want := []int{9, 9, 8, 9, 9, 9, 9, 8}; !slices.Equal(sample, want) {
		t.Errorf("sample's blocks of %v entries, want %v", sample, want)
	}
	if sampleAt[0] < mainAt[2] || sampleAt[2] > mainAt[3] || sampleAt[3] < mainAt[5] || sampleAt[5] > mainAt[6] || sampleAt[6] < mainAt[7] {
		t.Errorf("blocks at %v, the sample's at %v", mainAt, sampleAt)
	}
}

// TestSamplerRefuses gives a writer configurations that it cannot sample by.
func TestSamplerRefuses(t *testing.T) {
	f := func(class string, exit int, options ...string) {
		t.Helper()
		s := &Sampler{Class: class, Options: map[string]string{}}
		for i := 0; i < len(options); i += 2 {
			s.Options[options[i]] = options[i+1]
		}
		if _, err := NewWriter(&bytes.Buffer{}, WriterOptions{Sampler: s}); tablet.OutcomeOf(err).Exit != exit {
			t.Errorf("%s %q: %v", class, options, err)
		}
	}
	f("RowSampler", 0, "hasher", "md5", "modulus", "3")
	f("RowSampler", 2, "hasher", "md5")
	f("RowSampler", 2, "modulus", "3")
	f("RowSampler", 2, "hasher", "md4", "modulus", "3")
	f("RowSampler", 2, "hasher", "md5", "modulus", "0")
	f("RowSampler", 2, "hasher", "md5", "modulus", "x")
	f("RowSampler", 2, "hasher", "md5", "modulus", "3", "row", "true")
	f("RowColumnSampler", 2, "hasher", "md5", "modulus", "3")
	f("RowColumnSampler", 0, "hasher", "md5", "modulus", "3", "qualifier", "true")
	f("com.example.Sampler", 6)
}

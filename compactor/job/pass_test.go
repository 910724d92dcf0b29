package job

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/rfile"
	"millrace/tablet/rfile/parallel"
)

// passEntries are sorted cells of some versions, here and there with a marker.
func passEntries(r *rand.Rand, n int) (out []tablet.Entry) {
	cell := 0
	for i := range n {
		if r.IntN(8) > 0 {
			cell++
		}
		out = append(out, tablet.Entry{Key: tablet.NewKey(tablet.Fields{
			Row: fmt.Appendf(nil, "row%06d", cell/3), Family: []byte("f"), Qualifier: fmt.Appendf(nil, "q%d", cell%3),
			Timestamp: int64(n - i), Deleted: r.IntN(40) == 0,
		}), Value: fmt.Appendf(nil, "%x", r.Uint64())})
	}
	slices.SortStableFunc(out, func(a, b tablet.Entry) int { return tablet.Compare(&a.Key, &b.Key) })
	return out
}

// writePassed writes files with a codec and a block size.
func writePassed(s *store, files [][]tablet.Entry, o rfile.WriterOptions) (inputs []Input) {
	for i, entries := range files {
		name := fmt.Sprintf("in%d", i)
		f, err := s.fs.Create(name)
		if err != nil {
			s.t.Fatal(err)
		}
		w, err := rfile.NewWriter(f, o)
		if err != nil {
			s.t.Fatal(err)
		}
		for i := range entries {
			if err := w.Append(&entries[i].Key, entries[i].Value); err != nil {
				s.t.Fatal(err)
			}
		}
		if _, err := w.Finish(); err != nil {
			s.t.Fatal(err)
		}
		f.Close()
		inputs = append(inputs, File(s.open(name)))
	}
	return inputs
}

// outcome runs a job and returns its file, and the number of blocks that were taken over.
func (s *store) outcome(spec Spec, step int, want []tablet.Entry, read int) ([]byte, int64) {
	s.t.Helper()
	name := s.output(&spec)
	j := start(s.t, spec, nil)
	if _, err := run(j, step); err != nil {
		s.t.Fatal(err)
	}
	s.checkOutput(j, &spec, name, want, read)
	if _, err := s.open(name).Verify(ctx, rfile.VerifyOptions{}); err != nil {
		s.t.Fatal(err)
	}
	f, err := s.fs.Open(name)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	content, err := vfs.ReadAll(f, 1<<30)
	if err != nil {
		s.t.Fatal(err)
	}
	return content, j.Passed()
}

// TestPass compacts files that overlap more or less, with and without taking blocks over as they are stored. Entries and
// books must be right both ways, and all modes must write the same bytes.
func TestPass(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	passed, recoded := int64(0), int64(0)
	for range 60 {
		s := newStore(t)
		block := 500 + r.IntN(1500)
		stretch := []int{1, 20, 200, 1000}[r.IntN(4)]
		files := dealt(passEntries(r, 2000), 1+max(1, r.IntN(5)), stretch)
		o := rfile.WriterOptions{Codec: []string{"gz", "snappy", "lz4", "zstd", "none"}[r.IntN(5)], BlockBytes: block, IndexBlockBytes: 200 + r.IntN(2000)}
		spec := Spec{Inputs: writePassed(s, files, o), Full: r.IntN(2) == 0, MaxVersions: r.IntN(3)}
		spec.Writer = o
		spec.Writer.FileID = [16]byte{1}
		switch r.IntN(8) {
		case 0:
			spec.Writer.BlockBytes = 3 * block
		case 1:
			spec.Writer.Codec = "none"
		case 2:
			spec.Writer.Sampler = &rfile.Sampler{Class: "RowSampler", Options: map[string]string{"hasher": "murmur3_32", "modulus": "3"}}
		case 3:
			spec.Writer.Bloom = &rfile.BloomOptions{}
		}
		want, read := survivors(files, &spec), len(slices.Concat(files...))
		var first []byte
		for _, mode := range iter.Modes() {
			spec.Mode = mode
			content, n := s.outcome(spec, 1+r.IntN(300), want, read)
			if first == nil {
				first = content
				passed += n
			}
			if !bytes.Equal(first, content) {
				t.Fatalf("%v and %v wrote different files", iter.Modes()[0], mode)
			}
		}
		press := &parallel.Compressor{}
		spec.Writer.Behind = press
		if content, _ := s.outcome(spec, 1000, want, read); !bytes.Equal(first, content) {
			t.Fatal("compressed behind the writer, the file is another")
		}
		press.Close()
		spec.Writer.Behind, spec.Recode = nil, true
		_, n := s.outcome(spec, 1000, want, read)
		recoded += n
	}
	if passed < 20 || recoded > 0 {
		t.Errorf("%d blocks were taken over as they were stored, %d though it was forbidden", passed, recoded)
	}
}

// TestPassed counts the blocks that are taken over.
func TestPassed(t *testing.T) {
	f := func(name string, o, out rfile.WriterOptions, stretch, least, most int) {
		t.Helper()
		s := newStore(t)
		r := rand.New(rand.NewPCG(1, 2))
		entries := passEntries(r, 4000)
		files := dealt(entries, 4, stretch)
		spec := Spec{Inputs: writePassed(s, files, o), KeepAll: true, Writer: out}
		want, read := survivors(files, &spec), len(entries)
		spec.Writer.FileID = [16]byte{1}
		content, n := s.outcome(spec, 4096, want, read)
		if n < int64(least) || n > int64(most) {
			t.Errorf("%s: %d blocks are taken over, want %d to %d", name, n, least, most)
		}
		spec.Recode = true
		if again, _ := s.outcome(spec, 4096, want, read); most == 0 && !bytes.Equal(content, again) {
			t.Errorf("%s: blocks were closed early, for nothing", name)
		}
	}
	o := rfile.WriterOptions{Codec: "gz", BlockBytes: 1000}
	larger, smaller, other, level := o, o, o, o
	larger.BlockBytes, smaller.BlockBytes, other.Codec, level.Level = 3000, 400, "snappy", 9
	f("whole files", o, o, 1000, 60, 400)
	f("every entry from another file", o, o, 1, 0, 0)
	f("stretches shorter than a block", o, o, 10, 0, 0)
	f("another codec", o, other, 1000, 0, 0)
	f("larger blocks", o, larger, 1000, 0, 0)
	f("smaller blocks", o, smaller, 1000, 0, 0)
	f("a level that was chosen", o, level, 1000, 0, 0)
	f("no codec", rfile.WriterOptions{Codec: "none", BlockBytes: 1000}, rfile.WriterOptions{Codec: "none", BlockBytes: 1000}, 1000, 0, 0)
}

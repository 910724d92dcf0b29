package job

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/rfile"
)

// plainCells are sorted cells without versions and markers: all of them survive.
func plainCells(r *rand.Rand, from, n int) (out []tablet.Entry) {
	for i := from; i < from+n; i++ {
		out = append(out, tablet.Entry{Key: tablet.NewKey(tablet.Fields{
			Row: fmt.Appendf(nil, "row%06d", i), Family: []byte("f"), Qualifier: []byte("q"), Timestamp: int64(i),
		}), Value: fmt.Appendf(nil, "%x", r.Uint64())})
	}
	return out
}

// TestPassNothingFiltered wants no block past an iterator, whatever the iterator does: it has not said that it leaves the
// block alone. One that filters does so.
func TestPassNothingFiltered(t *testing.T) {
	s := newStore(t)
	entries := plainCells(rand.New(rand.NewPCG(1, 2)), 0, 3000)
	o := rfile.WriterOptions{Codec: "gz", BlockBytes: 1000}
	spec := Spec{Inputs: writePassed(s, [][]tablet.Entry{entries}, o), Writer: o}
	if _, n := s.outcome(spec, 500, entries, len(entries)); n == 0 {
		t.Error("no block is taken over without iterators")
	}
	setting, err := iter.ParseSetting("rows=10,class=RegExFilter,rowRegex=row0000.*")
	if err != nil {
		t.Fatal(err)
	}
	spec.Iterators = []iter.Setting{setting}
	want := slices.DeleteFunc(slices.Clone(entries), func(e tablet.Entry) bool { return !bytes.HasPrefix(e.Key.Row(), []byte("row0000")) })
	if _, n := s.outcome(spec, 500, want, len(entries)); n != 0 {
		t.Errorf("%d blocks are taken over past an iterator", n)
	}
}

// TestPassInRange cuts inputs and job at rows inside of blocks: only whole blocks are taken over, and nothing outside shows.
func TestPassInRange(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	o := rfile.WriterOptions{Codec: "gz", BlockBytes: 1000}
	passed := int64(0)
	for range 40 {
		s := newStore(t)
		entries := plainCells(r, 0, 1500)
		in := writePassed(s, [][]tablet.Entry{entries}, o)[0]
		from, to := r.IntN(700), 700+r.IntN(800)
		rows := tablet.RowRange(tablet.RowBounds{Start: fmt.Appendf(nil, "row%06d", from), End: fmt.Appendf(nil, "row%06d", to)})
		spec := Spec{Inputs: []Input{in}, Writer: o, KeepAll: r.IntN(2) == 0}
		if r.IntN(2) == 0 {
			spec.Range = rows
		} else {
			spec.Inputs[0] = Fenced(in, rows)
		}
		want := entries[from:min(to+1, len(entries))]
		_, n := s.outcome(spec, 1+r.IntN(300), want, len(want))
		passed += n
	}
	if passed < 100 {
		t.Errorf("%d blocks were taken over", passed)
	}
}

// TestPassLeavesNoFragments has another file's entries before every other block of one: closing the block before the ones
// between would leave fragments, and they do not come in a row.
func TestPassLeavesNoFragments(t *testing.T) {
	s := newStore(t)
	r := rand.New(rand.NewPCG(1, 4))
	const size = 4000
	o := rfile.WriterOptions{Codec: "gz", BlockBytes: size}
	blocks := plainCells(r, 0, 6000)
	var between []tablet.Entry // a few behind every other block
	for n, leaf := range newStore(t).leavesOf(blocks, o) {
		for i := range 3 * (n % 2) {
			row := append(slices.Clone(leaf.Key.Row()), 0)
			between = append(between, tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: row, Qualifier: fmt.Append(nil, i)})})
		}
	}
	files := [][]tablet.Entry{blocks, between}
	spec := Spec{Inputs: writePassed(s, files, o), Writer: o}
	name := s.output(&spec)
	j := start(t, spec, nil)
	if _, err := run(j, 1000); err != nil {
		t.Fatal(err)
	}
	leaves := s.leaves(s.open(name))
	for i, leaf := range leaves[:len(leaves)-1] {
		if leaf.Region.Raw < size/2 {
			t.Errorf("block %d of %d has %d bytes, want at least %d", i, len(leaves), leaf.Region.Raw, size/2)
		}
	}
}

// leavesOf are the leaves of the index of a file of entries.
func (s *store) leavesOf(entries []tablet.Entry, o rfile.WriterOptions) []rfile.LeafInfo {
	s.t.Helper()
	return s.leaves(writePassed(s, [][]tablet.Entry{entries}, o)[0].(fileInput).r)
}

func (s *store) leaves(r *rfile.Reader) (leaves []rfile.LeafInfo) {
	s.t.Helper()
	for _, g := range r.Groups() {
		err := r.Walk(ctx, g, rfile.Visitor{Leaf: func(l rfile.LeafInfo) error {
			l.Key = l.Key.Clone()
			leaves = append(leaves, l)
			return nil
		}})
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return leaves
}

// TestPassOlder compacts files of older versions. Before 7 an entry never shares a prefix with the one before it, so
// nothing of theirs is right as it is; what the writer makes of them is what it makes of any entries.
func TestPassOlder(t *testing.T) {
	const dir = "../../tablet/rfile/testdata/older"
	for _, version := range []int{3, 4, 6, 7} {
		s := newStore(t)
		files, err := vfs.Dir(dir)
		if err != nil {
			t.Fatal(err)
		}
		f, err := files.Open(fmt.Sprintf("version%d.rf", version))
		if err != nil {
			t.Fatal(err)
		}
		r, err := rfile.Open(f, rfile.ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var all []tablet.Entry
		for _, g := range r.Groups() {
			all = append(all, s.entries(r.Cursor(g, rfile.CursorOptions{}))...)
		}
		slices.SortStableFunc(all, func(a, b tablet.Entry) int { return tablet.Compare(&a.Key, &b.Key) })
		spec := Spec{
			Inputs: []Input{File(r)}, KeepAll: true, Groups: []GroupSpec{{Name: "g", Families: [][]byte{[]byte("g"), []byte("h")}}},
			Writer: rfile.WriterOptions{Codec: "gz", BlockBytes: 200, FileID: [16]byte{1}},
		}
		content, n := s.outcome(spec, 10, all, len(all))
		if version < 7 && n != 0 {
			t.Errorf("version %d: %d blocks are taken over", version, n)
		}
		if want := s.byComparison(&spec, all); n == 0 && !bytes.Equal(content, want) {
			t.Errorf("version %d: the file is not that of its entries", version)
		}
		r.Close()
	}
}

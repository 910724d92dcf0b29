package job

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/rfile"
)

// familyEntries are sorted cells of rows that have columns in some of the families.
func familyEntries(r *rand.Rand, n, families int) (out []tablet.Entry) {
	for i := range n {
		out = append(out, tablet.Entry{Key: tablet.NewKey(tablet.Fields{
			Row: fmt.Appendf(nil, "row%06d", i/8), Family: fmt.Appendf(nil, "f%d", r.IntN(families)), Qualifier: fmt.Appendf(nil, "q%d", r.IntN(9)),
			Timestamp: int64(r.IntN(n)), Deleted: r.IntN(60) == 0,
		}), Value: fmt.Appendf(nil, "%x", r.Uint64())})
	}
	slices.SortStableFunc(out, func(a, b tablet.Entry) int { return tablet.Compare(&a.Key, &b.Key) })
	return out
}

// groupsOf are named groups, one for each list of numbers of families.
func groupsOf(lists ...[]int) (groups []GroupSpec) {
	for i, list := range lists {
		g := GroupSpec{Name: fmt.Sprintf("g%d", i)}
		for _, f := range list {
			g.Families = append(g.Families, fmt.Appendf(nil, "f%d", f))
		}
		groups = append(groups, g)
	}
	return groups
}

// writeGrouped writes files in groups.
func (s *store) writeGrouped(files [][]tablet.Entry, groups []GroupSpec, o rfile.WriterOptions) (inputs []Input) {
	for i, entries := range files {
		name := fmt.Sprintf("grouped%d", i)
		f, err := s.fs.Create(name)
		if err != nil {
			s.t.Fatal(err)
		}
		w, err := rfile.NewWriter(f, o)
		if err != nil {
			s.t.Fatal(err)
		}
		spec := Spec{Groups: groups}
		for g := range len(groups) + 1 {
			if g < len(groups) {
				err = w.StartGroup(groups[g].Name, groups[g].Families)
			} else {
				err = w.StartDefaultGroup()
			}
			for n := range entries {
				if err == nil && spec.families(g).Accepts(entries[n].Key.Family()) {
					err = w.Append(&entries[n].Key, entries[n].Value)
				}
			}
			if err != nil {
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

// groupings are ways to spread families f0 to f5 over groups, named ones and the default one.
var groupings = [][]GroupSpec{nil, groupsOf([]int{0, 1}, []int{2}), groupsOf([]int{0}, []int{1, 2}, []int{3}), groupsOf([]int{0, 1, 2, 3, 4, 5})}

// TestGroupedCompactions compacts files of one grouping to another. What is taken over as it is encoded, or stored, must
// not show: the entries are those that the rules leave, and without blocks taken over the file is that of a job whose
// writer compares keys.
func TestGroupedCompactions(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, from := range groupings {
		for _, to := range groupings {
			s := newStore(t)
			o := rfile.WriterOptions{Codec: []string{"gz", "none"}[r.IntN(2)], BlockBytes: 500 + r.IntN(1000), IndexBlockBytes: 1000}
			files := dealt(familyEntries(r, 3000, 6), 2+r.IntN(3), []int{1, 30, 400}[r.IntN(3)])
			spec := Spec{Inputs: s.writeGrouped(files, from, o), Groups: to, Full: r.IntN(2) == 0, MaxVersions: r.IntN(3), Writer: o}
			spec.Writer.FileID = [16]byte{1}
			want, read := survivors(files, &spec), len(slices.Concat(files...))
			var first []byte
			for _, mode := range iter.Modes() {
				spec.Mode = mode
				content, _ := s.outcome(spec, 1+r.IntN(500), want, read)
				if first == nil {
					first = content
				}
				if !bytes.Equal(first, content) {
					t.Fatalf("%v and %v wrote different files", iter.Modes()[0], mode)
				}
			}
			spec.Recode = true
			recoded, _ := s.outcome(spec, 1000, want, read)
			if compared := s.byComparison(&spec, want); !bytes.Equal(recoded, compared) {
				t.Fatalf("from %v to %v: with entries taken over the file is another", from, to)
			}
		}
	}
}

// byComparison is the file of entries that are written one by one.
func (s *store) byComparison(spec *Spec, entries []tablet.Entry) []byte {
	var out bytes.Buffer
	w, err := rfile.NewWriter(&out, spec.Writer)
	for g := range len(spec.Groups) + 1 {
		if err == nil && g < len(spec.Groups) {
			err = w.StartGroup(spec.Groups[g].Name, spec.Groups[g].Families)
		} else if err == nil {
			err = w.StartDefaultGroup()
		}
		for i := range entries {
			if err == nil && spec.families(g).Accepts(entries[i].Key.Family()) {
				err = w.Append(&entries[i].Key, entries[i].Value)
			}
		}
	}
	if err == nil {
		_, err = w.Finish()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return out.Bytes()
}

// TestGroupsPass counts the blocks that are taken over as they are stored, from groups to groups.
func TestGroupsPass(t *testing.T) {
	f := func(name string, from, to []GroupSpec, families int, least, most int64) {
		t.Helper()
		s := newStore(t)
		entries := familyEntries(rand.New(rand.NewPCG(1, 2)), 6000, families)
		files := dealt(entries, 3, 2000)
		o := rfile.WriterOptions{Codec: "gz", BlockBytes: 1000}
		spec := Spec{Inputs: s.writeGrouped(files, from, o), Groups: to, KeepAll: true, Writer: o}
		want := survivors(files, &spec)
		if _, n := s.outcome(spec, 4096, want, len(entries)); n < least || n > most {
			t.Errorf("%s: %d blocks are taken over, want %d to %d", name, n, least, most)
		}
	}
	const all = 1000
	two := groupsOf([]int{0, 1}, []int{2})
	f("no groups", nil, nil, 6, 150, all)
	f("the same groups", two, two, 6, 150, all)
	f("two groups become one", two, groupsOf([]int{0, 1, 2}), 6, 75, all) // the default group's; the others mix
	f("of a file with groups to one without", two, nil, 6, 0, 0)
	f("of a file without groups to one with", nil, two, 6, 0, 0)
	f("groups that the files need not know of", nil, groupsOf([]int{7}, []int{8}), 6, 150, all)
	f("more families than a default group lists", two, two, 2000, 150, all)
	f("and named groups take some of them", nil, two, 2000, 0, 0)
}

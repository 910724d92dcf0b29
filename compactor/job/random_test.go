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
)

// survivors is what a compaction must leave, by the rules and not by codes: the entries sorted by key, newest file
// first, then cell by cell.
func survivors(files [][]tablet.Entry, spec *Spec) []tablet.Entry {
	all := slices.Concat(files...)
	slices.SortStableFunc(all, func(a, b tablet.Entry) int { return tablet.Compare(&a.Key, &b.Key) })
	if spec.KeepAll {
		return all
	}
	var out []tablet.Entry
	for len(all) > 0 {
		n := 1
		for n < len(all) && tablet.SameCell(&all[0].Key, &all[n].Key) {
			n++
		}
		cell := all[:n]
		all = all[n:]
		if i := slices.IndexFunc(cell, func(e tablet.Entry) bool { return e.Key.Deleted() }); i >= 0 {
			cell = cell[:i+1]
			if spec.Full {
				cell = cell[:i]
			}
		}
		if spec.MaxVersions > 0 {
			cell = cell[:min(len(cell), spec.MaxVersions)]
		}
		out = append(out, cell...)
	}
	return out
}

// TestRandomCompactions holds outputs against the rules, and wants all modes to write the same bytes.
func TestRandomCompactions(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	n := 300
	if testing.Short() {
		n = 50
	}
	pool := iter.NewPool()
	for range n {
		s := newStore(t)
		spec := Spec{
			Full: r.IntN(2) == 0, MaxVersions: r.IntN(3),
			Writer: rfile.WriterOptions{Codec: "none", BlockBytes: 1 + r.IntN(300), IndexBlockBytes: 1 + r.IntN(300), FileID: [16]byte{1}},
		}
		if r.IntN(5) == 0 {
			spec = Spec{KeepAll: true, Writer: spec.Writer}
		}
		if r.IntN(2) == 0 {
			spec.Groups = []GroupSpec{{Name: "ab", Families: [][]byte{[]byte("a"), []byte("b")}}}
		}
		var files [][]tablet.Entry
		for i := range r.IntN(6) {
			entries := randomEntries(r, i)
			name := fmt.Sprintf("in%d", i)
			var groups []GroupSpec
			if r.IntN(2) == 0 {
				groups = []GroupSpec{{Name: "bc", Families: [][]byte{[]byte("b"), []byte("c")}}}
			}
			s.write(name, entries, groups)
			files = append(files, entries)
			spec.Inputs = append(spec.Inputs, File(s.open(name)))
		}
		want := survivors(files, &spec)
		var outputs [][]byte
		for _, mode := range iter.Modes() {
			spec.Mode = mode
			name := s.output(&spec)
			j := start(t, spec, pool)
			if _, err := run(j, 1+r.IntN(100)); err != nil {
				t.Fatal(err)
			}
			s.checkOutput(j, &spec, name, want, len(slices.Concat(files...)))
			f, err := s.fs.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			content, err := vfs.ReadAll(f, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
			outputs = append(outputs, content)
		}
		for i, mode := range iter.Modes() {
			if !bytes.Equal(outputs[0], outputs[i]) {
				t.Fatalf("%v and %v wrote different files", iter.Modes()[0], mode)
			}
		}
	}
}

func randomEntries(r *rand.Rand, file int) []tablet.Entry {
	pick := func(of ...string) []byte { return []byte(of[r.IntN(len(of))]) }
	var out []tablet.Entry
	for i := range r.IntN(60) {
		f := tablet.Fields{
			Row: pick("", "r", "r\x00", "rr", "s\xff"), Family: pick("a", "b", "c", "", "d"),
			Qualifier: pick("", "q", "qq"), Visibility: pick("", "", "v"), Timestamp: int64(r.IntN(4)), Deleted: r.IntN(6) == 0,
		}
		out = append(out, tablet.Entry{Key: tablet.NewKey(f), Value: fmt.Appendf(nil, "%d/%d", file, i)})
	}
	return out
}

// checkOutput compares a finished job's file, meta data and books with what they must be.
func (s *store) checkOutput(j *Job, spec *Spec, name string, want []tablet.Entry, read int) {
	s.t.Helper()
	var got []tablet.Entry
	r := s.open(name)
	for i, g := range r.Groups() {
		entries := s.entries(r.Cursor(g, rfile.CursorOptions{}))
		var of []tablet.Entry
		for _, e := range want {
			if spec.families(i).Accepts(e.Key.Family()) {
				of = append(of, e)
			}
		}
		same := slices.EqualFunc(entries, of, func(a, b tablet.Entry) bool {
			return tablet.Compare(&a.Key, &b.Key) == 0 && bytes.Equal(a.Value, b.Value)
		})
		if !same {
			s.t.Fatalf("%v: got\n%vwant\n%v", g, entries, of)
		}
		got = append(got, entries...)
	}
	meta, books := j.Result()
	if err := books.Balance(); err != nil || books.Read != int64(read) || books.Written != int64(len(got)) || meta.Entries != books.Written {
		s.t.Fatalf("read %d, wrote %d, meta %d: %+v, %v", read, len(got), meta.Entries, books, err)
	}
	if stats := j.Stats(); stats.Entries != books.Read {
		s.t.Fatalf("%+v, but %+v", stats, books)
	}
}

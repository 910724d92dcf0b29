package job

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/rfile"
)

var ctx = context.Background()

// TestJob runs testdata/job/*. Commands:
//
//	file NAME [groups=(name/family+family,…)]
//	row family:qualifier [label] timestamp value      (sorted; the value "delete" makes a marker)
//
//	compact inputs=(NAME,…) [full] [minor] [keepall] [versions=N] [step=N] [groups=…] [rows=(from,to)] [iter=…]
//
// prints the output's groups and the books. Rewrite with: go test ./compactor/job -rewrite
func TestJob(t *testing.T) {
	datadriven.Walk(t, "testdata/job", func(t *testing.T, path string) {
		s := newStore(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "file":
				s.write(d.CmdArgs[0].Key, parseEntries(t, d.Input), scanGroups(t, d))
				return ""
			case "compact":
				return s.compact(t, d)
			}
			t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
			return ""
		})
	})
}

// store is a file system with the files of one script.
type store struct {
	t  *testing.T
	fs vfs.FS
	n  int // outputs made
}

func newStore(t *testing.T) *store { return &store{t: t, fs: vfs.Mem()} }

// write makes a file of entries, which are sorted first.
func (s *store) write(name string, entries []tablet.Entry, groups []GroupSpec) {
	s.t.Helper()
	slices.SortStableFunc(entries, func(a, b tablet.Entry) int { return tablet.Compare(&a.Key, &b.Key) })
	f, err := s.fs.Create(name)
	if err != nil {
		s.t.Fatal(err)
	}
	w, err := rfile.NewWriter(f, rfile.WriterOptions{Codec: "none", BlockBytes: 64})
	if err != nil {
		s.t.Fatal(err)
	}
	spec := Spec{Groups: groups}
	for i := range len(groups) + 1 {
		if i < len(groups) {
			err = w.StartGroup(groups[i].Name, groups[i].Families)
		} else {
			err = w.StartDefaultGroup()
		}
		for _, e := range entries {
			if err == nil && spec.families(i).Accepts(e.Key.Family()) {
				err = w.Append(&e.Key, e.Value)
			}
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	if _, err := w.Finish(); err != nil {
		s.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *store) open(name string) *rfile.Reader {
	s.t.Helper()
	f, err := s.fs.Open(name)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := rfile.Open(f, rfile.ReaderOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { r.Close() })
	return r
}

// output makes Create and Remove of a spec for a new file.
func (s *store) output(spec *Spec) (name string) {
	s.n++
	name = fmt.Sprintf("out%d", s.n)
	spec.Create = func() (vfs.File, error) { return s.fs.Create(name) }
	spec.Remove = func() error { return s.fs.Remove(name) }
	return name
}

func (s *store) compact(t *testing.T, d *datadriven.TestData) string {
	spec := Spec{Writer: rfile.WriterOptions{Codec: "none"}, Groups: scanGroups(t, d), Mode: iter.New}
	step := 1000
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "inputs":
			for _, name := range arg.Vals {
				if name == "" {
					continue // inputs=()
				}
				spec.Inputs = append(spec.Inputs, File(s.open(name)))
			}
		case "full":
			spec.Full = true
		case "minor":
			spec.Minor = true
		case "keepall":
			spec.KeepAll = true
		case "versions":
			arg.Scan(t, 0, &spec.MaxVersions)
		case "step":
			arg.Scan(t, 0, &step)
		case "rows":
			spec.Range = tablet.RowRange(tablet.RowBounds{Start: []byte(arg.Vals[0]), End: []byte(arg.Vals[1])})
		case "iter":
			setting, err := iter.ParseSetting(strings.Join(arg.Vals, ","))
			if err != nil {
				return err.Error()
			}
			spec.Iterators = append(spec.Iterators, setting)
		}
	}
	name := s.output(&spec)
	j, err := New(spec, iter.NewPool())
	if err != nil {
		return err.Error()
	}
	if _, err := run(j, step); err != nil {
		return fmt.Sprintf("%v\ndiscard: %v", err, j.Discard())
	}
	_, books := j.Result()
	return s.show(name) + formatBooks(books)
}

// run steps a job to its end.
func run(j *Job, step int) (steps int, err error) {
	for {
		steps++
		done, err := j.Step(ctx, step)
		if done || err != nil {
			return steps, err
		}
	}
}

// show prints a file group by group.
func (s *store) show(name string) string {
	var b strings.Builder
	r := s.open(name)
	for _, g := range r.Groups() {
		if g.Name != "" {
			fmt.Fprintf(&b, "group %s\n", g.Name)
		} else if len(r.Groups()) > 1 {
			b.WriteString("default group\n")
		}
		for _, e := range s.entries(r.Cursor(g, rfile.CursorOptions{})) {
			b.WriteString(formatEntry(e))
		}
	}
	return b.String()
}

func (s *store) entries(c iter.Source) (out []tablet.Entry) {
	s.t.Helper()
	if err := c.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		s.t.Fatal(err)
	}
	for {
		b, err := c.Next(ctx)
		if err != nil {
			s.t.Fatal(err)
		}
		if b == nil {
			return out
		}
		for i := range b.Len() {
			out = append(out, b.Entry(i).Clone())
		}
	}
}

func formatBooks(b iter.Books) string {
	out := fmt.Sprintf("read %d, written %d", b.Read, b.Written)
	for _, c := range []struct {
		name  string
		count int64
	}{{"hidden", b.Hidden}, {"markers", b.Markers}, {"versions", b.Versions}, {"filtered", b.Filtered}, {"before", b.Before}, {"reduced", b.Reduced}, {"added", b.Added}} {
		if c.count != 0 {
			out += fmt.Sprintf(", %s %d", c.name, c.count)
		}
	}
	return out + "\n"
}

// scanGroups reads groups=(name/family+family,…).
func scanGroups(t *testing.T, d *datadriven.TestData) (out []GroupSpec) {
	for _, arg := range d.CmdArgs {
		if arg.Key != "groups" {
			continue
		}
		for _, v := range arg.Vals {
			name, families, _ := strings.Cut(v, "/")
			g := GroupSpec{Name: name}
			for f := range strings.SplitSeq(families, "+") {
				g.Families = append(g.Families, []byte(f))
			}
			out = append(out, g)
		}
	}
	return out
}

func parseEntries(t *testing.T, text string) (out []tablet.Entry) {
	t.Helper()
	for line := range strings.Lines(text) {
		var row, column, label, value string
		var ts int64
		if _, err := fmt.Sscanf(line, "%s %s %s %d %s", &row, &column, &label, &ts, &value); err != nil {
			t.Fatalf("entry %q: %v", line, err)
		}
		family, qualifier, _ := strings.Cut(column, ":")
		f := tablet.Fields{Row: []byte(row), Family: []byte(family), Qualifier: []byte(qualifier), Visibility: []byte(strings.Trim(label, "[]")), Timestamp: ts}
		e := tablet.Entry{Value: []byte(value)}
		if value == "delete" {
			f.Deleted, e.Value = true, nil
		}
		e.Key = tablet.NewKey(f)
		out = append(out, e)
	}
	return out
}

func formatEntry(e tablet.Entry) string {
	value := string(e.Value)
	if e.Key.Deleted() {
		value = "delete"
	}
	return fmt.Sprintf("%s %s:%s [%s] %d %s\n", e.Key.Row(), e.Key.Family(), e.Key.Qualifier(), e.Key.Visibility(), e.Key.Timestamp(), value)
}

// ingest makes n random entries of the continuous ingest, some of a few families, in files shares, each entry in one file.
func ingest(r *rand.Rand, n, files int) [][]tablet.Entry {
	out := make([][]tablet.Entry, files)
	for i := range n {
		f := tablet.Fields{
			Row:       fmt.Appendf(nil, "%016x", r.Uint64()>>1),
			Family:    fmt.Appendf(nil, "%04x", r.IntN(1<<15)),
			Qualifier: fmt.Appendf(nil, "%04x", r.IntN(1<<15)),
			Timestamp: int64(i),
		}
		to := r.IntN(files)
		out[to] = append(out[to], tablet.Entry{Key: tablet.NewKey(f), Value: fmt.Appendf(nil, "%016x:%08x", r.Uint64(), i)})
	}
	for _, entries := range out {
		slices.SortFunc(entries, func(a, b tablet.Entry) int { return tablet.Compare(&a.Key, &b.Key) })
	}
	return out
}

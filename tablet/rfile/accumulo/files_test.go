//go:build accumulo

package accumulo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/rfile"
)

var files atomic.Int64

// newPath is the name of a file that no test of this run had before: the judge's caches know files by name.
func newPath(t *testing.T) string {
	return filepath.Join(t.TempDir(), fmt.Sprintf("F%07d.rf", files.Add(1)))
}

func open(t *testing.T, path string) *rfile.Reader {
	t.Helper()
	f, err := vfs.OpenPath(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := rfile.Open(f, rfile.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// write writes entries with our writer and returns the file's name.
func write(t *testing.T, s settings, all []tablet.Entry) string {
	t.Helper()
	var out bytes.Buffer
	w, err := rfile.NewWriter(&out, s.options())
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	put := func(wanted func(family string) bool) {
		for i := range all {
			if wanted(string(all[i].Key.Family())) {
				if err := w.Append(&all[i].Key, all[i].Value); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, g := range s.groups {
		var families [][]byte
		for _, f := range g.families {
			families = append(families, []byte(f))
			named[f] = true
		}
		if err := w.StartGroup(g.name, families); err != nil {
			t.Fatal(err)
		}
		put(func(f string) bool { return slices.Contains(g.families, f) })
	}
	if !s.noDefault {
		if err := w.StartDefaultGroup(); err != nil {
			t.Fatal(err)
		}
		put(func(f string) bool { return !named[f] })
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	path := newPath(t)
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// merged is what our reader says of groups of a file, merged.
func merged(t *testing.T, r *rfile.Reader, groups []*rfile.Group) count {
	t.Helper()
	d := rfile.NewDigest()
	var c count
	take(t, r, groups, tablet.Range{}, tablet.Families{}, -1, func(b *tablet.Batch, lo, hi int) {
		d.AddRun(b, lo, hi)
		c.entries += int64(hi - lo)
		for i := lo; i < hi; i++ {
			if b.Refs[i].Deleted {
				c.deletes++
			}
		}
	})
	c.sha256 = d.Hex()
	return c
}

// take merges groups of a file and hands over their entries, at most so many unless that is negative.
func take(t *testing.T, r *rfile.Reader, groups []*rfile.Group, rng tablet.Range, f tablet.Families, most int, see func(b *tablet.Batch, lo, hi int)) {
	t.Helper()
	var sources []iter.Source
	for _, g := range groups {
		sources = append(sources, r.Cursor(g, rfile.CursorOptions{}))
	}
	m := iter.NewMerge(iter.New, sources)
	defer m.Close()
	ctx := context.Background()
	if err := m.Seek(ctx, rng, f); err != nil {
		t.Fatal(err)
	}
	runs := make([]iter.Run, 64)
	for most != 0 {
		n, err := m.Fill(ctx, runs)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return
		}
		for _, run := range runs[:n] {
			hi := int(run.Hi)
			if most >= 0 {
				hi = min(hi, int(run.Lo)+most)
				most -= hi - int(run.Lo)
			}
			see(m.Batch(run.Src), int(run.Lo), hi)
		}
	}
}

// entriesIn are all entries of a file.
func entriesIn(t *testing.T, r *rfile.Reader) []tablet.Entry {
	t.Helper()
	var all []tablet.Entry
	inFile(t, r)(tablet.Range{}, tablet.Families{}, -1, func(k *tablet.Key, value []byte) {
		all = append(all, tablet.Entry{Key: *k, Value: value}.Clone())
	})
	return all
}

// familiesOf lists the families that a file's groups list, and one that it does not have.
func familiesOf(r *rfile.Reader) []string {
	families := []string{"nobody"}
	for _, g := range r.Groups() {
		for _, f := range g.Families {
			families = append(families, string(f.Family))
		}
	}
	return families
}

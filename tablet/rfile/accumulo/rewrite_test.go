//go:build accumulo

package accumulo

import (
	"context"
	"testing"

	"millrace/tablet"
	"millrace/tablet/rfile"
)

// way is how entries go into our writer: one by one, or in runs with their codes.
type way bool

const (
	byEntry way = false
	byRuns  way = true
)

// rewrite writes the groups of a file anew, with the families listed in the same order, and returns the bytes.
func rewrite(t *testing.T, r *rfile.Reader, o rfile.WriterOptions, how way) []byte {
	t.Helper()
	for _, g := range r.Groups() {
		for _, f := range g.Families {
			o.FamilyOrder = append(o.FamilyOrder, f.Family)
		}
	}
	var out buffer
	w, err := rfile.NewWriter(&out, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range r.Groups() {
		if err := startLike(w, g); err != nil {
			t.Fatal(err)
		}
		if err := copyGroup(w, r, g, how); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	return out
}

// buffer is a file in memory.
type buffer []byte

func (b *buffer) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

func startLike(w *rfile.Writer, g *rfile.Group) error {
	if g.Default {
		return w.StartDefaultGroup()
	}
	var families [][]byte
	for _, f := range g.Families {
		families = append(families, f.Family)
	}
	return w.StartGroup(g.Name, families)
}

func copyGroup(w *rfile.Writer, r *rfile.Reader, g *rfile.Group, how way) error {
	c := r.Cursor(g, rfile.CursorOptions{})
	defer c.Close()
	ctx := context.Background()
	if err := c.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		return err
	}
	for {
		b, err := c.Next(ctx)
		if err != nil || b == nil {
			return err
		}
		if how == byRuns {
			if err := w.AppendRun(b, b.Codes[0], 0, b.Len()); err != nil {
				return err
			}
			continue
		}
		for i := range b.Len() {
			k := b.Key(i)
			if err := w.Append(&k, b.Value(i)); err != nil {
				return err
			}
		}
	}
}

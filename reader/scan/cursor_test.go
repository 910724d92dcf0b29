package scan

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"millrace/tablet"
	"millrace/tablet/iter"
)

// TestCursor: wherever a cursor is sought, it gives what the slow way gives for that range.
func TestCursor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs := drawRuns(t)
		spec := Spec{MaxVersions: rapid.IntRange(0, 2).Draw(t, "versions"), Mode: iter.New}
		c, err := OpenCursor(iter.NewPool(), sources(runs), spec)
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		for range rapid.IntRange(1, 5).Draw(t, "seeks") {
			spec.Range = drawRange(t)
			want := slowly(runs, spec)
			got := []string{}
			err := c.Seek(ctx, spec.Range)
			for n := rapid.IntRange(0, len(want)+1).Draw(t, "entries"); err == nil && len(got) < n; err = c.Next(ctx) {
				e, ok := c.Top()
				if !ok {
					break
				}
				got = append(got, show(e))
			}
			if err != nil && len(got) < len(want) {
				t.Fatal(err)
			}
			if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
				t.Fatalf("%v: got\n%q\nwant\n%q", spec.Range, got, want)
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// endless is an iterator that does not stop at the end of the range it was sought to, as iterators may.
type endless struct{ iter.Iterator }

func (e *endless) Init(_ map[string]string, env iter.Env) error {
	e.Iterator = env.Source
	return nil
}

func (e *endless) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	open := tablet.Range{}
	if start, ok := r.Start(); ok {
		open = open.WithStart(start.Key)
	}
	return e.Iterator.Seek(ctx, open, f)
}

func init() { iter.Register("EndlessIterator", func() iter.Iterator { return &endless{} }) }

func TestCursorEndsWithItsRange(t *testing.T) {
	entry := func(row string) tablet.Entry {
		return tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: []byte(row), Timestamp: 1})}
	}
	spec := Spec{Mode: iter.New, Iterators: []iter.Setting{{Name: "endless", Class: "EndlessIterator", Priority: 30}}}
	c, err := OpenCursor(iter.NewPool(), sources([][]tablet.Entry{{entry("a"), entry("b"), entry("c")}}), spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Seek(t.Context(), tablet.ExactRow([]byte("b"))); err != nil {
		t.Fatal(err)
	}
	if e, ok := c.Top(); !ok || string(e.Key.Row()) != "b" {
		t.Errorf("stands on %v %v, want b", e, ok)
	}
	if err := c.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e, ok := c.Top(); ok {
		t.Errorf("stands on %v behind the range", e)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

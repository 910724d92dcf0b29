package actors_test

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/iter"
)

// generator makes one entry where there is none, unless it is told to make nothing.
type generator struct {
	source  iter.Iterator
	silent  bool
	entry   tablet.Entry
	waiting bool
}

func init() { iter.Register("TestGenerator", func() iter.Iterator { return &generator{} }) }

func (g *generator) Init(opts map[string]string, env iter.Env) error {
	g.source, g.silent = env.Source, opts["silent"] != ""
	return nil
}

func (g *generator) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	if err := g.source.Seek(ctx, r, f); err != nil {
		return err
	}
	_, has := g.source.Top()
	row := "made"
	key := func() tablet.Key {
		return tablet.NewKey(tablet.Fields{Row: []byte(row), Family: []byte("f"), Timestamp: 1})
	}
	if k := key(); !r.Contains(&k) { // the other tablet
		row = "nx"
	}
	g.entry = tablet.Entry{Key: key(), Value: []byte("v")}
	g.waiting = !has && !g.silent
	return nil
}

func (g *generator) Next(ctx context.Context) error {
	if g.waiting {
		g.waiting = false
		return nil
	}
	return g.source.Next(ctx)
}

func (g *generator) Top() (tablet.Entry, bool) {
	if g.waiting {
		return g.entry, true
	}
	return g.source.Top()
}

func (g *generator) Clone(env iter.Env) (iter.Iterator, error) {
	return &generator{source: env.Source, silent: g.silent}, nil
}

// A compaction that a user asks for runs a table's iterators also where there are no files; what they make is there from
// then on, below everything that is written later, and after a crash.
func TestCompactionOfNothingRunsIterators(t *testing.T) {
	mem := vfs.Mem()
	fs := vfs.Faulty(mem)
	s := openStore(t, fs)
	compact := func(passes, files int) {
		t.Helper()
		done, err := s.Compact(t.Context(), "ci", actors.CompactOptions{})
		if err != nil {
			t.Fatal(err)
		}
		stats, err := s.Stats(t.Context(), "ci")
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range done {
			if d.Passes != passes || len(stats[i].Files) != files || stats[i].Jobs > 0 {
				t.Errorf("%v: %d passes, files %v, want %d passes and %d files", d.Extent, d.Passes, stats[i].Files, passes, files)
			}
		}
	}
	mustCreate(t, s, [][]byte{[]byte("n")}, plain)
	compact(0, 0) // without iterators there is nothing to do
	set := func(p map[string]string) {
		t.Helper()
		if err := s.SetProperties(t.Context(), "ci", p); err != nil {
			t.Fatal(err)
		}
	}
	set(map[string]string{"table.iterator.majc.make": "30,TestGenerator", "table.iterator.majc.make.opt.silent": "yes"})
	compact(1, 0)
	set(map[string]string{"table.iterator.majc.make.opt.silent": ""})
	for _, op := range []vfs.Op{vfs.OpCreate, vfs.OpSyncDir} { // before the job has written, and when its record fails
		fs.Add(vfs.Rule{Op: op, Name: map[vfs.Op]string{vfs.OpCreate: "*.rf", vfs.OpSyncDir: "data"}[op], N: 1, Err: syscall.EIO})
		if _, err := s.Compact(t.Context(), "ci", actors.CompactOptions{}); !errors.Is(err, syscall.EIO) {
			t.Errorf("a compaction whose %v fails: %v", op, err)
		}
		fs.Heal()
		set(map[string]string{"table.iterator.majc.make.opt.silent": "yes"})
		dropAll(t, s)
		set(map[string]string{"table.iterator.majc.make.opt.silent": ""})
	}
	compact(1, 1)
	want := []string{"made f  = v", "nx f  = v"}
	check := func(s *actors.Store) {
		t.Helper()
		if got := scanRows(t, s, actors.ScanOptions{}); !slices.Equal(got, want) {
			t.Errorf("entries %q, want %q", got, want)
		}
	}
	check(s)
	m := tablet.NewMutation([]byte("made"))
	m.Add(tablet.Update{Family: []byte("f"), Timestamp: 1, HasTimestamp: true, Value: []byte("later")})
	mustApply(t, s, []*tablet.Mutation{m})
	want[0] = "made f  = later"
	check(s)
	crashed := openStore(t, mem.Durable())
	check(crashed)
	closeStore(t, crashed)
	compact(1, 1)
	check(s)
	closeStore(t, s)
}

// dropAll deletes every row there is, and leaves no file.
func dropAll(t *testing.T, s *actors.Store) {
	t.Helper()
	for _, row := range []string{"made", "nx"} {
		m := tablet.NewMutation([]byte(row))
		m.Add(tablet.Update{Family: []byte("f"), Timestamp: 1, HasTimestamp: true, Deleted: true})
		mustApply(t, s, []*tablet.Mutation{m})
	}
	if _, err := s.Compact(t.Context(), "ci", actors.CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	for tries := 0; ; tries++ { // files go behind the answer
		names, err := s.FilesForTest()
		if err == nil && len(names) == 0 {
			return
		}
		if tries == 1000 {
			t.Fatalf("files %v, %v", names, err)
		}
		time.Sleep(time.Millisecond)
	}
}

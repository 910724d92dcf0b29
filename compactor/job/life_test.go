package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"millrace/internal/invariant"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/memtable"
	"millrace/tablet/rfile"
)

// small is a job over three files of 300 entries in two groups, with all but its file system set.
func small(t *testing.T, s *store) Spec {
	t.Helper()
	spec := Spec{Mode: iter.New, Writer: rfile.WriterOptions{Codec: "none", BlockBytes: 1000, FileID: [16]byte{1}}}
	for i, entries := range ingest(rand.New(rand.NewPCG(1, 1)), 300, 3) {
		for n := range entries {
			if n%3 == 0 {
				f := tablet.Fields{Row: entries[n].Key.Row(), Family: []byte("one"), Timestamp: 7}
				entries[n].Key = tablet.NewKey(f)
			}
		}
		name := fmt.Sprintf("in%d", i)
		s.write(name, entries, nil)
		spec.Inputs = append(spec.Inputs, File(s.open(name)))
	}
	spec.Groups = []GroupSpec{{Name: "g", Families: [][]byte{[]byte("one")}}}
	return spec
}

func start(t *testing.T, spec Spec, pool *iter.Pool) *Job {
	t.Helper()
	j, err := New(spec, pool)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// exists says whether a file is there.
func exists(t *testing.T, fsys vfs.FS, name string) bool {
	t.Helper()
	_, err := fsys.Stat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// TestInterrupted discards a job after each number of steps: no output stays, no file stays open, and the merge is back
// in its pool.
func TestInterrupted(t *testing.T) {
	mem := vfs.Mem()
	s := &store{t: t, fs: mem}
	spec := small(t, s)
	inputs := mem.OpenFiles()
	pool := iter.NewPool()
	for after := 0; ; after++ {
		name := s.output(&spec)
		j := start(t, spec, pool)
		done := false
		for range after {
			var err error
			if done, err = j.Step(ctx, 10); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := j.Discard(); err != nil {
				t.Fatalf("discard after %d steps: %v", after, err)
			}
		}
		if mem.OpenFiles() != inputs {
			t.Fatalf("after %d steps %d files are open, want %d", after, mem.OpenFiles(), inputs)
		}
		if exists(t, mem, name) != done {
			t.Fatalf("after %d steps, done %v: output exists %v", after, done, !done)
		}
		if after > 0 && pool.Idle() != 1 {
			t.Fatalf("after %d steps %d merges are at rest, want 1", after, pool.Idle())
		}
		_, err := j.Step(ctx, 10)
		if done && err != nil || !done && !errors.Is(err, tablet.ErrClosed) {
			t.Fatalf("step after discard, done %v: %v", done, err)
		}
		if done {
			if after < 30 {
				t.Fatalf("300 entries in %d steps of 10", after)
			}
			return
		}
	}
}

// TestStepIsBounded wants every step to write, or drop, about as much as it may.
func TestStepIsBounded(t *testing.T) {
	s := newStore(t)
	spec := small(t, s)
	var marked []tablet.Entry // a cell whose 500 versions one marker hides
	for ts := range 500 {
		marked = append(marked, tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: []byte("0"), Timestamp: int64(-ts), Deleted: ts == 0})})
	}
	s.write("marked", marked, nil)
	spec.Inputs = append(spec.Inputs, File(s.open("marked")))
	for _, iterators := range []bool{false, true} {
		if iterators {
			spec.Iterators = []iter.Setting{{Name: "i", Class: "PassIterator", Priority: 1}}
		}
		s.output(&spec)
		j := start(t, spec, nil)
		steps, last := 0, j.Progress()
		for {
			done, err := j.Step(ctx, 7)
			if err != nil {
				t.Fatal(err)
			}
			p := j.Progress()
			if p.Written-last.Written > 7 {
				t.Fatalf("step %d wrote %d entries", steps, p.Written-last.Written)
			}
			if read := p.Read - last.Read; !iterators && read > 7+50 { // a block of the marked file more
				t.Fatalf("step %d read %d entries", steps, read)
			}
			if p.Read < last.Read || p.Bytes < last.Bytes {
				t.Fatalf("progress from %+v to %+v", last, p)
			}
			last = p
			steps++
			if done {
				break
			}
		}
		if last.Read != 800 || last.Written != 301 || steps < 301/7 {
			t.Errorf("%d steps, %+v", steps, last)
		}
		meta, _ := j.Result()
		if last.Bytes != meta.Bytes {
			t.Errorf("%d bytes in the end, the file has %d", last.Bytes, meta.Bytes)
		}
	}
}

func init() {
	iter.Register("PassIterator", func() iter.Iterator { return &pass{} })
	iter.Register("BrokenIterator", func() iter.Iterator { return &broken{} })
}

// pass hands everything on.
type pass struct{ iter.Iterator }

func (p *pass) Init(_ map[string]string, env iter.Env) error {
	p.Iterator = env.Source
	return nil
}

// broken misbehaves as its option "how" says, at the third entry.
type broken struct {
	iter.Iterator
	how string
	n   int
}

func (b *broken) Init(opts map[string]string, env iter.Env) error {
	b.Iterator, b.how = env.Source, opts["how"]
	return nil
}

func (b *broken) Next(ctx context.Context) error {
	if b.n++; b.n == 3 {
		switch b.how {
		case "panic":
			var none []int
			_ = none[b.n]
		case "invariant":
			invariant.Fail("broken on purpose")
		case "error":
			return errors.New("broken on purpose")
		}
	}
	return b.Iterator.Next(ctx)
}

func (b *broken) Top() (tablet.Entry, bool) {
	e, ok := b.Iterator.Top()
	if b.n == 3 {
		switch b.how {
		case "before":
			e.Key = tablet.RowKey([]byte("\x00"))
		case "after":
			e.Key = tablet.RowKey([]byte("zz"))
		case "family":
			e.Key = tablet.NewKey(tablet.Fields{Row: e.Key.Row(), Family: []byte("two"), Timestamp: 1})
		}
	}
	return e, ok
}

// TestBrokenIterator wants a clear error and nothing left behind, whatever a user iterator does.
func TestBrokenIterator(t *testing.T) {
	f := func(how, want string) {
		t.Helper()
		mem := vfs.Mem()
		s := &store{t: t, fs: mem}
		spec := small(t, s)
		spec.Range = tablet.RowRange(tablet.RowBounds{Start: []byte("0"), End: []byte("z")})
		spec.Iterators = []iter.Setting{{Name: "b", Class: "BrokenIterator", Priority: 1, Options: map[string]string{"how": how}}}
		name := s.output(&spec)
		pool := iter.NewPool()
		j := start(t, spec, pool)
		_, err := run(j, 10)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", how, err, want)
		}
		if _, again := j.Step(ctx, 10); again == nil || again.Error() != err.Error() {
			t.Errorf("%s: another step: %v", how, again)
		}
		if err := j.Discard(); err != nil || exists(t, mem, name) || pool.Idle() != 1 {
			t.Errorf("%s: discard: %v, output exists %v, %d merges at rest", how, err, exists(t, mem, name), pool.Idle())
		}
	}
	f("panic", "an iterator panicked: runtime error: index out of range")
	f("error", "broken on purpose")
	f("before", "outside")
	f("family", `family "two" in group "g"`)

	defer func() {
		if _, ours := recover().(*invariant.Violation); !ours {
			t.Error("a violated invariant was taken for an iterator's fault")
		}
	}()
	f("invariant", "")
}

// TestIteratorPastEnd ends a group where its iterator leaves the range.
func TestIteratorPastEnd(t *testing.T) {
	s := newStore(t)
	spec := small(t, s)
	spec.Groups = nil
	spec.Range = tablet.RowRange(tablet.RowBounds{End: []byte("z")})
	spec.Iterators = []iter.Setting{{Name: "b", Class: "BrokenIterator", Priority: 1, Options: map[string]string{"how": "after"}}}
	s.output(&spec)
	j := start(t, spec, nil)
	if _, err := run(j, 100); err != nil {
		t.Fatal(err)
	}
	if meta, books := j.Result(); meta.Entries != 3 || books.Balance() != nil {
		t.Errorf("%d entries, %+v", meta.Entries, books)
	}
}

// TestDiskFails lets each call on the output fail, and wants the error, and nothing left behind.
func TestDiskFails(t *testing.T) {
	s := newStore(t)
	spec := small(t, s)
	f := func(op vfs.Op, n int) bool {
		t.Helper()
		mem := vfs.Mem()
		faulty := vfs.Faulty(mem, vfs.Rule{Op: op, N: n, Err: syscall.ENOSPC})
		out := &store{t: t, fs: faulty}
		name := out.output(&spec)
		j := start(t, spec, nil)
		_, err := run(j, 50)
		if len(faulty.Hits()) == 0 {
			if err != nil {
				t.Fatalf("%s, call %d: %v without a fault", op, n, err)
			}
			return false
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s, call %d: %v", op, n, err)
		}
		if err := j.Discard(); err != nil {
			t.Errorf("%s, call %d: discard: %v", op, n, err)
		}
		if exists(t, mem, name) || mem.OpenFiles() != 0 {
			t.Errorf("%s, call %d: output exists %v, %d files open", op, n, exists(t, mem, name), mem.OpenFiles())
		}
		return true
	}
	for _, op := range []vfs.Op{vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpClose} {
		n := 1
		for f(op, n) {
			n++
		}
		if n == 1 {
			t.Errorf("no call of %s", op)
		}
	}
}

// TestCreateFails never removes what it did not make.
func TestCreateFails(t *testing.T) {
	s := newStore(t)
	spec := small(t, s)
	name := s.output(&spec)
	s.write(name, nil, nil)
	j := start(t, spec, nil)
	if _, err := j.Step(ctx, 10); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
	if err := j.Discard(); err != nil || !exists(t, s.fs, name) {
		t.Errorf("discard: %v, the other's file exists %v", err, exists(t, s.fs, name))
	}
}

// TestReadFails wants an error from each read of an input.
func TestReadFails(t *testing.T) {
	s := newStore(t)
	spec := small(t, s)
	faulty := vfs.Faulty(s.fs)
	in := &store{t: t, fs: faulty}
	for i := range spec.Inputs {
		spec.Inputs[i] = File(in.open(fmt.Sprintf("in%d", i)))
	}
	for n := 1; ; n++ {
		before := len(faulty.Hits())
		faulty.Heal()
		faulty.Add(vfs.Rule{Op: vfs.OpRead, N: n})
		s.output(&spec)
		j := start(t, spec, nil)
		_, err := run(j, 50)
		if len(faulty.Hits()) == before {
			if err != nil || n < 10 {
				t.Fatalf("%d reads, %v", n-1, err)
			}
			return
		}
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("read %d: %v", n, err)
		}
		if err := j.Discard(); err != nil {
			t.Errorf("read %d: discard: %v", n, err)
		}
	}
}

func TestCancelled(t *testing.T) {
	s := newStore(t)
	spec := small(t, s)
	name := s.output(&spec)
	j := start(t, spec, nil)
	if _, err := j.Step(ctx, 10); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := j.Step(cancelled, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := j.Discard(); err != nil || exists(t, s.fs, name) {
		t.Errorf("discard: %v, output exists %v", err, exists(t, s.fs, name))
	}
}

// TestSynced wants the output durable when the job says that it is done, its name apart.
func TestSynced(t *testing.T) {
	mem := vfs.Mem()
	s := &store{t: t, fs: mem}
	spec := small(t, s)
	name := s.output(&spec)
	j := start(t, spec, nil)
	if _, err := run(j, 50); err != nil {
		t.Fatal(err)
	}
	if err := mem.SyncDir("."); err != nil {
		t.Fatal(err)
	}
	meta, _ := j.Result()
	info, err := mem.Durable().Stat(name)
	if err != nil || info.Bytes != meta.Bytes {
		t.Errorf("%d bytes are durable of %d, %v", info.Bytes, meta.Bytes, err)
	}
}

func TestMinor(t *testing.T) {
	table := memtable.New()
	for _, e := range parseEntries(t, "x f:q [] 9 delete\nx f:q [] 8 v\ny g:q [] 1 v\ny g:q [] 1 later") {
		table.Insert(&e.Key, e.Value)
	}
	s := newStore(t)
	spec := Spec{Inputs: []Input{Memory(table.Snapshot())}, Minor: true, Groups: []GroupSpec{{Name: "one", Families: [][]byte{[]byte("g")}}}, Mode: iter.New}
	name := s.output(&spec)
	j := start(t, spec, nil)
	if _, err := run(j, 50); err != nil {
		t.Fatal(err)
	}
	_, books := j.Result()
	got := s.show(name) + formatBooks(books)
	want := "group one\ny g:q [] 1 later\ny g:q [] 1 v\ndefault group\nx f:q [] 9 delete\nread 4, written 3, hidden 1\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestFenced(t *testing.T) {
	s := newStore(t)
	s.write("in", parseEntries(t, "a f:q [] 1 v\nb f:q [] 1 v\nc f:q [] 1 v\nd f:q [] 1 v"), nil)
	spec := Spec{Mode: iter.New}
	for _, rows := range []string{"ab", "cc"} {
		fence := tablet.RowRange(tablet.RowBounds{Start: []byte(rows[:1]), End: []byte(rows[1:])})
		spec.Inputs = append(spec.Inputs, Fenced(File(s.open("in")), fence))
	}
	name := s.output(&spec)
	j := start(t, spec, nil)
	if _, err := run(j, 50); err != nil {
		t.Fatal(err)
	}
	if got, want := s.show(name), "a f:q [] 1 v\nb f:q [] 1 v\nc f:q [] 1 v\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestSpecRefused(t *testing.T) {
	f := func(want string, change func(*Spec)) {
		t.Helper()
		s := newStore(t)
		var spec Spec
		s.output(&spec)
		change(&spec)
		if _, err := New(spec, nil); !errors.Is(err, tablet.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	f("create and remove", func(s *Spec) { s.Create = nil })
	f("create and remove", func(s *Spec) { s.Remove = nil })
	f("are -1", func(s *Spec) { s.MaxVersions = -1 })
	f("block size is -1", func(s *Spec) { s.Writer.BlockBytes = -1 })
	f(`"" is empty`, func(s *Spec) { s.Groups = []GroupSpec{{}} })
	f("set twice", func(s *Spec) {
		s.Iterators = []iter.Setting{{Name: "a", Class: "PassIterator"}, {Name: "a", Class: "PassIterator"}}
	})
	f(`"Pass", nearest is "PassIterator"`, func(s *Spec) { s.Iterators = []iter.Setting{{Name: "a", Class: "Pass"}} })
	f("mode 200", func(s *Spec) { s.Mode = 200 })
}

package iter

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"
	"weak"

	"millrace/internal/invariant"
	"millrace/tablet"
)

// pinned is a source whose batch lies in memory of its own, so that weak pointers can watch it.
type pinned struct {
	batch *tablet.Batch
	given bool
}

func newPinned(start *tablet.Key) *pinned {
	key := tablet.NewKey(tablet.Fields{Row: make([]byte, 1024)})
	// Small objects share memory with others, and would stay with them.
	b := &tablet.Batch{Raw: make([]byte, 1024), Codes: make([]uint64, 0, 128)}
	b.AppendKey(&key, tablet.CodeOf(start, &key), 0, 1024)
	return &pinned{batch: b}
}

func (p *pinned) Seek(context.Context, tablet.Range, tablet.Families) error { return nil }

func (p *pinned) Next(context.Context) (*tablet.Batch, error) {
	if p.given {
		return nil, nil
	}
	p.given = true
	return p.batch, nil
}

func (p *pinned) Close() error { return nil }

// watched opens k sources and reads a stack of everything over them, to the end or not, and closes it. It returns what
// tells that an object is gone.
func watched(t *testing.T, pool *Pool, mode Mode, k int, stopEarly bool) (gone []func() bool) {
	start := tablet.NewKey(tablet.Fields{Row: make([]byte, 512)})
	sources := make([]Source, k)
	for i := range sources {
		p := newPinned(&start)
		sources[i] = p
		source, batch, codes := weak.Make(p), weak.Make(p.batch), weak.Make(&p.batch.Codes[0])
		key, value := weak.Make(&p.batch.Arena[0]), weak.Make(&p.batch.Raw[0])
		gone = append(gone, func() bool {
			return source.Value() == nil && batch.Value() == nil && codes.Value() == nil && key.Value() == nil && value.Value() == nil
		})
	}
	label := make([]byte, 1024)
	seen := weak.Make(&label[0])
	startBytes := weak.Make(&start.Data()[0])
	gone = append(gone, func() bool { return seen.Value() == nil && startBytes.Value() == nil })

	s := NewStack(verified(pool.Get(mode, sources)), StackOptions{
		Visible: func(l []byte) bool { return len(label) > len(l) },
		Columns: FetchColumns(Column{Family: label[:0], Qualifier: label[:0]}),
	})
	if err := s.Seek(ctx, tablet.Range{}.WithStart(start), tablet.OnlyFamilies(label[:0])); err != nil {
		t.Fatal(err)
	}
	runs := make([]Run, 1)
	for {
		n, err := s.Fill(ctx, runs)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 || stopEarly {
			break
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return gone
}

// TestPoolLetsGo wants everything a merge touched to be collectable after Close, while the pool holds the merge.
func TestPoolLetsGo(t *testing.T) {
	for _, mode := range allModes {
		pool := NewPool()
		for _, k := range []int{1, 2, 3, 300} {
			for _, stopEarly := range []bool{false, true} {
				gone := watched(t, pool, mode, k, stopEarly)
				runtime.GC()
				runtime.GC()
				for i, g := range gone {
					if !g() {
						t.Errorf("%v, %d sources, stopped early %v: object %d is still held", mode, k, stopEarly, i)
					}
				}
			}
		}
		if pool.Idle() != 4 {
			t.Errorf("%d merges at rest, want 4", pool.Idle())
		}
		runtime.KeepAlive(pool)
	}
}

// TestPoolLetsGoUnsought closes merges that were never sought, with a stack and without, in a pool that has one with a stack:
// there is less to reset, and nothing of it may stay.
func TestPoolLetsGoUnsought(t *testing.T) {
	pool := NewPool()
	for round := range 4 {
		f := func(stacked bool) (gone []func() bool) {
			start := tablet.NewKey(tablet.Fields{Row: make([]byte, 512)})
			label := make([]byte, 1024)
			sources := []Source{newPinned(&start), newPinned(&start)}
			for _, s := range sources {
				p := weak.Make(s.(*pinned))
				gone = append(gone, func() bool { return p.Value() == nil })
			}
			seen := weak.Make(&label[0])
			gone = append(gone, func() bool { return seen.Value() == nil })
			m := pool.Get(Tree, sources)
			if stacked {
				NewStack(m, StackOptions{Visible: func(l []byte) bool { return len(label) > len(l) }})
			}
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			return gone
		}
		gone := f(round%2 == 0)
		runtime.GC()
		runtime.GC()
		for i, g := range gone {
			if !g() {
				t.Errorf("round %d: object %d is still held", round, i)
			}
		}
	}
	if pool.Idle() != 1 {
		t.Errorf("%d merges at rest, want 1", pool.Idle())
	}
	runtime.KeepAlive(pool)
}

func TestPoolReuses(t *testing.T) {
	pool := NewPool()
	sources := func(n int) []Source {
		out := make([]Source, n)
		for i := range out {
			out[i] = FromEntries(nil, 1)
		}
		return out
	}
	f := func(first, second int, same bool) {
		t.Helper()
		a := pool.Get(New, sources(first))
		g := a.Generation()
		a.Close()
		b := pool.Get(Old, sources(second))
		if (a == b) != same {
			t.Errorf("%d then %d sources: same object %v, want %v", first, second, a == b, same)
		}
		if a == b && b.Generation() == g {
			t.Errorf("generation stayed %d", g)
		}
		if b.Sources() != second || b.Mode() != Old || b.Stats() != (Stats{}) {
			t.Errorf("%d sources, mode %v, %+v", b.Sources(), b.Mode(), b.Stats())
		}
		b.Close()
	}
	f(0, 0, true)
	f(0, 1, true)
	f(2, 1, false)
	f(3, 4, true)
	f(5, 8, true)
	f(8, 9, false)
	f(129, 256, true)
}

func TestCloseOnce(t *testing.T) {
	boom := errors.New("boom")
	pool := NewPool()
	a, b := FromEntries(nil, 1), FromEntries(nil, 1)
	m := pool.Get(New, []Source{&closeFails{a, boom}, b})
	if err := m.Close(); !errors.Is(err, boom) {
		t.Errorf("close: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if a.Closed != 1 || b.Closed != 1 {
		t.Errorf("sources closed %d and %d times", a.Closed, b.Closed)
	}
	if pool.Idle() != 1 {
		t.Errorf("%d at rest", pool.Idle())
	}
}

type closeFails struct {
	*SliceSource
	err error
}

func (c *closeFails) Close() error {
	c.SliceSource.Close()
	return c.err
}

// TestCloseGoesOn closes a merge again after a source panicked: the others are closed, once, and the merge is at rest.
func TestCloseGoesOn(t *testing.T) {
	pool := NewPool()
	a, b := FromEntries(nil, 1), FromEntries(nil, 1)
	m := pool.Get(Tree, []Source{a, &closePanics{}, b})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		m.Close()
	}()
	if pool.Idle() != 0 {
		t.Error("a merge that is not closed is at rest")
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if a.Closed != 1 || b.Closed != 1 || pool.Idle() != 1 {
		t.Errorf("sources closed %d and %d times, %d merges at rest", a.Closed, b.Closed, pool.Idle())
	}
}

type closePanics struct{ SliceSource }

func (*closePanics) Close() error { panic("source is broken") }

func TestUseAfterClose(t *testing.T) {
	pool := NewPool()
	f := func(what string, use func(m *Merge) error) {
		t.Helper()
		m := pool.Get(New, []Source{FromEntries(nil, 1)})
		if err := m.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
			t.Fatal(err)
		}
		m.Close()
		defer func() {
			t.Helper()
			if r := recover(); (r != nil) != invariant.Enabled {
				t.Errorf("%s: panic %v", what, r)
			}
		}()
		if err := use(m); !errors.Is(err, tablet.ErrClosed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	f("seek", func(m *Merge) error { return m.Seek(ctx, tablet.Range{}, tablet.Families{}) })
	f("fill", func(m *Merge) error { _, err := m.Fill(ctx, make([]Run, 1)); return err })
}

// TestPoolTrim keeps as many objects as were ever out at once since the last time.
func TestPoolTrim(t *testing.T) {
	pool := NewPool()
	get := func(n int) (out []*Merge) {
		for range n {
			out = append(out, pool.Get(New, []Source{FromEntries(nil, 1), FromEntries(nil, 1)}))
		}
		return out
	}
	put := func(ms []*Merge) {
		for _, m := range ms {
			m.Close()
		}
	}
	f := func(what string, want int) {
		t.Helper()
		pool.Trim()
		if pool.Idle() != want {
			t.Errorf("%s: %d at rest, want %d", what, pool.Idle(), want)
		}
	}
	put(get(10))
	f("after a peak", 10)
	held := get(2)
	f("two in use", 0)
	put(held)
	f("two back", 2)
	put(get(1))
	f("one used", 1)
	f("none used", 0)
}

func TestPoolAllocatesNothing(t *testing.T) {
	pool := NewPool()
	batches := Batches(ingestKeys(rand.New(rand.NewPCG(1, 1)), 100), 10)
	for _, k := range []int{1, 2, 255, 300} {
		sources := make([]Source, k)
		for i := range sources {
			sources[i] = FromBatches(batches[:min(len(batches), 255/k)])
		}
		for _, mode := range allModes {
			get := func() *Merge { return pool.Get(mode, sources) }
			if got := testing.AllocsPerRun(100, func() { get().Close() }); got != 0 {
				t.Errorf("%v, %d sources: %v allocations, want 0", mode, k, got)
			}
			if invariant.Enabled {
				continue // copies of batches are made, see lent
			}
			runs := make([]Run, 8)
			read := func() {
				m := get()
				if err := m.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
					t.Fatal(err)
				}
				drainRuns(t, m, runs)
				m.Close()
			}
			if got := testing.AllocsPerRun(20, read); got != 0 {
				t.Errorf("%v, %d sources, read to the end: %v allocations, want 0", mode, k, got)
			}
		}
	}
}

package manifest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
)

// model is the obvious way to keep what a State keeps: maps that are changed in place.
type model struct {
	next, lsn, opened uint64
	tables            map[string]*modelTable
}

type modelTable struct {
	id         uint64
	properties map[string]string
	tablets    []*Tablet // in order
}

func newModel() *model { return &model{tables: map[string]*modelTable{}} }

func (m *model) spend(n uint64) { m.next = max(m.next, n+1) }

// of finds a tablet and where it stands.
func (m *model) of(number uint64) (*modelTable, int) {
	for _, t := range m.tables {
		for i, tab := range t.tablets {
			if tab.Number == number {
				return t, i
			}
		}
	}
	return nil, 0
}

func (m *model) apply(e Edit) {
	switch e := e.(type) {
	case CreateTable:
		t := &modelTable{id: e.ID, properties: e.Properties}
		m.spend(e.ID)
		for i, n := range e.Tablets {
			tab := &Tablet{Number: n, NextAge: 1}
			tab.Extent.Table = e.Table
			if i > 0 {
				tab.Extent.PrevEndRow = e.Splits[i-1]
			}
			if i < len(e.Splits) {
				tab.Extent.EndRow = e.Splits[i]
			}
			m.spend(n)
			t.tablets = append(t.tablets, tab)
		}
		m.tables[e.Table] = t
	case DropTable:
		delete(m.tables, e.Table)
	case SetProperties:
		m.tables[e.Table].properties = e.Properties
	case Install:
		t, i := m.of(e.Tablet)
		t.tablets[i].Session, t.tablets[i].Time = e.Session, e.Time
		m.exchange(t.tablets[i], e.Remove, e.Add)
	case Swap:
		t, i := m.of(e.Tablet)
		m.exchange(t.tablets[i], e.Remove, e.Add)
	case Import:
		t, i := m.of(e.Tablet)
		for j := range e.Add {
			m.exchange(t.tablets[i], nil, &e.Add[j])
		}
	case Split:
		t, i := m.of(e.Tablet)
		low, high := *t.tablets[i], *t.tablets[i]
		low.Extent.EndRow, high.Extent.PrevEndRow = e.Row, e.Row
		for _, h := range []struct {
			tab  *Tablet
			half Half
		}{{&low, e.Low}, {&high, e.High}} {
			m.spend(h.half.Number)
			h.tab.Number = h.half.Number
			h.tab.Files = slices.DeleteFunc(slices.Clone(h.tab.Files), func(f FileRef) bool { return !slices.Contains(h.half.Files, f.Number) })
		}
		t.tablets = slices.Replace(t.tablets, i, i+1, &low, &high)
	case Advance:
		m.next, m.lsn = max(m.next, e.NextNumber), max(m.lsn, e.NextLSN)
	case Open:
		m.next, m.lsn, m.opened = max(m.next, e.NextNumber), max(m.lsn, e.NextLSN), max(m.opened, e.NextNumber)
	}
}

func (m *model) exchange(t *Tablet, remove []uint64, add *FileRef) {
	t.Files = slices.DeleteFunc(slices.Clone(t.Files), func(f FileRef) bool { return slices.Contains(remove, f.Number) })
	if add != nil {
		m.spend(add.Number)
		t.Files = append(t.Files, *add)
		slices.SortFunc(t.Files, func(a, b FileRef) int { return -cmp.Compare(a.Ages.Newest, b.Ages.Newest) })
		t.NextAge = max(t.NextAge, add.Ages.Newest+1)
	}
}

// String is what State's should be.
func (m *model) String() string {
	out := fmt.Sprintf("next number %d, next sequence number %d, opened at %d\n", max(m.next, 1), max(m.lsn, 1), m.opened)
	for _, name := range slices.Sorted(maps.Keys(m.tables)) {
		t := m.tables[name]
		out += fmt.Sprintf("table %q, ID %d\n", name, t.id)
		for _, k := range slices.Sorted(maps.Keys(t.properties)) {
			out += fmt.Sprintf("  %s=%q\n", k, t.properties[k])
		}
		for _, tab := range t.tablets {
			out += fmt.Sprintf("  tablet %d %v, time %d, session %d, next age %d\n", tab.Number, tab.Extent, tab.Time, tab.Session, tab.NextAge)
			for i := range tab.Files {
				out += fmt.Sprintf("    %v\n", &tab.Files[i])
			}
		}
	}
	return out
}

// claims counts how many tablets name each file.
func (m *model) claims() map[uint64]int {
	n := map[uint64]int{}
	for _, t := range m.tables {
		for _, tab := range t.tablets {
			for _, f := range tab.Files {
				n[f.Number]++
			}
		}
	}
	return n
}

// TestApplyAgainstModel holds random histories against the model, after each edit: the state, who names which file, which
// files lost their last claim, and that the state before is what it was.
func TestApplyAgainstModel(t *testing.T) {
	for c := range cases(15) {
		g, m, s := newGen(*seedFlag+uint64(c)), newModel(), Empty()
		for range 120 {
			e := g.edit(s)
			text, claims := s.String(), m.claims()
			d, err := change(s, []Edit{e})
			if err != nil {
				t.Fatalf("seed %d: %v", c, err)
			}
			m.apply(e)
			checkAgainst(t, &d.State, m)
			for _, f := range d.gone {
				if claims[f.Number] == 0 || m.claims()[f.Number] > 0 {
					t.Fatalf("%T says that %s is gone", e, f.Name)
				}
				delete(claims, f.Number)
			}
			for n := range claims {
				if m.claims()[n] == 0 {
					t.Fatalf("%T does not say that file %d is gone", e, n)
				}
			}
			if s.String() != text {
				t.Fatalf("%T changed the state before", e)
			}
			s = &d.State
		}
	}
}

func checkAgainst(t *testing.T, s *State, m *model) {
	t.Helper()
	if got, want := s.String(), m.String(); got != want {
		t.Fatalf("got\n%swant\n%s", got, want)
	}
	claims := m.claims()
	if s.FileCount() != len(claims) {
		t.Fatalf("%d files, want %d", s.FileCount(), len(claims))
	}
	for u := range s.files.all() {
		if claims[u.file.Number] != u.tablets {
			t.Fatalf("file %d is named by %d, want %d", u.file.Number, u.tablets, claims[u.file.Number])
		}
	}
}

// TestChunkedAgainstSlice holds the sequence against a slice, with enough items for many chunks.
func TestChunkedAgainstSlice(t *testing.T) {
	g := newGen(*seedFlag)
	var c chunked[int]
	var want []int
	find := func(x int) (place, bool) { return c.find(func(y int) int { return cmp.Compare(y, x) }) }
	for step := range 6000 {
		x := g.rng.IntN(4000)
		if step < 1500 {
			x = step // ascending, as numbers come
		}
		i, there := slices.BinarySearch(want, x)
		p, ok := find(x)
		if ok != there {
			t.Fatalf("step %d: find %d says %v", step, x, ok)
		}
		before := slices.Collect(c.all())
		old := c
		switch {
		case !there:
			c, want = c.insert(p, x), slices.Insert(want, i, x)
		case g.rng.IntN(3) > 0:
			c, want = c.remove(p), slices.Delete(want, i, i+1)
		default:
			c = c.set(p, x)
		}
		if !slices.Equal(slices.Collect(c.all()), want) || c.items != len(want) {
			t.Fatalf("step %d with %d: %d items, want %d", step, x, c.items, len(want))
		}
		if step%50 == 0 && !slices.Equal(slices.Collect(old.all()), before) {
			t.Fatalf("step %d changed what was there before", step)
		}
	}
	for _, chunk := range c.chunks {
		if len(chunk) == 0 || len(chunk) > chunkItems {
			t.Errorf("chunk of %d", len(chunk))
		}
	}
}

package manifest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"millrace/tablet"
)

var (
	seedFlag  = flag.Uint64("seed", 1, "seed of the tests that draw at random")
	casesFlag = flag.Int("n", 0, "number of cases to try; 0 is each test's default")
)

// cases is how many cases a test tries.
func cases(byDefault int) int {
	if *casesFlag > 0 {
		return *casesFlag
	}
	return max(byDefault/thin, 1)
}

// gen draws edits that a state allows.
type gen struct {
	rng  *rand.Rand
	next uint64
	rows int // rows are a0 … up to this
}

func newGen(seed uint64) *gen {
	return &gen{rng: rand.New(rand.NewPCG(seed, 0)), next: 1, rows: 50}
}

func (g *gen) number() uint64 {
	g.next += 1 + uint64(g.rng.IntN(2))
	return g.next - 1
}

// following is the next number, without a gap.
func (g *gen) following() uint64 {
	g.next++
	return g.next - 1
}

func row(n int) []byte { return fmt.Appendf(nil, "a%04d", n) }

// file makes a file with rows in a tablet; nil if the tablet has no room for any.
func (g *gen) file(t *Tablet, ages tablet.AgeRange) *FileRef {
	var inside []int
	for n := range g.rows {
		if t.Extent.Contains(row(n)) {
			inside = append(inside, n)
		}
	}
	n := g.number()
	f := &FileRef{FileMeta: tablet.FileMeta{
		Number: n, Name: FileName("F", n), Bytes: 1 + g.rng.Int64N(1e6), Entries: 1 + g.rng.Int64N(1000), Ages: ages, CRC: g.rng.Uint32(),
	}}
	f.Deletes = g.rng.Int64N(f.Entries + 1)
	f.ID[3] = byte(g.rng.Uint32())
	if g.rng.IntN(2) == 0 {
		f.TimestampsKnown, f.MinTimestamp, f.MaxTimestamp = true, -5, g.rng.Int64N(1e12)
	}
	if len(inside) > 0 && g.rng.IntN(5) > 0 {
		i := g.rng.IntN(len(inside))
		f.FirstRow = row(inside[i])
		f.LastRow = row(inside[i+g.rng.IntN(len(inside)-i)])
	}
	if g.rng.IntN(8) == 0 {
		f.Fence = Fence{After: []byte{}, Last: row(g.rng.IntN(g.rows))}
	}
	return f
}

// edit draws an edit that is legal in a state.
func (g *gen) edit(s *State) Edit {
	for {
		if e := g.try(s); e != nil {
			return e
		}
	}
}

func (g *gen) try(s *State) Edit {
	t := g.anyTablet(s)
	switch k := g.rng.IntN(20); {
	case t == nil || k == 0 && len(s.tables) < 4:
		return g.createTable(s)
	case k == 1 && g.rng.IntN(8) == 0:
		return DropTable{Table: t.Extent.Table}
	case k == 2:
		return SetProperties{Table: t.Extent.Table, Properties: map[string]string{"a": fmt.Sprint(g.rng.IntN(9)), "b.c": ""}}
	case k == 3:
		return Advance{NextNumber: g.number(), NextLSN: g.rng.Uint64N(1000)}
	case k < 10:
		return g.install(t)
	case k < 14:
		return g.swap(t)
	case k < 16:
		return g.importFiles(t)
	case k < 18:
		return g.split(t)
	}
	return nil
}

func (g *gen) anyTablet(s *State) *Tablet {
	if s.TabletCount() == 0 {
		return nil
	}
	all := slices.Collect(s.tablets.all())
	return all[g.rng.IntN(len(all))]
}

func (g *gen) createTable(s *State) Edit {
	e := CreateTable{ID: g.number(), Tablets: []uint64{g.number()}}
	for e.Table == "" || s.Table(e.Table) != nil {
		e.Table = fmt.Sprintf("t%d", g.rng.IntN(10))
	}
	for n := range g.rows {
		if g.rng.IntN(15) == 0 {
			e.Splits = append(e.Splits, row(n))
			e.Tablets = append(e.Tablets, g.number())
		}
	}
	if g.rng.IntN(2) == 0 {
		e.Properties = map[string]string{"table.durability": "log"}
	}
	return e
}

func (g *gen) install(t *Tablet) Edit {
	e := Install{Tablet: t.Number, Session: t.Session + 1 + g.rng.Uint64N(3), Time: t.Time + g.rng.Int64N(10)}
	ages := tablet.AgeRange{Oldest: t.NextAge, Newest: t.NextAge}
	if len(t.Files) > 0 && g.rng.IntN(4) == 0 { // a merging one takes the newest along
		e.Remove = []uint64{t.Files[0].Number}
		ages.Oldest = t.Files[0].Ages.Oldest
		if !mayReplace(t, e.Remove, ages) {
			return nil
		}
	}
	if g.rng.IntN(6) > 0 {
		e.Add = g.file(t, ages)
	}
	return e
}

// swap compacts some files, and passes over others if those share no key with them.
func (g *gen) swap(t *Tablet) Edit {
	if len(t.Files) == 0 {
		return nil
	}
	from := g.rng.IntN(len(t.Files))
	to := from + 1 + g.rng.IntN(len(t.Files)-from)
	e := Swap{Tablet: t.Number}
	ages := tablet.AgeRange{Oldest: maxNumber}
	for i, f := range t.Files[from:to] {
		if i == 0 || g.rng.IntN(4) > 0 {
			e.Remove = append(e.Remove, f.Number)
			ages.Oldest, ages.Newest = min(ages.Oldest, f.Ages.Oldest), max(ages.Newest, f.Ages.Newest)
		}
	}
	if !mayReplace(t, e.Remove, ages) {
		return nil
	}
	if g.rng.IntN(6) > 0 {
		e.Add = g.file(t, ages)
	}
	return e
}

// mayReplace says whether a file of some ages may take the place of others: no file that stays and whose ages meet them may
// hold a key of one that goes.
func mayReplace(t *Tablet, remove []uint64, ages tablet.AgeRange) bool {
	for _, f := range t.Files {
		if slices.Contains(remove, f.Number) || f.Ages.Newest < ages.Oldest || f.Ages.Oldest > ages.Newest {
			continue
		}
		for _, n := range remove {
			if mayShareKeys(&f, t.File(n)) {
				return false
			}
		}
	}
	return true
}

// mayShareKeys says whether two files' rows and timestamps, as far as they are known, both meet.
func mayShareKeys(a, b *FileRef) bool {
	apart := a.FirstRow != nil && b.FirstRow != nil && (string(a.LastRow) < string(b.FirstRow) || string(b.LastRow) < string(a.FirstRow)) ||
		a.TimestampsKnown && b.TimestampsKnown && (a.MaxTimestamp < b.MinTimestamp || b.MaxTimestamp < a.MinTimestamp)
	return !apart
}

func (g *gen) importFiles(t *Tablet) Edit {
	e := Import{Tablet: t.Number}
	for i := range 1 + g.rng.Uint64N(3) {
		age := t.NextAge + i
		e.Add = append(e.Add, *g.file(t, tablet.AgeRange{Oldest: age, Newest: age}))
	}
	return e
}

func (g *gen) split(t *Tablet) Edit {
	r := row(g.rng.IntN(g.rows))
	if !t.Extent.Contains(r) || compareEnds(r, t.Extent.EndRow) == 0 {
		return nil
	}
	e := Split{Tablet: t.Number, Row: r, Low: Half{Number: g.number()}, High: Half{Number: g.number()}}
	switch g.rng.IntN(3) {
	case 0:
		e.Low.Number = t.Number
	case 1:
		e.High.Number = t.Number
	}
	for _, f := range t.Files {
		if f.FirstRow == nil || compareEnds(f.FirstRow, r) <= 0 {
			e.Low.Files = append(e.Low.Files, f.Number)
		}
		if f.FirstRow == nil || compareEnds(f.LastRow, r) > 0 {
			e.High.Files = append(e.High.Files, f.Number)
		}
	}
	return e
}

// mustApply applies edits that are legal.
func mustApply(t testing.TB, s *State, edits ...Edit) *State {
	t.Helper()
	after, err := Apply(s, edits...)
	if err != nil {
		t.Fatalf("%v\n%v", err, s)
	}
	return after
}

// randomState applies so many random edits.
func randomState(t testing.TB, g *gen, edits int) *State {
	t.Helper()
	s := Empty()
	for range edits {
		s = mustApply(t, s, g.edit(s))
	}
	return s
}

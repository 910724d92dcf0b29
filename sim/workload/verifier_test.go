package workload

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"millrace/tablet"
)

type stored struct {
	key   tablet.Key
	value []byte
}

// storedBy runs a stream into the entries a store would show: the newest value of each cell.
func storedBy(g *Generator) []stored {
	at := map[string]int{}
	var all []stored
	for {
		w, ok := g.Next()
		if !ok {
			return all
		}
		s := stored{keyOf(w), append([]byte(nil), w.Value...)}
		if i, found := at[string(s.key.Data())]; found {
			all[i] = s
			continue
		}
		at[string(s.key.Data())] = len(all)
		all = append(all, s)
	}
}

func verify(entries []stored) Report {
	v := NewVerifier()
	for i := range entries {
		v.Add(&entries[i].key, entries[i].value)
	}
	return v.Report()
}

func TestVerifyWholeStream(t *testing.T) {
	const lists = 100
	o := Options{Seed: 1, FlushEntries: lists, Depth: 5, Limit: 2_000}
	g := newGenerator(t, o)
	all := storedBy(g)
	r := verify(all)
	c := g.Counts()
	// 3 cycles of 599 and 3 steps: each closed cycle leaves its last step's entry 0 unreferenced, the open one its newest step.
	if !r.OK() || r.Rows() != c.Cells() || r.Unreferenced != 3+lists || r.Entries != c.Cells() || len(r.Lost) != 0 {
		t.Errorf("%+v for %+v", r, c)
	}
}

func TestVerifyFindsLoss(t *testing.T) {
	all := storedBy(newGenerator(t, Options{Seed: 2, FlushEntries: 50, Depth: 3, Limit: 300}))
	whole := verify(all)
	for i := range all {
		row, _ := parseRow(all[i].key.Row())
		referrers := 0
		var by uint64
		for j := range all {
			v, _ := ParseValue(all[j].value)
			if v.HasPrevious && v.Previous == row {
				referrers++
				by, _ = parseRow(all[j].key.Row())
			}
		}
		without := append(append([]stored(nil), all[:i]...), all[i+1:]...)
		r := verify(without)
		if referrers == 0 {
			if !r.OK() || r.Rows() != whole.Rows()-1 {
				t.Fatalf("lost an unreferenced entry: %+v", r)
			}
			continue
		}
		want := []Lost{{Row: row, Referrers: []uint64{by}}}
		if r.Undefined != 1 || r.OK() || !reflect.DeepEqual(r.Lost, want) {
			t.Fatalf("lost row %x, referred to by %x: %+v", row, by, r)
		}
	}
}

func TestVerifyCountsCorrupt(t *testing.T) {
	all := storedBy(newGenerator(t, Options{Seed: 3, FlushEntries: 10, Depth: 2, Limit: 10}))
	f := func(name string, spoil func(s *stored)) {
		t.Helper()
		entries := append([]stored(nil), all...)
		spoil(&entries[4])
		if r := verify(entries); r.Corrupt != 1 || r.Entries != 10 || r.Rows() != 9 || r.OK() {
			t.Errorf("%s: %+v", name, r)
		}
	}
	row := func(r string) func(s *stored) {
		return func(s *stored) {
			s.key = tablet.NewKey(tablet.Fields{Row: []byte(r), Family: s.key.Family(), Qualifier: s.key.Qualifier()})
			s.value = append([]byte(nil), vectorInstance+":0000000000000000::"...) // no checksum, so that only the row is wrong
		}
	}
	f("short row", row("0123456789abcde"))
	f("long row", row("0123456789abcdef0"))
	f("upper case", row("0123456789ABCDEF"))
	f("no digit", row("0123456789abcdeg"))
	f("checksum", func(s *stored) {
		s.value = append([]byte(nil), s.value...)
		s.value[len(s.value)-1] ^= 1
	})
	f("cut off", func(s *stored) { s.value = s.value[:20] })
}

func TestMergedVerifiersReportAlike(t *testing.T) {
	all := storedBy(newGenerator(t, Options{Seed: 4, FlushEntries: 300, Depth: 4, Limit: 5_000}))
	rng := rand.New(rand.NewPCG(1, 2))
	var kept []stored
	for _, s := range all {
		if rng.IntN(10) > 0 { // lose every tenth
			kept = append(kept, s)
		}
	}
	want := verify(kept)
	if want.Undefined < 100 || len(want.Lost) != LostShown {
		t.Fatalf("%+v", want)
	}
	rng.Shuffle(len(kept), func(i, j int) { kept[i], kept[j] = kept[j], kept[i] })
	parts := []*Verifier{NewVerifier(), NewVerifier(), NewVerifier()}
	for i := range kept {
		parts[rng.IntN(3)].Add(&kept[i].key, kept[i].value)
	}
	for _, p := range parts[1:] {
		parts[0].Merge(p)
		if r := p.Report(); r.Entries != 0 || r.Rows() != 0 {
			t.Errorf("a merged verifier still holds %+v", r)
		}
	}
	if got := parts[0].Report(); !reflect.DeepEqual(got, want) {
		t.Errorf("merged: %+v\nwhole: %+v", got, want)
	}
	if again := parts[0].Report(); !reflect.DeepEqual(again, want) {
		t.Error("a second report differs")
	}
}

// TestRowTableAgainstMap holds the table against a map, with rows chosen to collide.
func TestRowTableAgainstMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	var table rowTable
	for range 200 {
		n := rng.IntN(60)
		table.reset(n)
		model := map[uint64]bool{}
		for range n {
			row := rng.Uint64N(40)
			table.define(row)
			model[row] = false
		}
		if table.rows != int64(len(model)) {
			t.Fatalf("%d rows, want %d", table.rows, len(model))
		}
		for range 100 {
			row := rng.Uint64N(50)
			marked, there := model[row]
			found, first := table.refer(row)
			if found != there || first != (there && !marked) {
				t.Fatalf("refer(%d) = %v, %v; want %v, %v", row, found, first, there, there && !marked)
			}
			if there {
				model[row] = true
			}
		}
	}
}

func TestReferrersAreNamedOnce(t *testing.T) {
	all := storedBy(newGenerator(t, Options{Seed: 9, FlushEntries: 1, Depth: 2, Limit: 2}))
	r := verify([]stored{all[1], all[1]}) // two versions of one cell, both refer to the row that is not there
	if r.Entries != 2 || r.Rows() != 1 || r.Undefined != 1 || len(r.Lost) != 1 || len(r.Lost[0].Referrers) != 1 {
		t.Errorf("%+v", r)
	}
}

package manifest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"millrace/tablet"
)

// nasty are values for lengths, counts, numbers and offsets, besides those near the right one.
var nasty = []uint64{0, 1, math.MaxUint64, math.MaxInt32, 1 << 31, 1 << 32, math.MaxInt64, 1 << 62, 1 << 20}

// mutator changes payloads and the values that they are made of.
type mutator struct {
	rng *rand.Rand
	g   *gen
}

func (m *mutator) nasty(right uint64) uint64 {
	switch i := m.rng.IntN(len(nasty) + 3); i {
	case len(nasty):
		return right + 1
	case len(nasty) + 1:
		return right - 1
	case len(nasty) + 2:
		return m.rng.Uint64N(100)
	default:
		return nasty[i]
	}
}

// file spoils one field of a claim.
func (m *mutator) file(f *FileRef) {
	switch m.rng.IntN(12) {
	case 0:
		f.Number = m.nasty(f.Number)
	case 1:
		f.Name = strangeNames[m.rng.IntN(len(strangeNames))]
	case 2:
		f.Number = m.nasty(f.Number)
		f.Name = FileName("F", f.Number)
	case 3:
		f.Bytes = int64(m.nasty(uint64(f.Bytes)))
	case 4:
		f.Entries = int64(m.nasty(uint64(f.Entries)))
	case 5:
		f.Deletes = int64(m.nasty(uint64(f.Deletes)))
	case 6:
		f.FirstRow = row(m.rng.IntN(99))
	case 7:
		f.LastRow = nil
	case 8:
		f.TimestampsKnown, f.MinTimestamp = true, math.MaxInt64
	case 9:
		f.Ages.Oldest = m.nasty(f.Ages.Oldest)
	case 10:
		f.Ages.Newest = m.nasty(f.Ages.Newest)
	case 11:
		f.Fence = Fence{After: []byte("b"), Last: []byte("a")}
	}
}

// edit spoils one value of an edit.
func (m *mutator) edit(e Edit) Edit {
	add := func(f *FileRef) *FileRef {
		if f == nil || m.rng.IntN(2) == 0 {
			return f
		}
		c := *f
		m.file(&c)
		return &c
	}
	numbers := func(list []uint64) []uint64 {
		list = slices.Clone(list)
		if len(list) > 0 && m.rng.IntN(2) == 0 {
			i := m.rng.IntN(len(list))
			list[i] = m.nasty(list[i])
		}
		return list
	}
	one := func(n uint64) uint64 {
		if m.rng.IntN(3) == 0 {
			return m.nasty(n)
		}
		return n
	}
	switch e := e.(type) {
	case CreateTable:
		e.ID, e.Tablets = one(e.ID), numbers(e.Tablets)
		e.Splits = slices.Clone(e.Splits)
		m.rng.Shuffle(len(e.Splits), func(i, j int) { e.Splits[i], e.Splits[j] = e.Splits[j], e.Splits[i] })
		return e
	case Install:
		e.Tablet, e.Session, e.Time = one(e.Tablet), one(e.Session), int64(one(uint64(e.Time)))
		e.Remove, e.Add = numbers(e.Remove), add(e.Add)
		return e
	case Swap:
		e.Tablet, e.Remove, e.Add = one(e.Tablet), numbers(e.Remove), add(e.Add)
		return e
	case Import:
		e.Add = slices.Clone(e.Add)
		m.file(&e.Add[m.rng.IntN(len(e.Add))])
		return e
	case Split:
		e.Tablet, e.Low.Number, e.High.Number = one(e.Tablet), one(e.Low.Number), one(e.High.Number)
		e.Low.Files, e.High.Files = numbers(e.Low.Files), numbers(e.High.Files)
		return e
	case Advance:
		return Advance{one(e.NextNumber), one(e.NextLSN)}
	case DropTable:
		return DropTable{Table: e.Table + "x"}
	}
	return e
}

// tablet spoils something of one tablet of a state, past Apply.
func (m *mutator) tablet(s *State) *State {
	t := m.g.anyTablet(s)
	if t == nil {
		return s
	}
	c := *t
	c.Files = slices.Clone(t.Files)
	switch m.rng.IntN(6) {
	case 0:
		c.Session = m.nasty(c.Session)
	case 1:
		c.NextAge = m.nasty(c.NextAge)
	case 2:
		c.Extent.EndRow = row(m.rng.IntN(60))
	case 3:
		c.Extent.EndRow = nil
	default:
		if len(c.Files) > 0 {
			m.file(&c.Files[m.rng.IntN(len(c.Files))])
		}
	}
	d := draft{State: *s}
	d.setTablet(&c)
	return &d.State
}

// payloads spoils payloads as bytes: a value at any place, a byte, or their order.
func (m *mutator) payloads(p [][]byte) [][]byte {
	i := m.rng.IntN(len(p))
	switch m.rng.IntN(8) {
	case 0:
		return slices.Delete(p, i, i+1)
	case 1:
		return slices.Insert(p, m.rng.IntN(len(p)), p[i])
	case 2:
		j := m.rng.IntN(len(p))
		p[i], p[j] = p[j], p[i]
		return p
	case 3:
		p[i] = p[i][:m.rng.IntN(len(p[i]))]
		return p
	}
	at := m.rng.IntN(len(p[i]))
	p[i] = replaceUvarint(p[i], at, m.nasty)
	return p
}

// replaceUvarint puts another value in the place of the integer that begins at a byte, if one does.
func replaceUvarint(p []byte, at int, by func(uint64) uint64) []byte {
	v, size := binary.Uvarint(p[at:])
	if size <= 0 {
		size = 1
	}
	out := binary.AppendUvarint(slices.Clone(p[:at]), by(v))
	return append(out, p[at+size:]...)
}

// readMalformed reads payloads that verify as frames, and holds what comes out against the promises: no panic (the test
// would end), no hang, memory within bounds, a typed error that names file and offset, or a state that holds its own rules.
func readMalformed(t testing.TB, what string, payloads [][]byte) (accepted bool) {
	t.Helper()
	b := framed(t, 7, payloads)
	mem := only(t, 7, b)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	found, err := Read(t.Context(), mem)
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > uint64(2*len(b)+64<<20) {
		t.Fatalf("%s: %d bytes allocated for %d", what, got, len(b))
	}
	if took > time.Second {
		t.Fatalf("%s: took %v", what, took)
	}
	var c *tablet.CorruptError
	switch {
	case err == nil:
		if found.Number != 0 {
			checkRules(t, what, found.State)
		}
		return true
	case errors.Is(err, tablet.ErrUnsupported):
	case !errors.As(err, &c) || c.File != Name(7) || c.Offset == 0:
		t.Fatalf("%s: %v", what, err)
	}
	return false
}

// checkRules holds a state against what must be true of every one, by itself.
func checkRules(t testing.TB, what string, s *State) {
	t.Helper()
	fail := func(format string, args ...any) { t.Fatalf("%s: %s\n%v", what, fmt.Sprintf(format, args...), s) }
	tablets, claims := map[uint64]bool{}, map[uint64]int{}
	for table := range s.Tables() {
		var prev *Tablet
		n := 0
		for tab := range s.Tablets(table) {
			n++
			if tab == nil || tablets[tab.Number] || tab.Number >= s.NextNumber() {
				fail("tablet %v", tab)
			}
			tablets[tab.Number] = true
			if e := tab.Extent; e.Table != table.Name || (prev == nil) != (e.PrevEndRow == nil) || prev != nil && compareEnds(prev.Extent.EndRow, e.PrevEndRow) != 0 ||
				e.EndRow != nil && e.PrevEndRow != nil && compareEnds(e.PrevEndRow, e.EndRow) >= 0 {
				fail("extent %v", e)
			}
			prev = tab
			for i, f := range tab.Files {
				if number, ok := ParseFileName(f.Name); !ok || number != f.Number || f.Number >= s.NextNumber() || f.Ages.Newest >= tab.NextAge || f.Ages.Oldest > f.Ages.Newest || f.Ages.Oldest == 0 {
					fail("tablet %d, file %v", tab.Number, &f)
				}
				for _, newer := range tab.Files[:i] {
					if a, b := newer.Ages, f.Ages; a.Newest <= b.Newest || a.Oldest == b.Newest || a.Oldest == b.Oldest {
						fail("tablet %d, files %v and %v", tab.Number, &newer, &f)
					}
				}
				claims[f.Number]++
			}
		}
		if n == 0 || prev.Extent.EndRow != nil || n != table.TabletCount() {
			fail("table %q has %d tablets", table.Name, n)
		}
	}
	if len(tablets) != s.TabletCount() || len(claims) != s.FileCount() {
		fail("%d tablets of %d, %d files of %d", len(tablets), s.TabletCount(), len(claims), s.FileCount())
	}
	for u := range s.files.all() {
		if claims[u.file.Number] != u.tablets {
			fail("file %d has %d claims, not %d", u.file.Number, claims[u.file.Number], u.tablets)
		}
	}
}

// TestMalformedManifest reads files of which the sums are right and the content is not.
func TestMalformedManifest(t *testing.T) {
	accepted, n := 0, cases(3000)
	for c := range n {
		seed := *seedFlag + uint64(c)
		m := &mutator{rng: rand.New(rand.NewPCG(seed, 2)), g: newGen(seed)}
		s := randomState(t, m.g, 5+m.rng.IntN(40))
		var edits [][]Edit
		after := s
		for range m.rng.IntN(6) {
			e := m.g.edit(after)
			after = mustApply(t, after, e)
			if m.rng.IntN(4) == 0 {
				e = m.edit(e)
			}
			edits = append(edits, []Edit{e})
		}
		if m.rng.IntN(3) == 0 {
			s = m.tablet(s)
		}
		p := payloads(s, edits...)
		for range m.rng.IntN(3) {
			p = m.payloads(p)
			if len(p) == 0 {
				break
			}
			p = slices.DeleteFunc(p, func(b []byte) bool { return len(b) == 0 })
		}
		if readMalformed(t, fmt.Sprintf("seed %d", seed), p) {
			accepted++
		}
	}
	if accepted == 0 || accepted == n {
		t.Errorf("%d of %d were accepted", accepted, n)
	}
	fmt.Printf("R23 manifest files=%d accepted=%d panics=0 hangs=0 wrong=0 seed=%d\n", n, accepted, *seedFlag)
}

// TestHugeLengths puts each nasty value in the place of each integer, and of whatever else could be one.
func TestHugeLengths(t *testing.T) {
	s := smallState(t)
	in11 := func(f *FileRef) { f.LastRow = []byte("c") }
	p := payloads(s,
		[]Edit{CreateTable{Table: "u", ID: 60, Properties: map[string]string{"a": "b"}, Splits: [][]byte{[]byte("x")}, Tablets: []uint64{61, 62}}},
		[]Edit{Install{Tablet: 11, Session: 5, Time: 300, Add: aFile(30, 3).with(in11)}, Swap{Tablet: 11, Remove: []uint64{20, 21}}},
		[]Edit{Split{Tablet: 11, Row: []byte("c"), Low: Half{70, []uint64{30}}, High: Half{71, []uint64{30}}}, DropTable{Table: "t"}},
	)
	size := uint64(len(framed(t, 7, p)))
	fields := 0
	for i := range p {
		for at := range p[i] {
			fields++
			right, _ := binary.Uvarint(p[i][at:])
			for _, v := range append([]uint64{right + 1, right - 1, size + 1}, nasty...) {
				q := slices.Clone(p)
				q[i] = replaceUvarint(p[i], at, func(uint64) uint64 { return v })
				readMalformed(t, fmt.Sprintf("record %d, byte %d, value %d", i, at, v), q)
			}
		}
	}
	fmt.Printf("R24 manifest places=%d values=%d panics=0 hangs=0 seed=%d\n", fields, fields*(len(nasty)+3), *seedFlag)
}

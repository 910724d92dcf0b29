package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"millrace/internal/record"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// contents are the bytes of a file.
func contents(t testing.TB, fsys vfs.FS, name string) []byte {
	t.Helper()
	f, err := fsys.Open(name)
	check(t, err)
	defer f.Close()
	size, err := f.Size()
	check(t, err)
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); n < len(b) {
		t.Fatal(err)
	}
	return b
}

// put makes a file, synced with its name.
func put(t testing.TB, fsys vfs.FS, name string, b []byte) {
	t.Helper()
	f, err := fsys.Create(name)
	check(t, err)
	_, err = f.Write(b)
	check(t, errors.Join(err, f.Sync(), f.Close(), fsys.SyncDir(Dir)))
}

// only is a store with one manifest file.
func only(t testing.TB, number uint64, b []byte) *vfs.MemFS {
	t.Helper()
	mem := aStore(t)
	put(t, mem, Name(number), b)
	return mem
}

// written is a store's manifest after some edits.
type written struct {
	number uint64
	bytes  []byte
	last   int64 // where the last record begins
	// The state before and after it.
	before, after *State
}

// write begins a manifest with some random state, and records some edits. A sealed one ends with the seal, which leaves the
// state as it is.
func write(t testing.TB, seed uint64, edits int, sealed bool) (*vfs.MemFS, written) {
	t.Helper()
	g := newGen(seed)
	mem, s := aStore(t), randomState(t, g, 30)
	w, err := NewWriter(mem, s, Options{NextNumber: g.following})
	check(t, err)
	out := written{number: w.number, before: w.State(), last: w.current.w.Size()}
	for range edits {
		out.before, out.last = w.State(), w.current.w.Size()
		_, err := w.Record(g.edit(w.State()))
		check(t, err)
	}
	out.after = w.State()
	if sealed {
		out.before, out.last = w.State(), w.current.w.Size()
		check(t, w.Close())
	}
	out.bytes = contents(t, mem, Name(w.number))
	return mem, out
}

// tails are what a crash may leave behind a cut, in place of what was there.
func tails(b []byte, cut int) map[string][]byte {
	lost := len(b) - cut
	return map[string][]byte{
		"missing": nil,
		"zeros":   make([]byte, lost),
		"0xff":    bytes.Repeat([]byte{0xff}, lost),
		"old":     slices.Clone(b[max(cut-lost, 0):cut])[:min(lost, cut)],
		"start":   slices.Clone(b[:min(lost, cut)]),
	}
}

// TestTornTail cuts the last record at every byte, with what a crash may leave behind the cut: all earlier records are
// there. A cut in the snapshot of a file that was never used leaves the file before.
func TestTornTail(t *testing.T) {
	cuts := 0
	read := func(what string, cut int, fsys vfs.FS, want *State) *Found {
		t.Helper()
		cuts++
		found, err := Read(t.Context(), fsys)
		if err != nil {
			t.Fatalf("cut at %d, %s: %v", cut, what, err)
		}
		if found.State.String() != want.String() {
			t.Fatalf("cut at %d, %s: got\n%vwant\n%v", cut, what, found.State, want)
		}
		return found
	}
	for seed := *seedFlag; cuts < cases(2000); seed++ {
		mem, w := write(t, seed, 8, false)
		for cut := int(w.last); cut < len(w.bytes); cut += thin {
			for what, tail := range tails(w.bytes, cut) {
				b := append(slices.Clone(w.bytes[:cut]), tail...)
				if bytes.Equal(b, w.bytes) { // what was lost is what came in its place
					continue
				}
				found := read(what, cut, only(t, w.number, b), w.before)
				if torn := cut > int(w.last) || tail != nil; found.End.Torn != torn || found.End.Offset != w.last {
					t.Fatalf("cut at %d, %s: end is %+v", cut, what, found.End)
				}
			}
		}
		read("nothing", len(w.bytes), only(t, w.number, w.bytes), w.after)

		next := newGen(seed)
		next.next = w.after.NextNumber()
		v, err := NewWriter(mem, w.after, Options{NextNumber: next.following})
		check(t, err)
		fresh := contents(t, mem, Name(v.number))
		whole := int(v.current.snapshot)
		for cut := 0; cut < whole; cut += thin * (1 + cut%7) {
			for what, tail := range tails(fresh[:whole], cut) {
				if bytes.Equal(tail, fresh[cut:whole]) {
					continue
				}
				both := only(t, w.number, w.bytes)
				put(t, both, Name(v.number), append(slices.Clone(fresh[:cut]), tail...))
				if found := read(what, cut, both, w.after); found.Number != w.number || len(found.Unfinished) != 1 {
					t.Fatalf("cut at %d, %s: found %+v", cut, what, found)
				}
				read(what+", alone", cut, only(t, v.number, append(slices.Clone(fresh[:cut]), tail...)), Empty())
			}
		}
	}
	fmt.Printf("R04 manifest cuts=%d lost=0 openfail=0 seed=%d\n", cuts, *seedFlag)
}

// TestDamage flips a bit, or overwrites a sector, anywhere in a sealed manifest: it is corruption with file and offset.
// Damage to the seal, which nothing can prove, leaves all records, and an end that says torn; damage behind the last synced
// record of a file without a seal is a torn tail.
func TestDamage(t *testing.T) {
	proven, tail := 0, 0
	for seed := *seedFlag; proven < cases(4000); seed++ {
		for _, sealed := range []bool{true, false} {
			_, w := write(t, seed, 8, sealed)
			damage := func(what string, at int, b []byte) {
				t.Helper()
				found, err := Read(t.Context(), only(t, w.number, b))
				if at >= int(w.last) {
					tail++
					if err != nil || found.State.String() != w.before.String() || !found.End.Torn {
						t.Fatalf("%s at %d of a tail from %d: %+v %v", what, at, w.last, found, err)
					}
					return
				}
				proven++
				var c *tablet.CorruptError
				if !errors.As(err, &c) || c.File != Name(w.number) || c.Offset > int64(at) {
					t.Fatalf("%s at %d of %d: %+v %v", what, at, len(b), found, err)
				}
			}
			for at := range w.bytes {
				b := slices.Clone(w.bytes)
				b[at] ^= 1 << (at % 8)
				damage("bit", at, b)
			}
			for at := 0; at+512 <= int(w.last); at += 64 { // records behind it prove that it was synced
				b := slices.Clone(w.bytes)
				clear(b[at : at+512])
				damage("sector", at, b)
			}
		}
	}
	fmt.Printf("R05 manifest damaged=%d found=%d tails=%d corrupt=0 seed=%d\n", proven, proven, tail, *seedFlag)
}

// TestDamageBeforeTheFirstEdit flips each byte of a file that was begun and never used, with no other beside it: it is
// damage, not a start that a crash cut short, which would be an empty store.
func TestDamageBeforeTheFirstEdit(t *testing.T) {
	mem, w := write(t, *seedFlag, 0, false)
	bytes := contents(t, mem.Durable(), Name(w.number))
	for at := range w.last {
		b := slices.Clone(bytes)
		b[at] ^= 0x10
		_, err := Read(t.Context(), only(t, w.number, b))
		snapshot := w.last - 18 // the mark behind it is a frame of 18 bytes, and proves what is in front of it
		if (at < snapshot) != errors.Is(err, tablet.ErrCorrupt) {
			t.Fatalf("byte %d of a snapshot of %d: %v", at, snapshot, err)
		}
	}
}

// TestMisplaced gives a file another's content: an older manifest under a newer name is not taken for one.
func TestMisplaced(t *testing.T) {
	_, w := write(t, *seedFlag, 5, true)
	mem := only(t, w.number, w.bytes)
	put(t, mem, Name(w.number+1), w.bytes)
	found, err := Read(t.Context(), mem)
	if err != nil || found.Number != w.number || !slices.Equal(found.Unfinished, []uint64{w.number + 1}) {
		t.Errorf("got %+v, %v", found, err)
	}
}

// TestBadContent puts wrong content into frames that verify: it is corruption, with the offset of the frame.
func TestBadContent(t *testing.T) {
	s := smallState(t)
	good := payloads(s)
	f := func(what string, bad []byte) {
		t.Helper()
		err := readPayloads(t, append(slices.Clone(good), bad))
		var c *tablet.CorruptError
		if !errors.As(err, &c) || c.File != Name(7) || c.Offset == 0 || !bytes.Contains([]byte(c.What), []byte(what)) {
			t.Errorf("want %q: %v", what, err)
		}
	}
	f("version at byte 1 of the record: 1 bytes, of which 0 are there", []byte{kindEdits})
	f("edits record without edits", []byte{kindEdits, 1, 0})
	f("tablet 99", appendEdits(nil, []Edit{Swap{Tablet: 99}}))
	f("1 bytes too many", append(appendEdits(nil, []Edit{Advance{}}), 0))
	f("edit at byte", []byte{kindEdits, 1, 1, byte(codeAdvance), 3, 1, 1, 1})
	f("shortest form", []byte{kindEdits, 1, 1, byte(codeAdvance), 3, 0x81, 0, 1})
	f("number of edits", []byte{kindEdits, 1, 0x7f})
	known := aFile(30, 3).with(func(f *FileRef) { f.LastRow = []byte("FLAG") })
	f("neither 0 nor 1", bytes.Replace(appendEdits(nil, []Edit{Import{Tablet: 11, Add: []FileRef{*known}}}), []byte("FLAG\x00"), []byte("FLAG\x02"), 1))
}

// TestBadSnapshot spoils a snapshot, past what Apply would let through: every rule of a state is checked when it is read.
func TestBadSnapshot(t *testing.T) {
	base := smallState(t)
	f := func(what string, change func(d *draft, t11, t12 *Tablet)) {
		t.Helper()
		d := draft{State: *base}
		t11, t12 := *base.Tablet(11), *base.Tablet(12)
		t11.Files, t12.Files = slices.Clone(t11.Files), slices.Clone(t12.Files)
		change(&d, &t11, &t12)
		d.setTablet(&t11)
		d.setTablet(&t12)
		err := readPayloads(t, payloads(&d.State))
		var c *tablet.CorruptError
		switch {
		case what == "" && err != nil:
			t.Errorf("unchanged: %v", err)
		case what != "" && (!errors.As(err, &c) || !bytes.Contains([]byte(c.What), []byte(what))):
			t.Errorf("want %q: %v", what, err)
		}
	}
	f("", func(*draft, *Tablet, *Tablet) {})
	f(`tablet 11, t;(-∞,+∞]: 1 tablets follow it`, func(_ *draft, a, _ *Tablet) { a.Extent.EndRow = nil })
	f(`tablet 12, t;("m","z"]: 0 tablets follow it`, func(_ *draft, _, b *Tablet) { b.Extent.EndRow = []byte("z") })
	f("session", func(_ *draft, a, _ *Tablet) { a.Session = 1 << 63 })
	f("next age 0", func(_ *draft, a, _ *Tablet) { a.NextAge = 0 })
	f("age 2, where 2 is the next", func(_ *draft, a, _ *Tablet) { a.NextAge = 2 })
	f("listed twice", func(_ *draft, a, _ *Tablet) {
		again := a.Files[0]
		again.Ages, a.NextAge = tablet.AgeRange{Oldest: 3, Newest: 3}, 4
		a.Files = append(a.Files, again)
	})
	f("overlap", func(_ *draft, a, _ *Tablet) { a.Files[0].Ages = a.Files[1].Ages })
	f("two different ones", func(_ *draft, a, b *Tablet) {
		b.Files[0].Number, b.Files[0].Name, b.Files[0].CRC = a.Files[0].Number, a.Files[0].Name, 99
	})
	f("not between 0 and", func(_ *draft, a, _ *Tablet) { a.Files[0].Number, a.Files[0].Name = 99, FileName("F", 99) })
	f("not between 0 and", func(d *draft, _, _ *Tablet) { d.nextNumber = 12 })
	f("opening 99", func(d *draft, _, _ *Tablet) { d.opened = 99 })
	other := func(name string, id uint64) func(*draft, *Tablet, *Tablet) {
		return func(d *draft, _, _ *Tablet) {
			d.tables = []*Table{d.tables[0], {Name: name, ID: id, order: chunkedOf([]slot{{nil, 12}})}}
			d.nextNumber = 50
		}
	}
	f(`table "": not a name`, other("", 40))
	f(`table "a": it does not follow "t"`, other("a", 40))
	f(`table "u": ID 10 is another table's`, other("u", 10))
	f(`table "t": number 99 is not between`, func(d *draft, _, _ *Tablet) {
		d.tables = []*Table{{Name: "t", ID: 99, order: d.tables[0].order}}
	})
	f(`table "u": 1 tablets of 2 in all`, other("u", 40))
}

// readPayloads frames payloads, whatever they are, and reads the file.
func readPayloads(t testing.TB, payloads [][]byte) error {
	t.Helper()
	_, err := Read(t.Context(), only(t, 7, framed(t, 7, payloads)))
	return err
}

// framed is a sealed file of payloads. A payload without a byte, which no record can have, is left out.
func framed(t testing.TB, number uint64, payloads [][]byte) []byte {
	t.Helper()
	mem := vfs.Mem()
	f, err := mem.Create("x")
	check(t, err)
	w := record.NewWriter(f, header(number))
	for _, p := range payloads {
		if len(p) > 0 {
			_, err := w.Append(p)
			check(t, err)
		}
	}
	check(t, w.Seal())
	check(t, f.Close())
	return contents(t, mem, "x")
}

// TestReadError passes on what reading fails with, and it is not corruption.
func TestReadError(t *testing.T) {
	_, w := write(t, *seedFlag, 5, true)
	for _, op := range []vfs.Op{vfs.OpList, vfs.OpOpen, vfs.OpSize, vfs.OpRead, vfs.OpClose} {
		for _, err := range []error{io.ErrClosedPipe, io.EOF} {
			faulty := vfs.Faulty(only(t, w.number, w.bytes), vfs.Rule{Op: op, Err: err})
			if _, err := Read(t.Context(), faulty); err == nil || errors.Is(err, tablet.ErrCorrupt) || len(faulty.Hits()) != 1 {
				t.Errorf("%s: %v", op, err)
			}
		}
	}
}

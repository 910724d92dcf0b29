package manifest

import (
	"errors"
	"math"
	"strings"
	"testing"

	"millrace/tablet"
)

// aFile is a file that a tablet of all rows can have.
func aFile(number, age uint64) *FileRef {
	return &FileRef{FileMeta: tablet.FileMeta{
		Number: number, Name: FileName("F", number), Bytes: 100, Entries: 10, FirstRow: []byte("b"), LastRow: []byte("y"),
		Ages: tablet.AgeRange{Oldest: age, Newest: age},
	}}
}

// with returns a changed copy.
func (f *FileRef) with(change func(*FileRef)) *FileRef {
	c := *f
	change(&c)
	return &c
}

// smallState has table t (ID 10) with tablets 11 up to row m and 12 beyond, and files 20 (age 1), 21 (age 2) in 11 and 22 in
// 12; all from a run that was opened at 9.
func smallState(t testing.TB) *State {
	in11 := func(f *FileRef) { f.FirstRow, f.LastRow = []byte("b"), []byte("m") }
	in12 := func(f *FileRef) { f.FirstRow, f.LastRow = []byte("n"), []byte("z") }
	return mustApply(t, Empty(),
		Open{NextNumber: 9},
		CreateTable{Table: "t", ID: 10, Splits: [][]byte{[]byte("m")}, Tablets: []uint64{11, 12}},
		Install{Tablet: 11, Session: 1, Time: 100, Add: aFile(20, 1).with(in11)},
		Install{Tablet: 11, Session: 3, Time: 200, Add: aFile(21, 2).with(in11)},
		Install{Tablet: 12, Session: 1, Time: 100, Add: aFile(22, 1).with(in12)},
	)
}

// TestRefusals goes through the rules. Each refusal names where and what.
func TestRefusals(t *testing.T) {
	s := smallState(t)
	text := s.String()
	refuse := func(e Edit, where, what string) {
		t.Helper()
		after, err := Apply(s, e)
		var r *Refusal
		switch {
		case after != nil || !errors.As(err, &r) || !errors.Is(err, ErrRefused):
			t.Errorf("%+v: %v", e, err)
		case !strings.Contains(r.Where, where) || !strings.Contains(r.What, what):
			t.Errorf("%v\nwants %q and %q", r, where, what)
		}
	}
	f := func(change func(*FileRef)) *FileRef {
		return aFile(30, 3).with(func(f *FileRef) { f.LastRow = []byte("c"); change(f) })
	}
	same := func(*FileRef) {}

	refuse(nil, "store", "nil")
	refuse(&DropTable{Table: "t"}, "store", "*manifest.DropTable")
	refuse((*Install)(nil), "store", "*manifest.Install")

	refuse(CreateTable{Table: "t", ID: 40, Tablets: []uint64{41}}, `"t"`, "exists with ID 10")
	refuse(CreateTable{ID: 40, Tablets: []uint64{41}}, "store", "name")
	refuse(CreateTable{Table: "\xff", ID: 40, Tablets: []uint64{41}}, `"\xff"`, "UTF-8")
	refuse(CreateTable{Table: strings.Repeat("x", 1025), ID: 40, Tablets: []uint64{41}}, "xxx", "1024 bytes")
	refuse(CreateTable{Table: "u", ID: 40}, `"u"`, "0 splits make 1 tablets, not 0")
	refuse(CreateTable{Table: "u", ID: 10, Tablets: []uint64{41}}, `"u"`, `ID 10 is that of table "t"`)
	refuse(CreateTable{Table: "u", Tablets: []uint64{41}}, `"u"`, "ID: number is 0")
	refuse(CreateTable{Table: "u", ID: 8, Tablets: []uint64{41}}, `"u"`, "number 8 belongs to an earlier run")
	refuse(CreateTable{Table: "u", ID: math.MaxUint64, Tablets: []uint64{41}}, `"u"`, "too large")
	refuse(CreateTable{Table: "u", ID: 40, Tablets: []uint64{11}}, "tablet 11", "number 11 is that of t;(-∞,\"m\"]")
	refuse(CreateTable{Table: "u", ID: 40, Tablets: []uint64{41, 41}, Splits: [][]byte{{}}}, "tablet 41", "number 41 is that of u;")
	refuse(CreateTable{Table: "u", ID: 40, Tablets: []uint64{41, 42}, Splits: [][]byte{nil}}, "tablet 41", "split row")
	refuse(CreateTable{Table: "u", ID: 40, Tablets: []uint64{41, 42, 43}, Splits: [][]byte{[]byte("b"), []byte("b")}}, "tablet 42", `"b" does not follow "b"`)
	refuse(DropTable{Table: "u"}, `"u"`, "no such table")
	refuse(SetProperties{Table: "u"}, `"u"`, "no such table")

	refuse(Install{Tablet: 13, Session: 9, Time: 900}, "tablet 13", "no tablet 13")
	refuse(Install{Tablet: 11, Session: 3, Time: 900}, `table "t", tablet 11, t;(-∞,"m"]`, "session 3 does not follow session 3")
	refuse(Install{Tablet: 11, Session: math.MaxUint64, Time: 900}, "tablet 11", "does not follow")
	refuse(Install{Tablet: 11, Session: 4, Time: 199}, "tablet 11", "time goes back from 200 to 199")
	refuse(Install{Tablet: 11, Session: 4, Time: 200, Add: f(func(f *FileRef) { f.Ages.Oldest, f.Ages.Newest = 2, 2 })}, "file 30", "ages 2 to 2")
	refuse(Install{Tablet: 11, Session: 4, Time: 200, Add: f(func(f *FileRef) { f.Ages.Oldest = 2 })}, "file 30", "ages 2 to 3")
	refuse(Install{Tablet: 11, Session: 4, Time: 200, Remove: []uint64{21}, Add: f(func(f *FileRef) { f.Ages.Oldest = 1 })}, "file 30", "ages 1 to 3")
	refuse(Install{Tablet: 11, Session: 4, Time: 200, Remove: []uint64{22}, Add: f(same)}, "file 22", "not the tablet's")
	refuse(Install{Tablet: 11, Session: 4, Time: 200, Remove: []uint64{21, 21}, Add: f(same)}, "file 21", "removed twice")
	refuse(Install{Tablet: 11, Session: 4, Time: 200, Add: f(func(f *FileRef) { f.LastRow = []byte("n") })}, "file 30", `rows "b" to "n"`)
	refuse(Install{Tablet: 12, Session: 4, Time: 200, Add: f(same)}, "tablet 12", `rows "b" to "c" are not those of t;("m",+∞]`)

	add := func(what string, change func(*FileRef)) {
		t.Helper()
		refuse(Install{Tablet: 11, Session: 4, Time: 200, Add: f(change)}, "tablet 11", what)
	}
	add("number is 0", func(f *FileRef) { f.Number = 0 })
	add("earlier run", func(f *FileRef) { f.Number, f.Name = 8, FileName("F", 8) })
	add("is that of data/F0000022.rf", func(f *FileRef) { f.Number, f.Name = 22, FileName("F", 22) })
	add("is that of file 31", func(f *FileRef) { f.Name = FileName("F", 31) })
	add("0 bytes", func(f *FileRef) { f.Bytes = 0 })
	add("-1 bytes", func(f *FileRef) { f.Bytes = -1 })
	add("0 entries", func(f *FileRef) { f.Entries = 0 })
	add("11 of them deletes", func(f *FileRef) { f.Deletes = 11 })
	add("-1 of them", func(f *FileRef) { f.Deletes = -1 })
	add(`rows are "" to "c"`, func(f *FileRef) { f.FirstRow = nil })
	add(`rows are "d" to "c"`, func(f *FileRef) { f.FirstRow = []byte("d") })
	add("timestamps are 2 to 1", func(f *FileRef) { f.TimestampsKnown, f.MinTimestamp, f.MaxTimestamp = true, 2, 1 })
	add("ages", func(f *FileRef) { f.Ages.Oldest = 0 })
	add("ages", func(f *FileRef) { f.Ages.Oldest = 4 })
	add("ages", func(f *FileRef) { f.Ages.Newest = math.MaxUint64 })
	add("fence", func(f *FileRef) { f.Fence = Fence{After: []byte("x"), Last: []byte("x")} })

	refuse(Swap{Tablet: 11}, "tablet 11", "no files are removed")
	refuse(Swap{Tablet: 13, Remove: []uint64{20}}, "tablet 13", "no tablet")
	refuse(Swap{Tablet: 11, Remove: []uint64{23}}, "tablet 11, t;(-∞,\"m\"], file 23", "not the tablet's")
	refuse(Swap{Tablet: 11, Remove: []uint64{20}, Add: f(same)}, "file 30", "ages 3 to 3 are not within 1 to 1")
	refuse(Swap{Tablet: 11, Remove: []uint64{20}, Add: f(func(f *FileRef) { f.Ages = tablet.AgeRange{Oldest: 1, Newest: 2} })}, "file 30", "ages 1 to 2 are not within")
	refuse(Swap{Tablet: 11, Remove: []uint64{20}, Add: aFile(20, 1).with(func(f *FileRef) { f.LastRow = []byte("c") })}, "file 20", "just removed")
	refuse(Import{Tablet: 11}, "tablet 11", "no files")
	refuse(Import{Tablet: 13}, "tablet 13", "no tablet")
	refuse(Import{Tablet: 11, Add: []FileRef{*f(func(f *FileRef) { f.Ages = tablet.AgeRange{Oldest: 2, Newest: 2} })}}, "file 30", "overlap those of file 21, 2 to 2")
	refuse(Import{Tablet: 11, Add: []FileRef{*f(func(f *FileRef) { f.Ages = tablet.AgeRange{Oldest: 1, Newest: 5} })}}, "file 30", "overlap those of file 21")
	refuse(Import{Tablet: 11, Add: []FileRef{*f(same), *f(same)}}, "file 30", "number 30 is that of")
	refuse(Import{Tablet: 12, Add: []FileRef{*f(same)}}, "file 30", "are not those of")

	split := func(e Split, where, what string) {
		t.Helper()
		e.Tablet = 11
		refuse(e, where, what)
	}
	split(Split{Low: Half{Number: 50}, High: Half{Number: 51}}, "tablet 11", `row "" is not inside`)
	split(Split{Row: []byte("m"), Low: Half{Number: 50}, High: Half{Number: 51}}, "tablet 11", `row "m" is not inside`)
	split(Split{Row: []byte("n"), Low: Half{Number: 50}, High: Half{Number: 51}}, "tablet 11", `row "n" is not inside`)
	split(Split{Row: []byte("c"), Low: Half{Number: 50}, High: Half{Number: 50}}, "tablet 11", "both halves are numbered 50")
	both := []uint64{20, 21}
	split(Split{Row: []byte("c"), Low: Half{50, both}, High: Half{51, []uint64{20}}}, "file 21", "go without it")
	split(Split{Row: []byte("c"), Low: Half{50, both}, High: Half{51, []uint64{20, 21, 22}}}, "file 22", "not the tablet's")
	split(Split{Row: []byte("c"), Low: Half{50, both}, High: Half{51, []uint64{20, 21, 21}}}, "tablet 11", "a file twice")
	split(Split{Row: []byte("c"), Low: Half{12, both}, High: Half{51, both}}, "tablet 11", "number 12 is that of")
	split(Split{Row: []byte("c"), Low: Half{0, both}, High: Half{51, both}}, "tablet 11", "number is 0")
	refuse(Split{Tablet: 13, Row: []byte("c")}, "tablet 13", "no tablet")
	unknown := mustApply(t, s, Install{Tablet: 11, Session: 4, Time: 200, Add: f(func(f *FileRef) { f.FirstRow, f.LastRow = nil, nil })})
	if _, err := Apply(unknown, Split{Tablet: 11, Row: []byte("c"), Low: Half{50, both}, High: Half{51, both}}); err == nil || !strings.Contains(err.Error(), "file 30") {
		t.Errorf("a split that loses a file of unknown rows: %v", err)
	}

	refuse(Advance{NextNumber: math.MaxUint64}, "store", "too large")
	refuse(Advance{NextLSN: 1<<62 + 1}, "store", "too large")
	refuse(Open{NextNumber: math.MaxUint64}, "store", "too large")
	if s.String() != text {
		t.Error("a refused edit changed the state")
	}
}

// TestTogether looks at edits that take effect together: all or none.
func TestTogether(t *testing.T) {
	s := smallState(t)
	create := CreateTable{Table: "u", ID: 40, Tablets: []uint64{41}}
	if _, err := Apply(s, create, Install{Tablet: 41, Session: 0}); err == nil || !strings.Contains(err.Error(), "tablet 41") {
		t.Errorf("session 0: %v", err)
	}
	after := mustApply(t, s, create, Install{Tablet: 41, Session: 1, Add: aFile(42, 1)}, DropTable{Table: "t"})
	if after.Table("t") != nil || after.Tablet(11) != nil || after.Named(20) != nil || after.Named(42) == nil || after.NextNumber() != 43 {
		t.Errorf("got\n%v", after)
	}
	if s.Table("u") != nil || s.Tablet(41) != nil || s.Named(20) == nil {
		t.Errorf("the state before is now\n%v", s)
	}
}

// TestAgesAreSpentForGood empties a tablet: its next file still has to be newer than all it ever had.
func TestAgesAreSpentForGood(t *testing.T) {
	s := mustApply(t, smallState(t), Swap{Tablet: 11, Remove: []uint64{20, 21}})
	if tab := s.Tablet(11); len(tab.Files) != 0 || tab.NextAge != 3 {
		t.Fatalf("got\n%v", s)
	}
	f := aFile(30, 2).with(func(f *FileRef) { f.LastRow = []byte("c") })
	if _, err := Apply(s, Install{Tablet: 11, Session: 5, Time: 300, Add: f}); err == nil || !strings.Contains(err.Error(), "ages 2 to 2") {
		t.Errorf("age 2 again: %v", err)
	}
}

// TestSharedFile follows a file through a split: it is gone when the second half lets go.
func TestSharedFile(t *testing.T) {
	s := smallState(t)
	both := []uint64{20, 21}
	s = mustApply(t, s, Split{Tablet: 11, Row: []byte("c"), Low: Half{50, both}, High: Half{11, both}})
	if low, high := s.Tablet(50), s.Tablet(11); low.Extent.String() != "t;(-∞,\"c\"]" || high.Extent.String() != "t;(\"c\",\"m\"]" || low.Session != 3 || high.Time != 200 || low.NextAge != 3 {
		t.Fatalf("got\n%v", s)
	}
	gone := func(e Edit, want ...uint64) {
		t.Helper()
		d, err := change(s, []Edit{e})
		if err != nil {
			t.Fatal(err)
		}
		var got []uint64
		for _, f := range d.gone {
			got = append(got, f.Number)
		}
		if len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
			t.Errorf("%+v: files %v are gone, want %v", e, got, want)
		}
		s = &d.State
	}
	gone(Swap{Tablet: 50, Remove: []uint64{20}})
	gone(Swap{Tablet: 11, Remove: []uint64{20}}, 20)
	gone(Swap{Tablet: 11, Remove: []uint64{21}})
	gone(DropTable{Table: "t"}, 21, 22)
}

// TestAgesOfStrangersMayOverlap lets a compaction pass over a file that holds no key of its inputs, though its rows may lie
// between theirs; after that the three ages are still told apart.
func TestAgesOfStrangersMayOverlap(t *testing.T) {
	f := func(why string, change func(oldest, middle, newest *FileRef)) {
		t.Helper()
		files := []*FileRef{aFile(20, 1), aFile(21, 2), aFile(22, 3)}
		for _, f := range files {
			f.FirstRow, f.LastRow = []byte("a"), []byte("b")
		}
		change(files[0], files[1], files[2])
		s := mustApply(t, Empty(), CreateTable{Table: "t", ID: 10, Tablets: []uint64{11}})
		for i, f := range files {
			s = mustApply(t, s, Install{Tablet: 11, Session: uint64(i + 1), Add: f})
		}
		output := aFile(30, 1).with(func(f *FileRef) { f.FirstRow, f.LastRow, f.Ages.Newest = []byte("a"), []byte("z"), 3 })
		after, err := Apply(s, Swap{Tablet: 11, Remove: []uint64{20, 22}, Add: output})
		if why != "" {
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%v, want %q", err, why)
			}
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
		if files := after.Tablet(11).Files; files[0].Number != 30 || files[1].Number != 21 {
			t.Errorf("newest first they are %v", files)
		}
		if got, err := load(payloads(after)); err != nil || got.String() != after.String() {
			t.Errorf("loaded it is %v, %v", got, err)
		}
		mustApply(t, after, Swap{Tablet: 11, Remove: []uint64{30, 21}, Add: output.with(func(f *FileRef) { f.Number, f.Name = 31, FileName("F", 31) })})
	}
	over := "ages 1 to 3 overlap those of file 21, 2 to 2, and it may hold keys of file 20"
	f(over, func(_, _, _ *FileRef) {})
	f("", func(_, middle, _ *FileRef) { middle.FirstRow, middle.LastRow = []byte("c"), []byte("d") })
	f("", func(_, middle, newest *FileRef) {
		middle.FirstRow, middle.LastRow = []byte("m"), []byte("n")
		newest.FirstRow, newest.LastRow = []byte("y"), []byte("z") // so that the output's rows lie around the other's
	})
	f("", func(oldest, middle, newest *FileRef) {
		oldest.TimestampsKnown, oldest.MinTimestamp, oldest.MaxTimestamp = true, 1, 2
		middle.TimestampsKnown, middle.MinTimestamp, middle.MaxTimestamp = true, 3, 4
		newest.TimestampsKnown, newest.MinTimestamp, newest.MaxTimestamp = true, 5, 6
	})
	f(over, func(_, middle, _ *FileRef) { middle.FirstRow, middle.LastRow = nil, nil })
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace/tablet"
)

// TestSplitKeepsAll divides every golden file at random rows of its own and others: the files, one after the other, hold
// the entries of the input, each the rows of its tablet alone, and extents agrees.
func TestSplitKeepsAll(t *testing.T) {
	names := goldenFiles(t)
	s := newShell(t, names...)
	random := rand.New(rand.NewPCG(3, 4))
	for n, name := range names {
		all := s.ok("rfile", "cat", name)
		lines := strings.SplitAfter(all, "\n")
		flags := []string{"--at", `row_0005`, "--at", `zz`, "--at", `\xff`}
		for range 1 + random.IntN(6) {
			row, _, _ := strings.Cut(lines[random.IntN(len(lines))], " ")
			if row != "" && len(row) < 1000 {
				flags = append(flags, "--at", row, "--at", row+`\x00`)
			}
		}
		out := fmt.Sprintf("out%d", n)
		args := append(append([]string{"rfile", "split", "--format", "json", "--load-plan", out + "/p.json"}, flags...), out, name)
		var doc divided
		if err := json.Unmarshal([]byte(s.ok(args...)), &doc); err != nil {
			t.Fatal(err)
		}
		parts := ""
		for _, p := range doc.Files {
			parts += s.ok("rfile", "cat", p.File)
			within := append([]string{"rfile", "extents", "--expect-tablets", "1"}, flags...)
			s.ok(append(within, p.File)...)
		}
		if parts != all {
			t.Errorf("%s: the parts hold other entries", name)
		}
		if len(doc.Files)+len(doc.Empty) != doc.Tablets {
			t.Errorf("%s: %d files and %d empty of %d tablets", name, len(doc.Files), len(doc.Empty), doc.Tablets)
		}
		s.run(append(append([]string{"rfile", "extents", "--load-plan", "whole.json"}, flags...), "--force", name)...)
		if n := strings.Count(string(readFile(t, "whole.json")), "rangeType"); n != len(doc.Files) && doc.Entries > 0 {
			t.Errorf("%s: extents finds %d tablets, split wrote %d files", name, n, len(doc.Files))
		}
	}
}

// TestSplitFirstKey puts a delete marker behind a split row that sorts before every other key of its row: it belongs to
// the tablet behind.
func TestSplitFirstKey(t *testing.T) {
	s := newShell(t)
	s.stdin = strings.NewReader(`{"row":"61","ts":"1"}` + "\n" + `{"row":"6100","ts":"9223372036854775807","del":true}` + "\n" + `{"row":"62","ts":"1"}`)
	s.ok("rfile", "create", "in.rf")
	s.ok("rfile", "split", "--at", "a", "out", "in.rf")
	if got := s.ok("rfile", "cat", "out/0001.rf"); got != "a : [] 1\t\n" {
		t.Errorf("below: %q", got)
	}
	if got := s.ok("rfile", "cat", "out/0002.rf"); got != "a\\x00 : [] 9223372036854775807 delete\t\nb : [] 1\t\n" {
		t.Errorf("above: %q", got)
	}
	if got := s.ok("rfile", "extents", "--extent", ",a", "in.rf"); !strings.Contains(got, `a\x00`) {
		t.Errorf("extents: %s", got)
	}
}

// TestSplitNames gives many tablets longer numbers, so that names sort.
func TestSplitNames(t *testing.T) {
	f := func(number, tablets int, want string) {
		t.Helper()
		if got := fileOfTablet("d", number, tablets); got != filepath.Join("d", want) {
			t.Errorf("%d of %d: %s", number, tablets, got)
		}
	}
	f(1, 1, "0001.rf")
	f(9999, 9999, "9999.rf")
	f(12, 10000, "00012.rf")
}

// TestEmptyText lists runs of tablets.
func TestEmptyText(t *testing.T) {
	f := func(empty []int, want string) {
		t.Helper()
		if got := emptyText(empty); got != want {
			t.Errorf("%v: %q", empty, got)
		}
	}
	f(nil, "")
	f([]int{3}, "  no rows for 1 tablet: 0003\n")
	f([]int{1, 2, 3, 7, 9, 10}, "  no rows for 6 tablets: 0001-0003 0007 0009-0010\n")
	var odd []int
	for i := range 30 {
		odd = append(odd, 2*i+1)
	}
	if got := emptyText(odd); !strings.HasSuffix(got, " 0039 and more\n") {
		t.Errorf("%q", got)
	}
}

// TestTiling cuts rows at split rows and around extents.
func TestTiling(t *testing.T) {
	show := func(tiles tiling) (text string) {
		for _, t := range tiles {
			if t.gap {
				text += "gap"
			}
			text += showExtent(t.Extent) + " "
		}
		return text
	}
	rows := func(texts ...string) (rows [][]byte) {
		for _, r := range texts {
			rows = append(rows, []byte(r))
		}
		return rows
	}
	if got := show(tilingOf(rows("m", "c", "m"))); got != "(-inf,c] (c,m] (m,+inf] " {
		t.Error(got)
	}
	if got := show(tilingOf(nil)); got != "(-inf,+inf] " {
		t.Error(got)
	}
	f := func(want string, texts ...string) {
		t.Helper()
		var l extentList
		for _, text := range texts {
			if err := l.Set(text); err != nil {
				t.Fatal(err)
			}
		}
		tiles, err := tilingOfExtents(l)
		got := show(tiles)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%v: %s, want %s", texts, got, want)
		}
	}
	f("(-inf,+inf] ", ",")
	f("gap(-inf,c] (c,f] gap(f,+inf] ", "c,f")
	f("(-inf,a] gap(a,c] (c,f] (f,g] gap(g,t] (t,+inf] ", "f,g", "t,", "c,f", ",a")
	f("extents (-inf,+inf] and (-inf,+inf] overlap", ",", ",")
	f("extents (c,f] and (e,g] overlap", "e,g", "c,f")
	f("extents (c,f] and (c,+inf] overlap", "c,f", "c,")
	f("extents (-inf,c] and (-inf,f] overlap", ",c", ",f")

	tiles := tilingOf(rows("c", "m"))
	for row, want := range map[string]int{"": 0, "c": 0, "c\x00": 1, "m": 1, "n": 2} {
		if got := tiles.find([]byte(row)); got != want || !tiles[got].Contains([]byte(row)) {
			t.Errorf("row %q is in %d, want %d", row, got, want)
		}
	}
}

// reference proposes split points of a list of index rows by the rule as it is written down, with float64 as in Java.
func reference(rows []string, wanted int) []string {
	distance := float64(len(rows)) / float64(wanted+1)
	found := map[string]bool{}
	last := slices.Max(rows)
	for i, row := range rows {
		if float64(i+1) < float64(int64(float64(len(found)+1)*distance+0.5)) {
			continue
		}
		candidate := row
		for j := i; j >= 0; j-- {
			if rows[j] != row {
				n := tablet.CommonPrefix([]byte(rows[j]), []byte(row))
				candidate = row[:min(n+1, len(row))]
				break
			}
		}
		if candidate != "" && candidate < last && len(candidate) < longestSplitRow {
			found[candidate] = true
		}
		if len(found) == wanted {
			break
		}
	}
	var out []string
	for row := range found {
		out = append(out, row)
	}
	slices.Sort(out)
	return out
}

// TestPropose compares proposals for files whose every entry is a block with the rule.
func TestPropose(t *testing.T) {
	s := newShell(t)
	random := rand.New(rand.NewPCG(5, 6))
	f := func(files [][]string, wanted int) []string {
		t.Helper()
		args := []string{"rfile", "splits", "-n", fmt.Sprint(wanted), "--format", "json"}
		var all []string
		for i, rows := range files {
			var in bytes.Buffer
			for _, r := range rows {
				fmt.Fprintf(&in, `{"row":"%x","cf":"%02x","ts":"1"}`+"\n", r, random.IntN(2))
			}
			s.stdin = &in
			name := fmt.Sprintf("in%d.rf", i)
			s.ok("rfile", "create", "--force", "--block-size", "1", "--codec", "none", "--groups", "g=\\x01", name)
			args = append(args, name)
			all = append(all, indexRows(s, name)...)
		}
		slices.Sort(all)
		var doc proposed
		if err := json.Unmarshal([]byte(s.run(args...).out), &doc); err != nil {
			t.Fatal(err)
		}
		want := reference(all, wanted)
		var got []string
		for _, row := range doc.Splits {
			b := make([]byte, len(row)/2)
			fmt.Sscanf(row, "%x", &b)
			got = append(got, string(b))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", all, got, want)
		}
		return got
	}
	for range 40 {
		var files [][]string
		for range 1 + random.IntN(3) {
			var rows []string
			for range 1 + random.IntN(30) {
				rows = append(rows, fmt.Sprintf("row%0*d", 1+random.IntN(4), random.IntN(300)))
			}
			files = append(files, rows)
		}
		f(files, 1+random.IntN(6))
	}
	// A row longer than a split row may be is passed over for the next one.
	long := strings.Repeat("x", longestSplitRow)
	got := f([][]string{{"a", long + "1", long + "2", long + "3", "y", "z"}}, 1)
	if len(got) != 1 || len(got[0]) > 2 {
		t.Errorf("beside long rows: %.20q", got)
	}
}

// indexRows are the rows of a file's index.
func indexRows(s *shell, name string) (rows []string) {
	e := newEnv(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	r, err := e.openRFile(name)
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Close()
	for _, g := range r.Groups() {
		w := walkIndex(s.t.Context(), r, g)
		for ; w.more; w.step() {
			rows = append(rows, string(w.now.Key.Row()))
		}
		if w.err != nil {
			s.t.Fatal(w.err)
		}
	}
	return rows
}

// TestDesiredSplits counts as Accumulo does.
func TestDesiredSplits(t *testing.T) {
	f := func(size, threshold, want int64) {
		t.Helper()
		if got := desiredSplits(size, threshold); got != want {
			t.Errorf("%d by %d: %d, want %d", size, threshold, got, want)
		}
	}
	f(0, 10, 0)
	f(10, 10, 0)
	f(11, 10, 1)
	f(25, 10, 2)
	f(30, 10, 3)
}

// TestLoadPlan writes the plan that Accumulo's documentation of LoadPlan.toJson shows.
func TestLoadPlan(t *testing.T) {
	p := newLoadPlan()
	p.addExtent("f1.rf", tablet.Extent{EndRow: []byte("003")})
	p.addRows("f2.rf", []byte("004"), []byte("007"))
	p.addExtent("f1.rf", tablet.Extent{PrevEndRow: []byte("005"), EndRow: []byte("006")})
	p.addExtent("f3.rf", tablet.Extent{PrevEndRow: []byte("008")})
	want := `{"destinations":[{"fileName":"f1.rf","startRow":null,"endRow":"MDAz","rangeType":"TABLE"},` +
		`{"fileName":"f2.rf","startRow":"MDA0","endRow":"MDA3","rangeType":"FILE"},` +
		`{"fileName":"f1.rf","startRow":"MDA1","endRow":"MDA2","rangeType":"TABLE"},` +
		`{"fileName":"f3.rf","startRow":"MDA4","endRow":null,"rangeType":"TABLE"}]}` + "\n"
	got, err := p.encode()
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	// Rows of other bytes take the URL alphabet, padded; an empty row is not none.
	p = newLoadPlan()
	p.addRows("a&b<.rf", []byte{}, []byte{0xfb, 0xff, 0xfe, 0x00})
	if got, _ = p.encode(); string(got) != `{"destinations":[{"fileName":"a&b<.rf","startRow":"","endRow":"-__-AA==","rangeType":"FILE"}]}`+"\n" {
		t.Errorf("%s", got)
	}
	if got, _ = newLoadPlan().encode(); string(got) != `{"destinations":[]}`+"\n" {
		t.Errorf("%s", got)
	}
}

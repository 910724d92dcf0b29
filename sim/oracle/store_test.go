package oracle

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"millrace/tablet"
)

// entry reads "row family:qualifier[:label]@ts=value", with ! in front for a marker.
func entry(text string) tablet.Entry {
	text, deleted := strings.CutPrefix(text, "!")
	row, rest, _ := strings.Cut(text, " ")
	column, rest, _ := strings.Cut(rest, "@")
	ts, value, _ := strings.Cut(rest, "=")
	parts := append(strings.SplitN(column, ":", 3), "", "")
	f := tablet.Fields{Row: []byte(row), Family: []byte(parts[0]), Qualifier: []byte(parts[1]), Visibility: []byte(parts[2]), Deleted: deleted}
	fmt.Sscan(ts, &f.Timestamp)
	return tablet.Entry{Key: tablet.NewKey(f), Value: []byte(value)}
}

func values(entries []tablet.Entry) string {
	var list []string
	for _, e := range entries {
		list = append(list, string(e.Value))
	}
	return strings.Join(list, " ")
}

func storeOf(entries ...string) *Store {
	s := &Store{}
	for _, e := range entries {
		s.Insert(entry(e))
	}
	return s
}

func TestScan(t *testing.T) {
	f := func(q Query, want string, entries ...string) {
		t.Helper()
		if got := values(storeOf(entries...).Scan(q)); got != want {
			t.Errorf("%v with %+v: %q, want %q", entries, q, got, want)
		}
	}
	everything := Query{}
	f(everything, "")
	f(everything, "a b c", "r2 f:q@1=c", "r1 f:r@1=b", "r1 f:q@1=a")
	f(everything, "5 3", "r f:q@3=3", "r f:q@5=5")
	f(everything, "later earlier", "r f:q@3=earlier", "r f:q@3=later")
	// A marker hides what is as old or older, whether written before or after it, in its cell alone.
	f(everything, "4 other row", "r f:q@2=2", "!r f:q@3", "r f:q@3=3", "r f:q@4=4", "r f:q:L@1=other", "s f:q@1=row")
	// Versions are counted after deletes, in each cell.
	one := Query{MaxVersions: 1}
	f(one, "5", "r f:q@3=3", "r f:q@5=5")
	f(one, "3", "r f:q@3=3", "r f:q@5=5", "!r f:q@4", "!r f:q@9", "r f:q@10=3")
	f(one, "5 L", "r f:q@3=3", "r f:q@5=5", "r f:q:L@1=L")
	f(Query{MaxVersions: 2}, "c b", "r f:q@1=a", "r f:q@1=b", "r f:q@1=c")
	// What the reader may not see.
	f(Query{Visible: func(l []byte) bool { return len(l) == 0 }}, "x", "r f:q@1=x", "r f:q:L@1=y")
	// Families and columns.
	f(Query{Families: tablet.OnlyFamilies([]byte("g"))}, "2 3", "r f:q@1=1", "r g:q@1=2", "r g:r@1=3")
	f(Query{Columns: []Column{{Family: []byte("f")}, {Family: []byte("g"), Qualifier: []byte("r")}}}, "1 3", "r f:q@1=1", "r g:q@1=2", "r g:r@1=3")
	f(Query{Columns: []Column{{Family: []byte("g"), Qualifier: []byte{}}}}, "4", "r g:q@1=2", "r g:@1=4")
	// A range that begins below a marker, or below the newest version, sees neither past it.
	below := tablet.Range{}.WithStart(entry("r f:q@3").Key)
	f(Query{Range: below}, "other", "r f:q@2=2", "!r f:q@4", "r f:r@1=other")
	f(Query{Range: below, MaxVersions: 1}, "other", "r f:q@2=2", "r f:q@4=4", "r f:r@1=other")
	f(Query{Range: below, MaxVersions: 2}, "2 other", "r f:q@2=2", "r f:q@4=4", "r f:r@1=other")
	f(Query{Range: tablet.ExactRow([]byte("r"))}, "2", "q f:q@2=1", "r f:q@2=2", "s f:q@4=4")
}

func TestApply(t *testing.T) {
	m := tablet.NewMutation([]byte("r"))
	m.Put([]byte("f"), []byte("q"), nil, []byte("1"))
	m.Put([]byte("f"), []byte("q"), nil, []byte("2"))
	m.Add(tablet.Update{Family: []byte("f"), Qualifier: []byte("q"), Value: []byte("old"), Timestamp: 3, HasTimestamp: true})
	m.Delete([]byte("f"), []byte("gone"), nil)
	s := storeOf("r f:gone@9=hidden")
	s.Apply(m, 10)
	if got := values(s.Scan(Query{})); got != "2 1 old" {
		t.Errorf("%q", got)
	}
	if ts := s.Scan(Query{})[0].Key.Timestamp(); ts != 10 || len(s.All()) != 5 {
		t.Errorf("timestamp %d, %d entries in all", ts, len(s.All()))
	}
}

func TestCompact(t *testing.T) {
	s := storeOf("r f:q@1=1", "r f:q@2=2", "r f:q@3=3", "!r f:g@5", "r f:g@4=4")
	s.Compact(1)
	if got := values(s.All()); got != "3" {
		t.Errorf("after a full compaction: %q", got)
	}
	s.Insert(entry("r f:g@4=again"))
	s.Insert(entry("r f:q@2=2b"))
	if got := values(s.Scan(Query{})); got != "again 3 2b" {
		t.Errorf("afterwards: %q", got)
	}
}

// TestCompactionChangesNoScan with as many versions or more: what may be dropped was not seen.
func TestCompactionChangesNoScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &Store{}
		for i := range rapid.IntRange(0, 25).Draw(t, "n") {
			mark := rapid.SampledFrom([]string{"", "", "!"}).Draw(t, "mark")
			s.Insert(entry(fmt.Sprintf("%s%s f:q:%s@%d=%d", mark, rapid.SampledFrom([]string{"r", "s"}).Draw(t, "row"),
				rapid.SampledFrom([]string{"", "L"}).Draw(t, "label"), rapid.IntRange(0, 4).Draw(t, "ts"), i)))
		}
		kept := rapid.IntRange(0, 3).Draw(t, "kept")
		q := Query{MaxVersions: rapid.IntRange(1, 3).Draw(t, "asked")}
		if kept != 0 && q.MaxVersions > kept {
			q.MaxVersions = kept
		}
		before := values(s.Scan(q))
		s.Compact(kept)
		if after := values(s.Scan(q)); after != before {
			t.Fatalf("%q became %q", before, after)
		}
		for _, e := range s.All() {
			if e.Key.Deleted() {
				t.Fatalf("a marker is left")
			}
		}
	})
}

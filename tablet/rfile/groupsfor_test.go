package rfile

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"millrace/tablet"
)

// TestGroupsFor asks which locality groups a scan must look into, by the families that it wants or does not want: in a file
// whose default group lists its families, and in one whose default group met too many.
func TestGroupsFor(t *testing.T) {
	all := randomEntries(rand.New(rand.NewPCG(5, 1)), 200, "abc", []string{"a", "b", "c", "d", "e"})
	tracked, _ := writeGroups(t, WriterOptions{}, all, [][]string{{"a", "b"}, {"c", "never"}, nil}) // d and e in the default group
	many := slices.Clone(all)
	for i := range maxTrackedFamilies + 1 {
		many = append(many, tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: []byte("z"), Family: []byte(strings.Repeat("f", 1+i))})})
	}
	sortEntries(many)
	untracked, _ := writeGroups(t, WriterOptions{}, many, [][]string{{"a", "b"}, {"c", "never"}, nil})
	f := func(only, but string, want, wantUntracked string) {
		t.Helper()
		families := tablet.AllFamiliesBut()
		switch {
		case but != "":
			families = tablet.AllFamiliesBut(familyNames(but)...)
		case only == "none":
			families = tablet.OnlyFamilies()
		case only != "":
			families = tablet.OnlyFamilies(familyNames(only)...)
		}
		for file, want := range map[*[]byte]string{&tracked: want, &untracked: wantUntracked} {
			r := readBytes(t, *file)
			var got []string
			for _, g := range r.GroupsFor(families) {
				got = append(got, map[bool]string{true: "default", false: g.Name}[g.Default])
			}
			if s := strings.Join(got, " "); s != want {
				t.Errorf("only %q, all but %q: groups %q, want %q", only, but, s, want)
			}
		}
	}
	f("", "", "g0 g1 default", "g0 g1 default")
	f("none", "", "", "")
	f("a", "", "g0", "g0 default") // no list says that the default group lacks it
	f("a c", "", "g0 g1", "g0 g1 default")
	f("d", "", "default", "default")
	f("never", "", "", "default") // listed, with no entries
	f("other", "", "", "default")
	f("", "a", "g0 g1 default", "g0 g1 default")
	f("", "a b", "g1 default", "g1 default")
	f("", "c never", "g0 default", "g0 default")
	f("", "d e", "g0 g1", "g0 g1 default")
	f("", "a b c d e", "", "default")
}

func familyNames(text string) (out [][]byte) {
	for _, n := range strings.Fields(text) {
		out = append(out, []byte(n))
	}
	return out
}

package iter

import (
	"fmt"

	"millrace/internal/nearest"
	"millrace/tablet"
)

// Mode says how a merge decides which source comes next. All modes give the same output. The zero value is the one to
// use.
type Mode uint8

const (
	// Tree is a tree of losers over codes, which looks at keys only where codes are equal, and leaves the tree alone while
	// one source supplies the next entries.
	Tree Mode = iota
	// TreeEntry is Tree with one entry a run, to measure what runs are worth.
	TreeEntry
	// New keeps the current source outside the heap, and stays with it while its key comes before the heap's smallest:
	// one comparison an entry. It is what ACCUMULO-2827 made of Old, kept to be measured against, as is Old.
	New
	// Swap is New whose heap takes the source that was current in place of the one that becomes it, in one pass.
	Swap
	// Old takes the current source out of the heap and puts it back for every entry. It is what Accumulo did before
	// ACCUMULO-2827.
	Old

	modes
)

var modeNames = [modes]string{New: "new", Old: "old", Swap: "swap", Tree: "tree", TreeEntry: "tree-entry"}

// Modes are all of them.
func Modes() []Mode { return []Mode{Old, New, Swap, Tree, TreeEntry} }

// Valid says whether m is one of the modes.
func (m Mode) Valid() bool { return m < modes }

func (m Mode) String() string {
	if m.Valid() {
		return modeNames[m]
	}
	return fmt.Sprintf("mode %d", uint8(m))
}

// ParseMode is the inverse of String; its error wraps tablet.ErrUsage.
func ParseMode(name string) (Mode, error) {
	for m, n := range modeNames {
		if n == name {
			return Mode(m), nil
		}
	}
	return 0, fmt.Errorf("no merge is called %q, nearest is %q: %w", name, nearest.Name(name, modeNames[:]), tablet.ErrUsage)
}

package iter

import (
	"fmt"

	"millrace/tablet"
)

// Mode says how a merge decides which source comes next. All modes give the same output.
type Mode uint8

const (
	// Old takes the current source out of the heap and puts it back for every entry. It is what Accumulo did before
	// ACCUMULO-2827, kept to be measured against.
	Old Mode = iota
	// New keeps the current source outside the heap, and stays with it while its key comes before the heap's smallest:
	// one comparison an entry. It is what ACCUMULO-2827 made of Old.
	New

	modes
)

var modeNames = [modes]string{Old: "old", New: "new"}

func (m Mode) String() string {
	if m < modes {
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
	return 0, fmt.Errorf("no merge is called %q, nearest is %q: %w", name, nearest(name, modeNames[:]), tablet.ErrUsage)
}

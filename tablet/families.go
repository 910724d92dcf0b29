package tablet

import (
	"bytes"
	"slices"
)

// Families says which column families are wanted: those of a set, or all but those of a set. The zero value is all.
type Families struct {
	set       [][]byte // sorted, no duplicates
	inclusive bool
}

// OnlyFamilies wants the named families and no other. Without a name it wants nothing.
func OnlyFamilies(names ...[]byte) Families { return Families{set: sortedSet(names), inclusive: true} }

// AllFamiliesBut wants every family except those named.
func AllFamiliesBut(names ...[]byte) Families { return Families{set: sortedSet(names)} }

func sortedSet(names [][]byte) [][]byte {
	set := slices.Clone(names)
	slices.SortFunc(set, bytes.Compare)
	return slices.CompactFunc(set, bytes.Equal)
}

// All says whether every family is wanted.
func (f Families) All() bool { return !f.inclusive && len(f.set) == 0 }

// None says whether no family is wanted.
func (f Families) None() bool { return f.inclusive && len(f.set) == 0 }

// Inclusive says whether Names are those wanted rather than those left out.
func (f Families) Inclusive() bool { return f.inclusive }

// Names is the set, sorted. The caller must not change it.
func (f Families) Names() [][]byte { return f.set }

// Accepts says whether a family is wanted.
func (f Families) Accepts(family []byte) bool {
	_, found := slices.BinarySearchFunc(f.set, family, bytes.Compare)
	return found == f.inclusive
}

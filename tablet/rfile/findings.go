package rfile

import (
	"bytes"

	"millrace/tablet"
)

// findings are the books of a check: what some blocks of a group hold.
type findings struct {
	entries, deletes int64
	first            tablet.Key // the group's first key
	hasFirst         bool       // its first block was seen
	families         map[string]*int64
	family           []byte // counted last, and its counter
	counter          *int64
}

// count takes in an entry of a family.
func (f *findings) count(family []byte) {
	if f.counter == nil || !bytes.Equal(f.family, family) {
		f.counter = f.of(family)
		f.family = append(f.family[:0], family...)
	}
	*f.counter++
}

func (f *findings) of(family []byte) *int64 {
	n := f.families[string(family)]
	if n == nil {
		if f.families == nil {
			f.families = map[string]*int64{}
		}
		n = new(int64)
		f.families[string(family)] = n
	}
	return n
}

// add takes in the books of other blocks.
func (f *findings) add(of *findings) {
	f.entries += of.entries
	f.deletes += of.deletes
	if of.hasFirst {
		f.first, f.hasFirst = of.first, true
	}
	for family, n := range of.families {
		*f.of([]byte(family)) += *n
	}
}

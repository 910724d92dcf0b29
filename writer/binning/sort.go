package binning

import (
	"bytes"
	"cmp"
	"slices"

	"millrace/tablet/locate"
)

// radixMin is from how many items on counting digits is faster than comparing.
const radixMin = 192

// sort sorts items by row; those of one row stay in the order of arrival.
//
// Most of it is a radix sort of the rows' first eight bytes, from the last to the first, which compares nothing, keeps order,
// and skips digits that are all alike, as in rows of digits with leading zeros. What is equal in all eight bytes is then
// sorted by what follows them.
func (s *Scratch) sort(items []Item) {
	for i := range items {
		items[i].order = int32(i)
	}
	s.sortFrom(items, 0)
}

// sortFrom sorts items whose rows are alike before depth and whose prefixes are of the bytes from there.
func (s *Scratch) sortFrom(items []Item, depth int) {
	if len(items) < radixMin {
		slices.SortFunc(items, compare)
		return
	}
	s.radix(items)
	for lo, hi := 0, 0; lo < len(items); lo = hi {
		for hi = lo + 1; hi < len(items) && items[hi].Prefix.First == items[lo].Prefix.First; {
			hi++
		}
		switch n := hi - lo; {
		case n == 1:
		case n < radixMin:
			slices.SortFunc(items[lo:hi], compare)
		case !sameRow(items[lo:hi]):
			s.sortEqual(items[lo:hi], depth+8)
		}
	}
}

// sortEqual sorts many items whose prefixes begin alike: their rows are alike before depth, but for zeros behind the end of
// some. It leaves the prefixes as they are.
func (s *Scratch) sortEqual(items []Item, depth int) {
	ended := s.endedFirst(items, depth)
	slices.SortFunc(items[:ended], func(a, b Item) int {
		return cmp.Or(cmp.Compare(len(a.Mutation.Row()), len(b.Mutation.Row())), cmp.Compare(a.order, b.order))
	})
	longer := items[ended:]
	for i := range longer {
		longer[i].Prefix = locate.PrefixOf(longer[i].Mutation.Row()[depth:])
	}
	s.sortFrom(longer, depth)
	for i := range longer {
		longer[i].Prefix = locate.PrefixOf(longer[i].Mutation.Row()[depth-8:])
	}
}

// endedFirst moves items whose rows are not longer than depth to the front, where they belong, and says how many there are.
// Both parts keep their order.
func (s *Scratch) endedFirst(items []Item, depth int) (ended int) {
	longer := s.other[:0] // has the capacity: radix was here before
	for i := range items {
		if len(items[i].Mutation.Row()) > depth {
			longer = append(longer, items[i])
			continue
		}
		items[ended] = items[i]
		ended++
	}
	copy(items[ended:], longer)
	return ended
}

// compare orders items whose rows are alike before where their prefixes begin.
func compare(a, b Item) int {
	switch {
	case a.Prefix.Before(b.Prefix):
		return -1
	case b.Prefix.Before(a.Prefix):
		return 1
	}
	if c := bytes.Compare(a.Mutation.Row(), b.Mutation.Row()); c != 0 {
		return c
	}
	return cmp.Compare(a.order, b.order)
}

// radix sorts items by the first half of their prefixes and keeps the order of equal ones.
func (s *Scratch) radix(items []Item) {
	differ := uint64(0) // bits in which not all are alike
	for i := range items {
		differ |= items[i].Prefix.First ^ items[0].Prefix.First
	}
	s.other = slices.Grow(s.other[:0], len(items))
	from, to := items, s.other[:len(items)]
	for d := range 8 {
		if byte(differ>>(8*d)) == 0 {
			continue
		}
		places := &s.places
		*places = [256]int32{}
		for i := range from {
			places[byte(from[i].Prefix.First>>(8*d))]++
		}
		at := int32(0)
		for b, n := range places {
			places[b] = at
			at += n
		}
		for i := range from {
			place := &places[byte(from[i].Prefix.First>>(8*d))]
			to[*place] = from[i]
			*place++
		}
		from, to = to, from
	}
	if &from[0] != &items[0] {
		copy(items, from)
	}
}

// sameRow says whether all items are of one row.
func sameRow(items []Item) bool {
	row := items[0].Mutation.Row()
	for i := range items[1:] {
		if !bytes.Equal(items[i+1].Mutation.Row(), row) {
			return false
		}
	}
	return true
}

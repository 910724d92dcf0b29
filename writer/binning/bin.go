package binning

import (
	"millrace/tablet"
	"millrace/tablet/locate"
)

// Binned is what one tablet gets.
type Binned struct {
	Tablet    int                // index in the map
	Mutations []*tablet.Mutation // sorted by row, those of one row in order of arrival
	Bytes     int64              // estimated memory of the mutations
}

// Scratch is a binner's working memory, reused from call to call. It belongs to one goroutine.
type Scratch struct {
	items  []Item
	other  []Item     // the other half of the radix sort
	places [256]int32 // of a digit's values
}

// Result is what Bin makes. Its own arrays may be given to the next call; the mutations' arrays are new with each call, and the
// bins' to keep or send away.
type Result struct {
	Bins   []Binned           // of each part in the order of tablets
	Failed []*tablet.Mutation // whose row has no tablet, the map being partial; sorted as in a bin
}

// Bin groups items by tablet and sorts them by row. Each part is binned for itself, one after the other, so that a tablet may
// get a bin of each; parts that fit into the processor's caches are binned fastest. Mutations of one row keep the order in which
// the parts have them. The parts may be reordered; they are the caller's to clear.
func Bin(parts [][]Item, m *locate.Map, s *Scratch, r *Result) {
	r.Bins, r.Failed = r.Bins[:0], r.Failed[:0]
	for _, p := range parts {
		s.bin(p, m, r)
	}
}

// Mutations is Bin for mutations that have no items yet, as one part.
func Mutations(mutations []*tablet.Mutation, m *locate.Map, s *Scratch, r *Result) {
	r.Bins, r.Failed = r.Bins[:0], r.Failed[:0]
	s.items = s.items[:0]
	for _, mut := range mutations {
		s.items = append(s.items, NewItem(mut))
	}
	s.bin(s.items, m, r)
	clear(s.items) // mutations must not live on here
}

func (s *Scratch) bin(items []Item, m *locate.Map, r *Result) {
	if len(items) == 0 {
		return
	}
	s.sort(items)
	cut(items, m, r)
	clear(s.other[:min(len(items), cap(s.other))])
}

// cut makes a bin of each stretch of sorted items that lies in one tablet.
func cut(items []Item, m *locate.Map, r *Result) {
	all := make([]*tablet.Mutation, len(items))
	at, from := 0, 0 // all[from:at] goes to the tablet near
	near, end := -1, locate.Prefix{}
	var bytes int64
	flush := func() {
		if at > from {
			r.Bins = append(r.Bins, Binned{Tablet: near, Mutations: all[from:at:at], Bytes: bytes})
		}
		from, bytes = at, 0
	}
	for i := range items {
		it := &items[i]
		if !it.Prefix.Before(end) { // else it is in the tablet of the one before
			j, ok := m.FindPrefix(it.Prefix, max(near, 0))
			if !ok {
				j, ok = m.FindFrom(it.Mutation.Row(), max(near, 0))
			}
			if !ok {
				r.Failed = append(r.Failed, it.Mutation)
				continue
			}
			if j != near {
				flush()
				near, end = j, m.EndPrefix(j)
			}
		}
		all[at] = it.Mutation
		at++
		bytes += int64(it.Bytes)
	}
	flush()
}

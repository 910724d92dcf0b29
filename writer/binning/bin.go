package binning

import (
	"millrace/tablet"
	"millrace/tablet/locate"
)

// Binned is what one tablet gets.
type Binned struct {
	Tablet    int // index in the map
	Extent    tablet.Extent
	Mutations []*tablet.Mutation
	Bytes     int64 // packed bytes of the mutations, see Mutation.NumBytes
}

// Options tunes Bin.
type Options struct {
	// SortRows sorts each bin by row; mutations of one row keep their order.
	SortRows bool
}

// Scratch is a binner's working memory, reused from call to call. It belongs to one goroutine.
type Scratch struct {
	bins   []Binned
	failed []*tablet.Mutation

	binOf  []int32 // for each mutation the index of its bin, or noBin
	counts []int32 // for each bin its mutations
	slots  []int32 // for each tablet of the map 1 + the index of its bin, 0 if it has none
	keys   []sortKey
}

const noBin = -1

// Bin groups mutations by tablet: the bins come in the order in which their first mutation came, with SortRows in the
// order of tablets. The bins of one call share one new array of mutations, which is the caller's to keep or send away;
// the slices bins and failed themselves are the scratch's and valid until the next call. The slice given is not changed.
//
// A mutation fails if the map, being partial, has no tablet for its row. Failed mutations come in order of arrival, with
// SortRows sorted by row; those of one row are in order of arrival always.
func Bin(mutations []*tablet.Mutation, m *locate.Map, s *Scratch, o Options) (bins []Binned, failed []*tablet.Mutation) {
	clear(s.failed) // what was reported last time must not live on here
	clear(s.bins)
	s.bins, s.failed = s.bins[:0], s.failed[:0]
	if o.SortRows {
		s.binSorted(mutations, m)
	} else {
		s.binArrived(mutations, m)
	}
	return s.bins, s.failed
}

// binArrived counts each tablet's mutations, then deals them out: a counting sort, which keeps their order.
func (s *Scratch) binArrived(mutations []*tablet.Mutation, m *locate.Map) {
	if len(s.slots) < m.Len() {
		s.slots = make([]int32, m.Len())
	}
	s.binOf, s.counts = s.binOf[:0], s.counts[:0]
	near := 0
	for _, mut := range mutations {
		i, ok := m.FindNear(mut.Row(), near)
		if !ok {
			s.failed = append(s.failed, mut)
			s.binOf = append(s.binOf, noBin)
			continue
		}
		near = i
		s.binOf = append(s.binOf, s.count(i, m, mut))
	}
	s.deal(mutations)
	for i := range s.bins {
		s.slots[s.bins[i].Tablet] = 0
	}
}

// count charges a mutation to the bin of the i-th tablet and returns the bin.
func (s *Scratch) count(i int, m *locate.Map, mut *tablet.Mutation) int32 {
	if s.slots[i] == 0 {
		s.bins = append(s.bins, Binned{Tablet: i, Extent: m.Extent(i)})
		s.counts = append(s.counts, 0)
		s.slots[i] = int32(len(s.bins))
	}
	b := s.slots[i] - 1
	s.bins[b].Bytes += int64(mut.NumBytes())
	s.counts[b]++
	return b
}

// deal gives each bin its part of a new array and the mutations to it.
func (s *Scratch) deal(mutations []*tablet.Mutation) {
	all := make([]*tablet.Mutation, len(mutations)-len(s.failed))
	at := 0
	for b, n := range s.counts {
		s.bins[b].Mutations = all[at : at : at+int(n)]
		at += int(n)
	}
	for i, b := range s.binOf {
		if b != noBin {
			s.bins[b].Mutations = append(s.bins[b].Mutations, mutations[i])
		}
	}
}

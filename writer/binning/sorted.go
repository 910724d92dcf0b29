package binning

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"millrace/tablet"
	"millrace/tablet/locate"
)

// sortKey stands for a mutation while sorting; most comparisons end at the prefix, without a look at the row.
type sortKey struct {
	prefix uint64 // the first eight bytes of the row, zero-padded, big-endian
	at     int32  // place of arrival, which also decides between equal rows
}

// binSorted sorts by row, after which every tablet's mutations lie together.
func (s *Scratch) binSorted(mutations []*tablet.Mutation, m *locate.Map) {
	s.keys = s.keys[:0]
	for i, mut := range mutations {
		s.keys = append(s.keys, sortKey{prefix: prefix(mut.Row()), at: int32(i)})
	}
	slices.SortFunc(s.keys, func(a, b sortKey) int {
		if c := cmp.Compare(a.prefix, b.prefix); c != 0 {
			return c
		}
		if c := bytes.Compare(mutations[a.at].Row(), mutations[b.at].Row()); c != 0 {
			return c
		}
		return cmp.Compare(a.at, b.at)
	})
	s.cut(mutations, m)
}

// cut makes a bin of each stretch of sorted mutations that lies in one tablet.
func (s *Scratch) cut(mutations []*tablet.Mutation, m *locate.Map) {
	all := make([]*tablet.Mutation, 0, len(s.keys))
	near := 0
	for _, k := range s.keys {
		mut := mutations[k.at]
		i, ok := m.FindNear(mut.Row(), near)
		if !ok {
			s.failed = append(s.failed, mut)
			continue
		}
		near = i
		if n := len(s.bins); n == 0 || s.bins[n-1].Tablet != i {
			s.bins = append(s.bins, Binned{Tablet: i, Extent: m.Extent(i), Mutations: all[len(all):]})
		}
		all = append(all, mut)
		b := &s.bins[len(s.bins)-1]
		b.Mutations = b.Mutations[:len(b.Mutations)+1]
		b.Bytes += int64(mut.NumBytes())
	}
	for i := range s.bins {
		s.bins[i].Mutations = slices.Clip(s.bins[i].Mutations)
	}
}

// prefix keeps the order of rows: where two prefixes differ, the rows differ the same way.
func prefix(row []byte) uint64 {
	if len(row) >= 8 {
		return binary.BigEndian.Uint64(row)
	}
	var b [8]byte
	copy(b[:], row)
	return binary.BigEndian.Uint64(b[:])
}

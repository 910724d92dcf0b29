package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/rfile"
)

// sorter brings entries that come in any order into the order of an RFile: group after group, keys ascending, equal keys
// as they came. What does not fit its memory goes to sorted temporary files, which are merged at the end.
type sorter struct {
	budget  int // bytes of entries and refs to hold
	slab    int // bytes of a usual slab
	layout  grouping
	slabs   [][]byte // entries, back to back; all but the last are full
	refs    []entryRef
	spare   [][]byte // slabs of the usual size, to use again
	held    int      // bytes of slabs, spare ones included, and refs
	entries int64
	runs    *sortRuns

	family []byte // looked up last, and its group
	group  int
}

// entryRef stands for an entry while it is sorted.
type entryRef struct {
	prefix     uint64 // eight bytes of the row behind what all rows share
	timestamp  int64
	slab, at   uint32
	keyBytes   uint32
	valueBytes uint32
	ends       tablet.Ends
	group      uint16
	deleted    bool
}

const (
	maxSlabBytes  = 1 << 20
	entryRefBytes = 48
	firstRefs     = 64
)

// newSorter sorts within budget bytes. Temporary files go into a directory of that name, which is made when it is needed.
func newSorter(dir vfs.FS, name string, layout grouping, budget int) *sorter {
	return &sorter{budget: budget, slab: min(max(budget/16, 1), maxSlabBytes), layout: layout, group: -1, runs: newSortRuns(dir, name, layout, budget)}
}

// add takes an entry, which it copies.
func (s *sorter) add(ctx context.Context, k *tablet.Key, value []byte) error {
	if err := s.makeRoom(ctx, k.Size()+len(value)); err != nil {
		return err
	}
	last := len(s.slabs) - 1
	slab := s.slabs[last]
	ref := entryRef{timestamp: k.Timestamp(), slab: uint32(last), at: uint32(len(slab)), keyBytes: uint32(k.Size()),
		valueBytes: uint32(len(value)), ends: k.Ends(), group: s.groupOf(k.Family()), deleted: k.Deleted()}
	slab = append(slab, k.Data()...)
	s.slabs[last] = append(slab, value...)
	s.refs = append(s.refs, ref)
	s.entries++
	return nil
}

func (s *sorter) groupOf(family []byte) uint16 {
	if s.group < 0 || !bytes.Equal(s.family, family) {
		s.group = s.layout.of(family)
		s.family = append(s.family[:0], family...)
	}
	return uint16(s.group)
}

// makeRoom sees to it that the last slab has so many bytes free and that refs has a place, and empties the memory to a
// temporary file when there would be too much in it.
func (s *sorter) makeRoom(ctx context.Context, need int) error {
	more := 0
	if !s.fits(need) && (len(s.spare) == 0 || need > s.slab) {
		more = max(need, s.slab)
	}
	places := cap(s.refs)
	if len(s.refs) == places {
		places = max(2*places, firstRefs)
		more += places * entryRefBytes // beside the old ones while they are copied
	}
	if more > 0 && s.held+more > s.budget && len(s.refs) > 0 {
		if err := s.spill(ctx); err != nil {
			return err
		}
		places = cap(s.refs)
	}
	if places > cap(s.refs) {
		s.held += (places - cap(s.refs)) * entryRefBytes
		s.refs = append(make([]entryRef, 0, places), s.refs...)
	}
	if !s.fits(need) {
		s.slabs = append(s.slabs, s.newSlab(need))
	}
	return nil
}

// fits says whether the last slab has so many bytes free.
func (s *sorter) fits(need int) bool {
	if len(s.slabs) == 0 {
		return false
	}
	last := s.slabs[len(s.slabs)-1]
	return cap(last)-len(last) >= need
}

func (s *sorter) newSlab(need int) []byte {
	if n := len(s.spare); n > 0 && need <= s.slab {
		slab := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return slab
	}
	s.held += max(need, s.slab)
	return make([]byte, 0, max(need, s.slab))
}

// spill writes what is in memory to a temporary file.
func (s *sorter) spill(ctx context.Context) error {
	s.sort()
	if err := s.runs.write(ctx, s.writeSorted); err != nil {
		return err
	}
	for _, slab := range s.slabs {
		if cap(slab) == s.slab {
			s.spare = append(s.spare, slab[:0])
		} else {
			s.held -= cap(slab)
		}
	}
	clear(s.slabs)
	s.slabs, s.refs = s.slabs[:0], s.refs[:0]
	return nil
}

// writeTo writes all entries, in order and in their groups.
func (s *sorter) writeTo(ctx context.Context, w *rfile.Writer, p *progress) error {
	if s.runs.empty() {
		s.sort()
		return s.writeSorted(ctx, w)
	}
	if len(s.refs) > 0 {
		if err := s.spill(ctx); err != nil {
			return err
		}
	}
	s.slabs, s.spare, s.refs = nil, nil, nil
	return s.runs.mergeInto(ctx, w, p)
}

// close removes the temporary files.
func (s *sorter) close() error { return s.runs.remove() }

// writeSorted writes what is in memory, which is sorted.
func (s *sorter) writeSorted(ctx context.Context, w *rfile.Writer) error {
	at := 0
	for g := range s.layout.groups() {
		if err := s.layout.start(w, g); err != nil {
			return err
		}
		for ; at < len(s.refs) && int(s.refs[at].group) == g; at++ {
			if at&1023 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			k := s.key(&s.refs[at])
			if err := w.Append(&k, s.value(&s.refs[at])); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *sorter) key(r *entryRef) tablet.Key {
	return tablet.KeyView(s.slabs[r.slab][r.at:r.at+r.keyBytes], r.ends, r.timestamp, r.deleted)
}

func (s *sorter) value(r *entryRef) []byte {
	at := r.at + r.keyBytes
	return s.slabs[r.slab][at : at+r.valueBytes]
}

// sort orders the refs. Rows often share a long beginning, so the eight bytes behind it decide most comparisons.
func (s *sorter) sort() {
	if len(s.refs) == 0 {
		return
	}
	first := s.row(&s.refs[0])
	shared := len(first)
	for i := range s.refs {
		shared = tablet.CommonPrefix(first[:shared], s.row(&s.refs[i]))
	}
	for i := range s.refs {
		var b [8]byte
		copy(b[:], s.row(&s.refs[i])[shared:])
		s.refs[i].prefix = binary.BigEndian.Uint64(b[:])
	}
	slices.SortFunc(s.refs, s.compare)
}

func (s *sorter) row(r *entryRef) []byte { return s.slabs[r.slab][r.at : r.at+r.ends.Row] }

func (s *sorter) compare(a, b entryRef) int {
	if a.group != b.group {
		return cmp.Compare(a.group, b.group)
	}
	if a.prefix != b.prefix {
		return cmp.Compare(a.prefix, b.prefix)
	}
	ka, kb := s.key(&a), s.key(&b)
	if c := tablet.Compare(&ka, &kb); c != 0 {
		return c
	}
	// Equal keys stay as they came: slabs fill one after another.
	if a.slab != b.slab {
		return cmp.Compare(a.slab, b.slab)
	}
	return cmp.Compare(a.at, b.at)
}

package rfile

import (
	"errors"
	"math"

	"millrace/tablet"
)

// skim passes over entries of a block that nobody wants to see. It keeps each field of the last key in a buffer of its
// own, so that a field which the file says is the same costs nothing, and one that shares a prefix only its new bytes.
//
// Every step also finds the place where the key first differs from the one before. That proves that keys ascend, and it
// nearly always decides how the key stands to the one searched for; see to.
//
// It refuses what the decoder refuses, and leaves saying why to that one: see decoder.explain.
type skim struct {
	raw      []byte
	at, left int
	fields   [4]skimField
	ts       int64
	last     byte // flags of the last key, of which only flagDeleted is of use
	deletes  int  // keys with that flag, since somebody set it to 0

	place    place // where the last key first differs from the one before it
	start    int   // of the last entry in raw
	valueAt  int
	recorded int // what the file recorded as shared in the first field not flagged the same

	flags      uint64 // of an entry that is being read: the first byte, and above it the second
	tsBytes    uint   // what simple takes the next lengths for
	valueBytes uint
}

// place is a position in a key: the field (0 row … 3 visibility, 4 timestamp, 5 delete flag, 6 behind the key) and the
// bytes of it before the position. A greater place lies deeper.
type place uint64

const (
	placeVersion = place(4) << 32
	placeFlag    = place(5) << 32
	placeEnd     = place(6) << 32
)

func placeOf(field, shared int) place { return place(field)<<32 | place(shared) }

func (p place) field() int  { return int(p >> 32) }
func (p place) shared() int { return int(p & math.MaxUint32) }

// recorded is what a file records as shared where a key first differs in a field, at the byte behind the shared ones.
func (p place) recorded() int {
	switch {
	case p < placeVersion:
		return p.shared()
	case p == placeVersion:
		return 0
	}
	return unknownYet
}

// unknownYet is recorded until a field is read.
const unknownYet = -1

// target is a key to skim to, in fields.
type target struct {
	fields  [4][]byte
	ts      int64
	deleted bool
	past    bool // entries of exactly this key are passed over, too
}

func targetOf(b *tablet.Bound) target {
	k := &b.Key
	return target{fields: [4][]byte{k.Row(), k.Family(), k.Qualifier(), k.Visibility()},
		ts: k.Timestamp(), deleted: k.Deleted(), past: !b.Inclusive}
}

// load makes k the last key, with left entries to come from at on.
func (s *skim) load(raw []byte, at, left int, k *tablet.Key) {
	s.raw, s.at, s.left = raw, at, left
	s.ts, s.last = k.Timestamp(), 0
	if k.Deleted() {
		s.last = flagDeleted
	}
	for i, f := range [4][]byte{k.Row(), k.Family(), k.Qualifier(), k.Visibility()} {
		s.fields[i].set(0, f)
	}
}

// open sets s before the first of a block's n entries.
func (s *skim) open(raw []byte, n int) { s.raw, s.at, s.left = raw, 0, n }

// to goes on until the last key is the first one not before the target, and says whether the block has such a key. The
// key that is the last one when it is called must lie before the target.
//
// Let d be the place where the last key and the target first differ. A next key that first differs from the last one
// deeper than at d agrees with it at d, and so lies before the target for the same reason. One that differs from it
// before d is greater there than the last key, which has what the target has: it lies behind. Only at d itself does
// the key have to be looked at.
func (s *skim) to(t *target) (found bool, err error) {
	_, d := s.compare(t, 0)
	for s.left > 0 {
		met, err := s.pass(d+1, 0, 0)
		if !met || err != nil {
			return false, err
		}
		if s.place < d {
			return true, nil
		}
		var before bool
		if before, d = s.compare(t, d); !before {
			return true, nil
		}
	}
	return false, nil
}

// first decodes the first key of a block and says whether it lies before the target.
func (s *skim) first(t *target) (before bool, err error) {
	if err := s.firstKey(); err != nil {
		return false, err
	}
	before, _ = s.compare(t, 0)
	return before, nil
}

// pass goes on to the end of the first entry whose key first differs from the one before it at a place below some, or is
// flagged as not having the same fields as are named, and says that it met one; else until so many entries are left.
func (s *skim) pass(below place, changed byte, left int) (met bool, err error) {
	for s.left > left {
		step := s.simple(below, uint64(changed), left)
		switch {
		case step == stepMet:
			return true, nil
		case step == stepDone && s.left == left:
			return false, nil
		case step == stepDone: // the block's end is near
			if step = 0; !s.begin() {
				return false, errSkim
			}
		}
		if !s.finish(step) {
			return false, errSkim
		}
		if s.place < below || byte(s.flags)&changed != changed {
			return true, nil
		}
	}
	return false, nil
}

// next passes over one entry that is not the first of its block.
func (s *skim) next() error {
	_, err := s.pass(0, 0, s.left-1)
	return err
}

// errSkim says that the block is wrong; see decoder.explain.
var errSkim = errors.New("skim: not the keys of a block")

// compare looks at the last key from a place on, up to which it is known to agree with the target. It says whether the
// key is to be passed over, and the place of the first difference.
func (s *skim) compare(t *target, from place) (before bool, at place) {
	f, n := from.field(), from.shared()
	for ; f < 4; f++ {
		own, want := s.fields[f].view(), t.fields[f]
		n += tablet.CommonPrefix(own[n:], want[n:])
		switch {
		case n < len(own) && n < len(want):
			return own[n] < want[n], placeOf(f, n)
		case len(own) != len(want):
			return len(own) < len(want), placeOf(f, n)
		}
		n = 0
	}
	switch {
	case s.ts != t.ts:
		return s.ts > t.ts, placeVersion
	case s.deleted() != t.deleted:
		return s.deleted(), placeFlag
	}
	return t.past, placeEnd
}

// deleted says whether the last key is a delete marker.
func (s *skim) deleted() bool { return s.last&flagDeleted != 0 }

// appendKey appends the last key's fields, and says where they end.
func (s *skim) appendKey(dst []byte) (arena []byte, ends tablet.Ends) {
	start := len(dst)
	for i, end := range [3]*uint32{&ends.Row, &ends.Family, &ends.Qualifier} {
		dst = append(dst, s.fields[i].view()...)
		*end = uint32(len(dst) - start)
	}
	return append(dst, s.fields[3].view()...), ends
}

// rest is a skim's memory, without what is in it.
func (s *skim) rest() skim {
	var kept skim
	for i := range s.fields {
		kept.fields[i] = s.fields[i].rest()
	}
	return kept
}

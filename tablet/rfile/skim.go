package rfile

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"millrace/internal/wire"
	"millrace/tablet"
)

// skim passes over entries of a block that nobody wants to see. It keeps each field of the last key in a buffer of its
// own, so that a field which the file says is the same costs nothing, and one that shares a prefix only its new bytes.
//
// Every step also finds the place where the key first differs from the one before. That proves that keys ascend, and it
// nearly always decides how the key stands to the one searched for; see to.
type skim struct {
	raw      []byte
	at, left int
	fields   [4][]byte
	ts       int64
	deleted  bool

	place    place // where the last key first differs from the one before it
	start    int   // of the last entry in raw
	valueAt  int
	recorded int // what the file recorded as shared in the first field not flagged the same
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
	s.ts, s.deleted = k.Timestamp(), k.Deleted()
	for i, f := range [4][]byte{k.Row(), k.Family(), k.Qualifier(), k.Visibility()} {
		s.fields[i] = append(s.fields[i][:0], f...)
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
		if err := s.next(); err != nil {
			return false, err
		}
		if s.place > d {
			continue
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

// compare looks at the last key from a place on, up to which it is known to agree with the target. It says whether the
// key is to be passed over, and the place of the first difference.
func (s *skim) compare(t *target, from place) (before bool, at place) {
	f, n := from.field(), from.shared()
	for ; f < 4; f++ {
		own, want := s.fields[f], t.fields[f]
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
	case s.deleted != t.deleted:
		return s.deleted, placeFlag
	}
	return t.past, placeEnd
}

// flags reads what an entry begins with.
func (s *skim) flags() (flags, prefixes byte, err error) {
	if s.at >= len(s.raw) {
		return 0, 0, s.bad("block ends with %d entries to come", s.left)
	}
	s.start = s.at
	flags = s.raw[s.at]
	s.at++
	if flags&flagPrefixes != 0 {
		if s.at >= len(s.raw) {
			return 0, 0, s.bad("block ends inside a key's flags")
		}
		prefixes = s.raw[s.at]
		s.at++
	}
	if flags&unknownFlags1 != 0 || prefixes&unknownFlags2 != 0 {
		return 0, 0, s.bad("unknown key flags %02x %02x", flags, prefixes)
	}
	return flags, prefixes, nil
}

func (s *skim) firstKey() error {
	flags, _, err := s.flags()
	if err != nil {
		return err
	}
	if flags&relativeFlags != 0 {
		return s.bad("the block's first key has flags %02x, which refer to a key before it", flags)
	}
	for i := range s.fields {
		n, err := s.length()
		if err != nil {
			return err
		}
		s.set(i, 0, n)
	}
	v, err := s.vlong("timestamp")
	if err != nil {
		return err
	}
	s.ts, s.deleted, s.place, s.recorded = v, flags&flagDeleted != 0, 0, 0
	return s.value()
}

// next decodes an entry that is not the first of its block. Its fields are read by field, timestamp and flag by version.
func (s *skim) next() error {
	flags, prefixes, err := s.flags()
	if err != nil {
		return err
	}
	s.place, s.recorded = placeEnd, 0
	for differ := ^flags & allFieldsSame; differ != 0; differ &= differ - 1 {
		i := bits.TrailingZeros8(differ)
		if s.shortField(i, prefixes) {
			continue
		}
		if err := s.field(i, prefixes); err != nil {
			return err
		}
	}
	if err := s.version(flags, prefixes); err != nil {
		return err
	}
	return s.value()
}

// shortFieldBytes is the most that a field with lengths of one byte takes, and room to copy it by whole words.
const shortFieldBytes = 2 + 127 + fieldSlackBytes

// shortField does the work of field where it is simple, as it nearly always is: lengths of one byte, far from the block's
// end, and the first byte not shared decides. It says whether it was; if not, nothing has changed.
func (s *skim) shortField(i int, prefixes byte) bool {
	if len(s.raw)-s.at < shortFieldBytes {
		return false
	}
	raw := s.raw[s.at : s.at+shortFieldBytes]
	old, keep, used := s.fields[i&3], 0, 1
	n := int(raw[0])
	if prefixes>>i&1 != 0 {
		keep, n, used = n, int(raw[1]), 2
	}
	if keep|n >= 0x80 || keep > len(old) || cap(old) < keep+n+fieldSlackBytes {
		return false
	}
	if s.place == placeEnd {
		if n == 0 || keep < len(old) && old[keep] >= raw[used] {
			return false
		}
		s.place, s.recorded = placeOf(i, keep), keep
	}
	to, from := old[keep:keep+n+fieldSlackBytes], raw[used:used+n+fieldSlackBytes]
	if n <= fieldSlackBytes {
		binary.NativeEndian.PutUint64(to, binary.NativeEndian.Uint64(from))
		binary.NativeEndian.PutUint64(to[8:], binary.NativeEndian.Uint64(from[8:]))
	} else {
		copy(to[:n], from)
	}
	s.fields[i&3] = old[:keep+n]
	s.at += used + n
	return true
}

// field reads field i, which is not flagged the same.
func (s *skim) field(i int, prefixes byte) error {
	old, keep := s.fields[i], 0
	if prefixes&(1<<i) != 0 {
		n, err := s.vlong("length of a shared prefix")
		if err != nil {
			return err
		}
		if n < 0 || n > int64(len(old)) {
			return s.bad("shared prefix of %d bytes, of a field of %d", n, len(old))
		}
		keep = int(n)
	}
	n, err := s.length()
	if err != nil {
		return err
	}
	if s.place == placeEnd {
		if err := s.differ(i, keep, old, s.raw[s.at:s.at+n]); err != nil {
			return err
		}
	}
	s.set(i, keep, n)
	return nil
}

// fieldSlackBytes is room behind each field, so that a short one is copied by two moves of 8 bytes whatever its length.
const fieldSlackBytes = 16

// set makes field i its first keep bytes and the next n bytes of the block, and moves behind these.
func (s *skim) set(i, keep, n int) {
	old := s.fields[i]
	if cap(old) < keep+n+fieldSlackBytes {
		old = slices.Grow(old[:keep], n+fieldSlackBytes)
	}
	now := old[:keep+n]
	s.fields[i] = now
	copy(now[keep:], s.raw[s.at:s.at+n])
	s.at += n
}

// differ finds the place of the first difference in a field of which keep bytes are recorded as shared, if there is one.
// A writer may record less than is shared.
func (s *skim) differ(field, keep int, old, now []byte) error {
	if s.recorded == 0 {
		s.recorded = keep
	}
	n := 0
	old = old[keep:]
	for n < len(old) && n < len(now) && old[n] == now[n] {
		n++
	}
	switch {
	case n < len(now) && (n == len(old) || old[n] < now[n]):
		s.place = placeOf(field, keep+n)
	case n < len(old):
		return s.bad("key's field %d is smaller than that of the key before", field)
	}
	return nil
}

// version reads the timestamp and takes the delete flag.
func (s *skim) version(flags, prefixes byte) error {
	ts, deleted := s.ts, flags&flagDeleted != 0
	if flags&flagTSSame == 0 {
		v, err := s.vlong("timestamp")
		if err != nil {
			return err
		}
		if prefixes&prefixTS != 0 {
			v += ts // wraps, as Java's does
		}
		ts = v
	}
	if s.place == placeEnd {
		switch {
		case ts > s.ts || ts == s.ts && deleted && !s.deleted:
			return s.bad("key of the same cell is newer than the one before")
		case ts != s.ts:
			s.place = placeVersion
		case deleted != s.deleted:
			s.place = placeFlag
		}
	}
	s.ts, s.deleted = ts, deleted
	return nil
}

// value steps over the value.
func (s *skim) value() error {
	rest := len(s.raw) - s.at - 4
	if rest < 0 {
		return s.bad("block ends inside a value's length")
	}
	n := binary.BigEndian.Uint32(s.raw[s.at:])
	if uint64(n) > uint64(rest) {
		return s.bad("value of %d bytes with %d bytes left", int32(n), rest)
	}
	s.valueAt = s.at + 4
	s.at = s.valueAt + int(n)
	s.left--
	return nil
}

// length reads the length of a field and checks it against what is left of the block.
func (s *skim) length() (int, error) {
	if s.at < len(s.raw) {
		if n := int(s.raw[s.at]); n < 0x80 && n < len(s.raw)-s.at {
			s.at++
			return n, nil
		}
	}
	return s.longLength()
}

func (s *skim) longLength() (int, error) {
	v, err := s.vlong("length of a field")
	if err != nil {
		return 0, err
	}
	if v < 0 || v > int64(len(s.raw)-s.at) {
		return 0, s.bad("field of %d bytes with %d bytes left", v, len(s.raw)-s.at)
	}
	return int(v), nil
}

// vlong reads an integer; see wire.HVLong for its forms.
func (s *skim) vlong(what string) (int64, error) {
	if s.at < len(s.raw) && int8(s.raw[s.at]) >= -112 {
		s.at++
		return int64(int8(s.raw[s.at-1])), nil
	}
	return s.longVlong(what)
}

func (s *skim) longVlong(what string) (int64, error) {
	if s.at+wire.MaxHVLongBytes <= len(s.raw) {
		v, n := longHVLong(s.raw[s.at:])
		s.at += n
		return v, nil
	}
	v, n, err := wire.HVLong(s.raw[s.at:])
	if err != nil {
		return 0, s.bad("%s: %v", what, err)
	}
	s.at += n
	return v, nil
}

func (s *skim) bad(format string, args ...any) error { return badAt(s.at, format, args...) }

// appendKey appends the last key's fields, and says where they end.
func (s *skim) appendKey(dst []byte) (arena []byte, ends tablet.Ends) {
	dst = append(dst, s.fields[0]...)
	ends.Row = uint32(len(s.fields[0]))
	dst = append(dst, s.fields[1]...)
	ends.Family = ends.Row + uint32(len(s.fields[1]))
	dst = append(dst, s.fields[2]...)
	ends.Qualifier = ends.Family + uint32(len(s.fields[2]))
	return append(dst, s.fields[3]...), ends
}

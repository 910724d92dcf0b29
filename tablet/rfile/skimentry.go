package rfile

import (
	"encoding/binary"
	"math/bits"

	"millrace/internal/wire"
)

// begin reads what an entry begins with.
func (s *skim) begin() (ok bool) {
	s.start = s.at
	if s.at >= len(s.raw) {
		return false
	}
	s.flags = uint64(s.raw[s.at])
	s.at++
	if s.flags&flagPrefixes != 0 {
		if s.at >= len(s.raw) {
			return false
		}
		s.flags |= uint64(s.raw[s.at]) << 8
		s.at++
	}
	s.place, s.recorded = placeEnd, unknownYet
	return true
}

// firstKey reads the first entry of a block.
func (s *skim) firstKey() error {
	if !s.begin() || s.flags&(relativeFlags|unknownFlags1) != 0 {
		return errSkim
	}
	for i := range s.fields {
		n, ok := s.length()
		if !ok {
			return errSkim
		}
		s.fields[i].set(0, s.raw[s.at:s.at+n])
		s.at += n
	}
	ts, ok := s.vlong()
	if !ok || !s.value() {
		return errSkim
	}
	s.took(ts)
	s.place, s.recorded = 0, 0
	return nil
}

// finish reads an entry of any shape that is not the first of its block, from a field on, 4 for the version.
func (s *skim) finish(from int) (ok bool) {
	if s.flags&(unknownFlags1|unknownFlags2<<8) != 0 {
		return false
	}
	for differ := ^s.flags & allFieldsSame >> from << from; differ != 0; differ &= differ - 1 {
		if !s.field(bits.TrailingZeros64(differ)) {
			return false
		}
	}
	s.recorded = max(s.recorded, 0)
	return s.version()
}

// field reads field i, which is not flagged the same.
func (s *skim) field(i int) (ok bool) {
	f, keep := &s.fields[i], 0
	if s.flags>>8>>i&1 != 0 {
		n, ok := s.vlong()
		if !ok || n < 0 || n > int64(f.bytes) {
			return false
		}
		keep = int(n)
	}
	n, ok := s.length()
	if !ok {
		return false
	}
	if s.recorded == unknownYet {
		s.recorded = keep
	}
	now := s.raw[s.at : s.at+n]
	if s.place == placeEnd && !s.differ(i, keep, f.view()[keep:], now) {
		return false
	}
	f.set(keep, now)
	s.at += n
	return true
}

// differ finds the place of the first difference in a field of which keep bytes are recorded as shared, if there is one.
// A writer may record less than is shared.
func (s *skim) differ(field, keep int, old, now []byte) (ascends bool) {
	n := 0
	for n < len(old) && n < len(now) && old[n] == now[n] {
		n++
	}
	switch {
	case n < len(now) && (n == len(old) || old[n] < now[n]):
		s.place = placeOf(field, keep+n)
	case n < len(old):
		return false
	}
	return true
}

// version reads the timestamp, takes the delete flag and steps over the value.
func (s *skim) version() (ok bool) {
	ts, deleted := s.ts, s.flags&flagDeleted != 0
	if s.flags&flagTSSame == 0 {
		if ts, ok = s.vlong(); !ok {
			return false
		}
		if s.flags&(prefixTS<<8) != 0 {
			ts += s.ts // wraps, as Java's does
		}
	}
	if s.place == placeEnd {
		switch {
		case ts > s.ts || ts == s.ts && deleted && !s.deleted():
			return false
		case ts != s.ts:
			s.place = placeVersion
		case deleted != s.deleted():
			s.place = placeFlag
		}
	}
	if !s.value() {
		return false
	}
	s.took(ts)
	return true
}

// took makes the key that was read the last one.
func (s *skim) took(ts int64) {
	s.ts, s.last = ts, byte(s.flags)
	if s.deleted() {
		s.deletes++
	}
	s.left--
}

// value steps over the value.
func (s *skim) value() (ok bool) {
	rest := len(s.raw) - s.at - 4
	if rest < 0 {
		return false
	}
	n := binary.BigEndian.Uint32(s.raw[s.at:])
	if uint64(n) > uint64(rest) {
		return false
	}
	s.valueAt = s.at + 4
	s.at = s.valueAt + int(n)
	return true
}

// length reads the length of a field and checks it against what is left of the block.
func (s *skim) length() (n int, ok bool) {
	v, ok := s.vlong()
	return int(v), ok && v >= 0 && v <= int64(len(s.raw)-s.at)
}

// vlong reads an integer; see wire.HVLong for its forms.
func (s *skim) vlong() (v int64, ok bool) {
	if s.at < len(s.raw) && int8(s.raw[s.at]) >= -112 {
		s.at++
		return int64(int8(s.raw[s.at-1])), true
	}
	n := 0
	if s.at+wire.MaxHVLongBytes <= len(s.raw) {
		v, n = longHVLong(s.raw[s.at:])
	} else if long, bytes, err := wire.HVLong(s.raw[s.at:]); err == nil {
		v, n = long, bytes
	}
	s.at += n
	return v, n > 0
}

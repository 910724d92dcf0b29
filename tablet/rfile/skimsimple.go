package rfile

import (
	"encoding/binary"
	"math/bits"
)

// What simple returns beside the number of a field, 4 for the version.
const (
	stepDone = -1 // it stands behind an entry
	stepMet  = -2 // behind one that is to be looked at
)

// simple passes over entries of the usual shape: a field keeps fewer than maxKept bytes of the one before and has fewer
// than maxFresh of its own, the first byte after the shared ones shows that keys ascend, and the block goes on for a
// while. It stops like pass. At an entry of another shape it stops in the midst of it, before the field that it returns,
// with its flags in s.flags and all before that field done.
//
// All lengths are bytes here, and nothing that a processor has to wait for stands between two entries: where an entry ends
// depends on them, but those that are usually as before are taken for that until they are known.
func (s *skim) simple(below place, changed uint64, stop int) (step int) {
	raw, at, ts := s.raw, s.at, s.ts
	limit := len(raw) - windowLen
	where, flags, o := placeEnd, uint64(0), uint(0)
	step = stepDone
entries:
	for at <= limit && s.left > stop {
		e := (*window)(raw[at:])
		flags, o = binary.LittleEndian.Uint64(e[:8]), 2
		if flags&flagPrefixes == 0 {
			flags, o = flags&0xff, 1
		}
		where, step = placeEnd, 0
		if flags&(unknownFlags1|unknownFlags2<<8) != 0 {
			break
		}
		if flags&flagRowSame == 0 {
			f, keep, p := &s.fields[0], uint(0), o
			if flags&(prefixRow<<8) != 0 {
				keep, p = uint(byte(flags>>16)), 3
			}
			n := uint(e[p])
			if keep >= maxKept || n-1 >= maxFresh-1 || keep > f.bytes || keep < f.bytes && f.short[1+keep] >= e[p+1] {
				break
			}
			where = placeOf(0, int(keep))
			f.part(keep, e, p+1, n)
			o = p + 1 + n
		}
		o &= inWindow
		if flags&(flagRowSame|(prefixFam|prefixQual|prefixVis)<<8) == 0 {
			if flags&flagFamSame == 0 {
				n := uint(e[o])
				if step = 1; n >= maxFresh {
					break
				}
				o = s.fields[1].whole(e, o, n)
			}
			o &= inWindow
			if flags&flagQualSame == 0 {
				n := uint(e[o])
				if step = 2; n >= maxFresh {
					break
				}
				o = s.fields[2].whole(e, o, n)
			}
			o &= inWindow
			if flags&flagVisSame == 0 {
				n := uint(e[o])
				if step = 3; n >= maxFresh {
					break
				}
				o = s.fields[3].whole(e, o, n)
			}
			o &= inWindow
		} else {
			for differ := ^flags & (allFieldsSame &^ flagRowSame); differ != 0; differ &= differ - 1 {
				step = bits.TrailingZeros64(differ) & 3
				f, keep, p := &s.fields[step], uint(0), o
				if flags>>8>>step&1 != 0 {
					keep, p = uint(e[o]), o+1
				}
				n := uint(e[p&inWindow])
				p = (p + 1) & inWindow
				if keep >= maxKept || n >= maxFresh || keep > f.bytes {
					break entries
				}
				if where == placeEnd {
					if n == 0 || keep < f.bytes && f.short[1+keep] >= e[p] {
						break entries
					}
					where = placeOf(step, int(keep))
				}
				f.part(keep, e, p, n)
				o = (p + n) & inWindow
			}
		}
		o &= inWindow
		step = 4
		v, p := ts, o
		if flags&flagTSSame == 0 {
			v, p = int64(int8(e[o])), o+1
			if v < -112 {
				negative := (v + 120) >> 63
				if n := uint(-113-v)&7 + 1; n != s.tsBytes {
					s.tsBytes = n
				}
				v = int64(binary.BigEndian.Uint64(e[p:p+8])>>((64-8*s.tsBytes)&63)) ^ negative
				p += s.tsBytes
			}
			if flags&(prefixTS<<8) != 0 {
				v += ts // wraps, as Java's does
			}
		}
		p &= inWindow
		if where == placeEnd {
			if v >= ts {
				break
			}
			where = placeVersion
		}
		if n := uint(binary.BigEndian.Uint32(e[p : p+4])); n != s.valueBytes {
			s.valueBytes = n
		}
		next := at + int(p) + 4
		if s.valueBytes > uint(len(raw)-next) {
			break
		}
		if flags&flagDeleted != 0 {
			s.deletes++
		}
		s.start, s.valueAt, s.last = at, next, byte(flags)
		ts, at = v, next+int(s.valueBytes)
		s.left--
		step = stepDone
		if where < below || flags&changed != changed {
			step = stepMet
			break
		}
	}
	s.at, s.ts, s.place, s.flags = at, ts, where, flags
	s.recorded = where.recorded()
	if step >= 0 {
		s.at = at + int(o)
		s.start = at
	}
	return step
}

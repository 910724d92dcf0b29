package wal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"slices"

	"millrace/internal/wire"
)

// field is one number or stretch of bytes of a record.
type field struct {
	kind byte // 'b' a byte, 'u' unsigned varint, 'h' Hadoop's integer, 'x' bytes
	n    uint64
	b    []byte
	long bool // written longer than need be
}

func (f *field) append(dst []byte) []byte {
	switch f.kind {
	case 'b':
		return append(dst, byte(f.n))
	case 'u':
		dst = binary.AppendUvarint(dst, f.n)
		if f.long {
			dst[len(dst)-1] |= 128
			dst = append(dst, 0)
		}
		return dst
	case 'h':
		if f.long && int64(f.n) >= 0 && f.n < 1<<32 {
			dst = append(dst, 0x8b) // five bytes follow
			return append(dst, byte(f.n>>32), byte(f.n>>24), byte(f.n>>16), byte(f.n>>8), byte(f.n))
		}
		return wire.AppendHVLong(dst, int64(f.n))
	}
	return append(dst, f.b...)
}

// fieldsOf takes a good record apart.
func fieldsOf(record []byte) (all []field) {
	c := cutter{record}
	u := func() uint64 {
		v := c.uvarint()
		all = append(all, field{kind: 'u', n: v})
		return v
	}
	h := func() uint64 {
		v := c.length()
		all = append(all, field{kind: 'h', n: v})
		return v
	}
	x := func(n uint64) { all = append(all, field{kind: 'x', b: slices.Clone(c.take(n))}) }
	kind := c.byte()
	all = append(all, field{kind: 'b', n: uint64(kind)})
	if kind == recordBegin {
		for range u() {
			u()
			u()
			u()
			for range u() {
				u()
				u()
			}
		}
		for range u() {
			u()
			u()
		}
		c.done()
		return all
	}
	for range 5 {
		u()
	}
	for range u() {
		x(h())
		updates := h()
		h()
		for range updates {
			x(h())
			x(h())
			x(h())
			all = append(all, field{kind: 'b', n: uint64(c.byte())})
			if all[len(all)-1].n == 1 {
				v, n, _ := wire.HVLong(c.b)
				c.take(uint64(n))
				all = append(all, field{kind: 'h', n: uint64(v)})
			}
			all = append(all, field{kind: 'b', n: uint64(c.byte())})
			x(h())
		}
	}
	c.done()
	return all
}

// modelFrame is a frame to be written.
type modelFrame struct {
	fields []field // none in the seal
	after  int     // so many frames before it were synced
	// What is written instead of the right values, if not nil.
	length *uint32
	synced *uint64
	sum    *uint32
	raw    []byte
}

// modelSegment is a segment to be written.
type modelSegment struct {
	magic   string
	version uint32
	number  uint64
	headSum *uint32
	frames  []modelFrame
	cut     int // bytes to be cut off
	extra   []byte
}

func modelOf(b []byte, number uint64) *modelSegment {
	s := &modelSegment{magic: "mrecwal ", version: 1, number: number}
	all := places(b)
	for _, p := range all {
		f := modelFrame{}
		for _, q := range all {
			if q.end <= p.synced {
				f.after++
			}
		}
		if p.synced == 0 {
			f.after = -1
		}
		if len(p.payload) > 0 {
			f.fields = fieldsOf(p.payload)
		}
		s.frames = append(s.frames, f)
	}
	return s
}

// bytes writes the segment as a file of that number.
func (s *modelSegment) bytes(number uint64) []byte {
	le := binary.LittleEndian
	b := le.AppendUint64(le.AppendUint32([]byte(s.magic), s.version), s.number)
	sum := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	if s.headSum != nil {
		sum = *s.headSum
	}
	b = le.AppendUint32(b, sum)
	ends := []int{len(b)}
	for _, f := range s.frames {
		at := len(b)
		payload := f.raw
		for i := range f.fields {
			payload = f.fields[i].append(payload)
		}
		length, synced := uint32(len(payload)), uint64(0)
		if f.after >= 0 {
			synced = uint64(ends[min(f.after, len(ends)-1)])
		}
		if f.length != nil {
			length = *f.length
		}
		if f.synced != nil {
			synced = *f.synced
		}
		b = le.AppendUint32(b, 0)
		b = le.AppendUint32(b, length)
		b = append(le.AppendUint64(b, synced), payload...)
		sum := plainSum(b[at+4:], number, at)
		if f.sum != nil {
			sum = *f.sum
		}
		le.PutUint32(b[at:], sum)
		ends = append(ends, len(b))
	}
	b = append(b, s.extra...)
	return b[:max(len(b)-s.cut, 0)]
}

// mutator changes a log at random, knowing its layout.
type mutator struct {
	rng *rand.Rand
	log []string
}

func (m *mutator) note(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf(format, args...))
}

// special is a value that no count, length or number should be believed to have.
func (m *mutator) special(v uint64, size int) uint64 {
	all := []uint64{0, 1, math.MaxUint64, v - 1, v + 1, math.MaxInt32, 1 << 31, 1 << 32, math.MaxInt64, 1 << 63, uint64(size) + 1, v ^ 1<<m.rng.IntN(8), v + m.rng.Uint64N(9)}
	return all[m.rng.IntN(len(all))]
}

// mutate changes one to three things of a log's segments.
func (m *mutator) mutate(segments []*modelSegment) {
	for range 1 + m.rng.IntN(3) {
		s := segments[m.rng.IntN(len(segments))]
		switch m.rng.IntN(10) {
		case 0:
			m.header(s)
		case 1:
			m.structure(s, segments[m.rng.IntN(len(segments))])
		case 2:
			m.frame(s)
		case 3:
			s.cut = m.rng.IntN(200)
			s.extra = make([]byte, m.rng.IntN(100))
			m.note("segment %d, %d more, %d cut", s.number, len(s.extra), s.cut)
		default:
			m.field(s)
		}
	}
}

func (m *mutator) header(s *modelSegment) {
	switch m.rng.IntN(4) {
	case 0:
		s.magic = []string{"mrecmani", "MRECwal ", "mrecwalx", "\x00\x00\x00\x00wal "}[m.rng.IntN(4)]
	case 1:
		s.version = uint32(m.special(1, 0))
	case 2:
		s.number = m.special(s.number, 0)
	default:
		v := m.rng.Uint32()
		s.headSum = &v
	}
	m.note("header to %q, %d, %d", s.magic, s.version, s.number)
}

func (m *mutator) pick(s *modelSegment) (*modelFrame, int) {
	if len(s.frames) == 0 {
		return nil, 0
	}
	i := m.rng.IntN(len(s.frames))
	if m.rng.IntN(4) == 0 {
		i = 0
	}
	return &s.frames[i], i
}

func (m *mutator) frame(s *modelSegment) {
	f, i := m.pick(s)
	if f == nil {
		return
	}
	switch m.rng.IntN(4) {
	case 0:
		v := uint32(m.special(100, 4000))
		f.length = &v
	case 1:
		v := m.special(500, 4000)
		f.synced = &v
	case 2:
		v := m.rng.Uint32()
		f.sum = &v
	default:
		f.raw = make([]byte, m.rng.IntN(20))
		for i := range f.raw {
			f.raw[i] = byte(m.rng.Uint32N(4))
		}
		if m.rng.IntN(2) == 0 {
			f.fields = nil
		}
	}
	m.note("frame %d of segment %d", i, s.number)
}

func (m *mutator) structure(s, other *modelSegment) {
	f, i := m.pick(s)
	if f == nil {
		return
	}
	how := m.rng.IntN(4)
	switch how {
	case 0:
		s.frames = slices.Delete(s.frames, i, i+1)
	case 1:
		s.frames = slices.Insert(s.frames, m.rng.IntN(len(s.frames)+1), *f)
	case 2:
		j := m.rng.IntN(len(s.frames))
		s.frames[i], s.frames[j] = s.frames[j], s.frames[i]
	default:
		other.frames = slices.Insert(other.frames, m.rng.IntN(len(other.frames)+1), *f)
	}
	m.note("frame %d of segment %d, way %d", i, s.number, how)
}

func (m *mutator) field(s *modelSegment) {
	f, i := m.pick(s)
	if f == nil || len(f.fields) == 0 {
		return
	}
	f.fields = slices.Clone(f.fields)
	j := m.rng.IntN(len(f.fields))
	if m.rng.IntN(2) == 0 {
		j = m.rng.IntN(min(len(f.fields), 8))
	}
	x := &f.fields[j]
	switch {
	case m.rng.IntN(8) == 0:
		x.long = true
	case x.kind != 'x':
		x.n = m.special(x.n, 4000)
	case len(x.b) > 0 && m.rng.IntN(2) == 0:
		x.b = x.b[:m.rng.IntN(len(x.b))]
	default:
		x.b = append(slices.Clone(x.b), byte(m.rng.Uint32()))
	}
	m.note("frame %d of segment %d, field %d", i, s.number, j)
}

package rfile

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"

	"millrace/internal/wire"
	"millrace/tablet/rfile/bcfile"
)

func (f *modelField) value(at map[*modelField]int) int64 {
	if f.link != nil && !f.fixed {
		return f.link(at)
	}
	return f.n
}

func (f *modelField) append(dst []byte, at map[*modelField]int) []byte {
	n := f.value(at)
	switch {
	case f.gone:
		return dst
	case f.kind == fieldU8:
		return append(dst, byte(n))
	case f.kind == fieldI16:
		return binary.BigEndian.AppendUint16(dst, uint16(n))
	case f.kind == fieldI32:
		return binary.BigEndian.AppendUint32(dst, uint32(n))
	case f.kind == fieldI64:
		return binary.BigEndian.AppendUint64(dst, uint64(n))
	case f.kind == fieldHV:
		return wire.AppendHVLong(dst, n)
	case f.kind == fieldTV:
		return wire.AppendTVLong(dst, n)
	}
	return append(dst, f.b...)
}

// encode writes fields. The first round finds out where they lie; the second knows it. Fields that say where others lie
// are of fixed size.
func encode(fields []*modelField) []byte {
	at := map[*modelField]int{}
	var out []byte
	for range 2 {
		out = out[:0]
		for _, f := range fields {
			at[f] = len(out)
			out = f.append(out, at)
		}
	}
	return out
}

// write puts the file together.
func (m *model) write(t testing.TB) []byte {
	t.Helper()
	out := bytes.Clone(m.head.b)
	table := make([]byte, 0, 1024)
	for _, p := range m.parts {
		stored := p.store(t, m.codec)
		p.region = bcfile.Region{Offset: int64(len(out)), Stored: int64(len(stored)), Raw: int64(len(p.was.raw))}
		if p.raw >= 0 {
			p.region.Raw = p.raw
		}
		if len(stored) > 0 {
			table = appendSum(table, p.region.Offset, stored)
		}
		out = append(out, stored...)
	}
	switch m.sums {
	case sumsRepaired:
		n := 32 + len(table) + 20
		end := m.end(int64(len(out)), int64(n))
		return append(append(out, m.encodeSums(table, end)...), end...)
	case sumsStale:
		end := m.end(int64(len(out)), int64(len(m.old)))
		return append(append(out, m.old...), end...)
	}
	return append(out, m.end(int64(len(out)), 0)...)
}

// store encodes and compresses a part.
func (p *modelPart) store(t testing.TB, codec string) []byte {
	t.Helper()
	if p.codec != "" {
		codec = p.codec
	}
	raw := encode(p.fields)
	if p.wasBy != codec || !bytes.Equal(raw, p.was.raw) {
		c, err := bcfile.NewCompressor(codec, 0)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := c.Compress(nil, raw)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		p.was.raw, p.was.stored, p.wasBy = raw, stored, codec
	}
	if p.change != nil {
		return p.change(bytes.Clone(p.was.stored))
	}
	return p.was.stored
}

// end encodes what follows the blocks, of which sums, if they are not of no bytes, are the last.
func (m *model) end(blocks, sums int64) []byte {
	meta := slices.Clone(m.meta)
	if sums > 0 {
		var s []byte
		s = wire.AppendTString(s, "data:"+bcfile.SumsName)
		s = wire.AppendTString(s, bcfile.None)
		s = bcfile.AppendRegion(s, bcfile.Region{Offset: blocks, Stored: sums, Raw: sums})
		if count := meta[0]; count.kind == fieldTV && !count.fixed {
			more := *count
			more.n++
			meta[0] = &more
		}
		meta = append(meta, &modelField{name: "meta of sums", kind: fieldBytes, b: s})
	}
	out := encode(meta)
	tail := slices.Clone(m.tail)
	offsets := []int64{blocks + sums, blocks + sums + int64(len(out))}
	for i, f := range tail {
		if f.kind == fieldI64 && !f.fixed && len(offsets) > 0 {
			set := *f
			set.n, offsets = offsets[0], offsets[1:]
			tail[i] = &set
		}
	}
	return append(out, encode(tail)...)
}

var castagnoliTable = crc32.MakeTable(crc32.Castagnoli)

func appendSum(dst []byte, offset int64, stored []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(offset))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(stored)))
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(stored, castagnoliTable))
}

// encodeSums makes the block of checksums from its description in package bcfile.
func (m *model) encodeSums(table, end []byte) []byte {
	out := append([]byte("MRSUMS\x1a\n"), 0, 1, 0, 0)
	out = binary.BigEndian.AppendUint32(out, uint32(len(table)/16))
	out = append(append(out, m.old[16:32]...), table...)
	out = binary.BigEndian.AppendUint32(out, crc32.Update(crc32.Checksum(m.head.b, castagnoliTable), castagnoliTable, end))
	out = binary.BigEndian.AppendUint32(out, uint32(len(out)+16))
	out = binary.BigEndian.AppendUint32(out, crc32.Checksum(out, castagnoliTable))
	return append(out, "\n\x1asmusRM"...)
}

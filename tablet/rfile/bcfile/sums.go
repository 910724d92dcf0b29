package bcfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"millrace/tablet"
)

// Sums is a file's table of checksums, decoded in place: it holds the encoded bytes and nothing else. Safe for concurrent
// use.
type Sums struct {
	encoded []byte
	entries []byte // the part of encoded that lists the blocks
}

// Sum is one row of the table.
type Sum struct {
	Offset, Stored int64
	CRC            uint32 // CRC32C of the stored bytes
}

// ParseSums decodes a table that stands alone, as in a sidecar, and keeps b. Any damage is an error that wraps
// tablet.ErrCorrupt; file is its name in messages.
func ParseSums(file string, b []byte) (*Sums, error) {
	s, err := parseSums(b)
	if err != nil {
		return nil, sumsError(file, 0, err)
	}
	return s, nil
}

// errSumsVersion marks an undamaged table of a format that came after ours.
var errSumsVersion = errors.New("unknown format version")

// sumsError gives the errors of parseSums their kind.
func sumsError(file string, offset int64, err error) error {
	if errors.Is(err, errSumsVersion) {
		return fmt.Errorf("%s: %s: %w: %w", file, SumsName, err, tablet.ErrUnsupported)
	}
	return tablet.Corruptf(file, offset, "%s: %v", SumsName, err)
}

func parseSums(b []byte) (*Sums, error) {
	if len(b) < sumsHeaderBytes+sumsFooterBytes {
		return nil, fmt.Errorf("%d bytes are too few", len(b))
	}
	if string(b[:8]) != sumsMagic || string(b[len(b)-8:]) != sumsEndMagic {
		return nil, errors.New("wrong magic")
	}
	own := binary.BigEndian.Uint32(b[len(b)-sumsOwnBytes:])
	if got := crc32.Checksum(b[:len(b)-sumsOwnBytes], castagnoli); got != own {
		return nil, fmt.Errorf("CRC32C %08x, stored %08x", got, own)
	}
	// From here on the bytes are as they were written.
	if v := binary.BigEndian.Uint16(b[8:]); v != sumsVersion {
		return nil, fmt.Errorf("%w %d", errSumsVersion, v)
	}
	n := int64(binary.BigEndian.Uint32(b[12:]))
	length := int64(binary.BigEndian.Uint32(b[len(b)-sumsFooterBytes+4:]))
	if want := sumsBytes(n); length != int64(len(b)) || length != want {
		return nil, fmt.Errorf("%d bytes for %d blocks, stated length %d", len(b), n, length)
	}
	s := &Sums{encoded: b, entries: b[sumsHeaderBytes : len(b)-sumsFooterBytes]}
	return s, s.checkTiling()
}

// sumsBytes is the size of a table of n blocks.
func sumsBytes(n int64) int64 { return sumsHeaderBytes + sumsEntryBytes*n + sumsFooterBytes }

// checkTiling checks that the blocks ascend without gap or overlap from the first possible place.
func (s *Sums) checkTiling() error {
	next := int64(firstBlock)
	for i := range s.Len() {
		sum := s.At(i)
		if sum.Offset != next || sum.Stored == 0 {
			return fmt.Errorf("block %d of %d bytes at %d, expected at %d", i, sum.Stored, sum.Offset, next)
		}
		next += sum.Stored
	}
	return nil
}

// Len returns the number of blocks listed.
func (s *Sums) Len() int { return len(s.entries) / sumsEntryBytes }

// At returns row i, 0 ≤ i < Len.
func (s *Sums) At(i int) Sum {
	e := s.entries[i*sumsEntryBytes:]
	return Sum{
		Offset: int64(binary.BigEndian.Uint64(e)),
		Stored: int64(binary.BigEndian.Uint32(e[8:])),
		CRC:    binary.BigEndian.Uint32(e[12:]),
	}
}

// Find returns the checksum of the block that has this place and size; ok is false when none is listed. A block of no
// bytes is never listed and always found.
func (s *Sums) Find(offset, stored int64) (crc uint32, ok bool) {
	_, crc, ok = s.find(offset, stored, 0)
	return crc, ok
}

// find is Find that looks at row hint first and returns the row found, so that reading in order needs no search.
func (s *Sums) find(offset, stored int64, hint int) (row int, crc uint32, ok bool) {
	if stored == 0 {
		return hint, 0, true
	}
	if hint >= s.Len() || s.offset(hint) != offset {
		hint = s.search(offset)
	}
	if hint == s.Len() {
		return 0, 0, false
	}
	sum := s.At(hint)
	return hint, sum.CRC, sum.Offset == offset && sum.Stored == stored
}

// search returns the first row at offset or behind it.
func (s *Sums) search(offset int64) int {
	low, high := 0, s.Len()
	for low < high {
		mid := int(uint(low+high) / 2)
		if s.offset(mid) < offset {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

func (s *Sums) offset(row int) int64 {
	return int64(binary.BigEndian.Uint64(s.entries[row*sumsEntryBytes:]))
}

// FileID is the random name that the file was given when it was written.
func (s *Sums) FileID() (id [16]byte) {
	copy(id[:], s.encoded[16:])
	return id
}

// Bytes is the encoded table, to be read only.
func (s *Sums) Bytes() []byte { return s.encoded }

// end is the offset behind the last block listed.
func (s *Sums) end() int64 {
	if s.Len() == 0 {
		return firstBlock
	}
	last := s.At(s.Len() - 1)
	return last.Offset + last.Stored
}

// outside is the checksum of all bytes outside blocks.
func (s *Sums) outside() uint32 {
	return binary.BigEndian.Uint32(s.encoded[len(s.encoded)-sumsFooterBytes:])
}

// sumsBuilder collects the table while a file is written.
type sumsBuilder struct{ entries []byte }

func (b *sumsBuilder) add(s Sum) error {
	if s.Stored == 0 {
		return nil
	}
	if b.len() == maxSumsBlocks || s.Stored > math.MaxUint32 {
		return fmt.Errorf("checksums of more than %d blocks, or of a block of %d bytes: %w", b.len(), s.Stored, tablet.ErrUnsupported)
	}
	b.entries = binary.BigEndian.AppendUint64(b.entries, uint64(s.Offset))
	b.entries = binary.BigEndian.AppendUint32(b.entries, uint32(s.Stored))
	b.entries = binary.BigEndian.AppendUint32(b.entries, s.CRC)
	return nil
}

func (b *sumsBuilder) len() int { return len(b.entries) / sumsEntryBytes }

// bytes is the size that encode will give.
func (b *sumsBuilder) bytes() int64 { return sumsBytes(int64(b.len())) }

func (b *sumsBuilder) encode(id [16]byte, outside uint32) []byte {
	out := make([]byte, 0, b.bytes())
	out = append(out, sumsMagic...)
	out = binary.BigEndian.AppendUint16(out, sumsVersion)
	out = binary.BigEndian.AppendUint16(out, 0)
	out = binary.BigEndian.AppendUint32(out, uint32(b.len()))
	out = append(out, id[:]...)
	out = append(out, b.entries...)
	out = binary.BigEndian.AppendUint32(out, outside)
	out = binary.BigEndian.AppendUint32(out, uint32(b.bytes()))
	out = binary.BigEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
	return append(out, sumsEndMagic...)
}

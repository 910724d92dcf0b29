package bcfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"millrace/internal/wire"
)

// MetaBlock is a named block.
type MetaBlock struct {
	Name   string // without "data:"
	Codec  string
	Region Region
}

// minMetaBytes is the shortest entry of a meta index: "data:" with its length, an empty codec name, a region.
const minMetaBytes = 1 + len(metaPrefix) + 1 + 3

// parseMetaIndex decodes a meta index that must fill b. A later entry replaces an earlier one of the same name. Where the
// error is not nil, at is the offset in b of what is wrong.
func parseMetaIndex(b []byte, blocksEnd int64) (metas []MetaBlock, at int, err error) {
	count, at, err := wire.TVInt(b)
	if err != nil {
		return nil, 0, fmt.Errorf("meta index count: %w", err)
	}
	if count < 0 || count > (len(b)-at)/minMetaBytes {
		return nil, 0, fmt.Errorf("meta index of %d bytes states %d entries", len(b), count)
	}
	places := make(map[string]int, count)
	for range count {
		m, n, err := parseMetaEntry(b[at:])
		if err == nil && !m.Region.within(blocksEnd) {
			err = fmt.Errorf("block %q, %v, leaves the blocks' area, 16 to %d", m.Name, m.Region, blocksEnd)
		}
		if err != nil {
			return nil, at, fmt.Errorf("meta index: %w", err)
		}
		at += n
		if i, ok := places[m.Name]; ok {
			metas[i] = m
			continue
		}
		places[m.Name] = len(metas)
		metas = append(metas, m)
	}
	if at != len(b) {
		return nil, at, fmt.Errorf("meta index leaves %d bytes over", len(b)-at)
	}
	return metas, at, nil
}

func parseMetaEntry(b []byte) (m MetaBlock, n int, err error) {
	name, at, err := wire.TString(b)
	if err != nil {
		return m, 0, fmt.Errorf("name: %w", err)
	}
	var ok bool
	if m.Name, ok = strings.CutPrefix(name, metaPrefix); !ok {
		return m, 0, fmt.Errorf("name %q lacks the prefix %q", name, metaPrefix)
	}
	m.Codec, n, err = wire.TString(b[at:])
	if err != nil {
		return m, 0, fmt.Errorf("codec of %q: %w", name, err)
	}
	at += n
	m.Region, n, err = ParseRegion(b[at:])
	if err != nil {
		return m, 0, fmt.Errorf("region of %q: %w", name, err)
	}
	return m, at + n, nil
}

// appendMetaIndex appends the entries sorted by name, as Accumulo's writer does.
func appendMetaIndex(dst []byte, metas []MetaBlock) []byte {
	sorted := slices.SortedFunc(slices.Values(metas), func(a, b MetaBlock) int { return compareUTF16(a.Name, b.Name) })
	dst = wire.AppendTVInt(dst, len(sorted))
	for _, m := range sorted {
		dst = wire.AppendTString(dst, metaPrefix+m.Name)
		dst = wire.AppendTString(dst, m.Codec)
		dst = AppendRegion(dst, m.Region)
	}
	return dst
}

// compareUTF16 is the order of Java's strings, which differs from Go's above U+FFFF.
func compareUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

// parseIndexBlock decodes BCFile.index.
func parseIndexBlock(b []byte, blocksEnd int64) (codecName string, regions []Region, err error) {
	codecName, at, err := wire.TString(b)
	if err != nil {
		return "", nil, fmt.Errorf("default codec: %w", err)
	}
	count, n, err := wire.TVInt(b[at:])
	if err != nil {
		return "", nil, fmt.Errorf("block count: %w", err)
	}
	at += n
	if count < 0 || count > (len(b)-at)/3 {
		return "", nil, fmt.Errorf("%d bytes hold no %d regions", len(b)-at, count)
	}
	if count > 0 {
		regions = make([]Region, 0, count)
	}
	for range count {
		r, n, err := ParseRegion(b[at:])
		if err != nil {
			return "", nil, err
		}
		if !r.within(blocksEnd) {
			return "", nil, fmt.Errorf("block of %v leaves the blocks' area, 16 to %d", r, blocksEnd)
		}
		regions = append(regions, r)
		at += n
	}
	if at != len(b) {
		return "", nil, fmt.Errorf("%d bytes are left over", len(b)-at)
	}
	return codecName, regions, nil
}

func appendIndexBlock(dst []byte, codecName string) []byte {
	return wire.AppendTVInt(wire.AppendTString(dst, codecName), 0)
}

// footer is what follows the meta index.
type footer struct {
	version   Version
	metaIndex int64
	crypto    int64 // offset of the crypto section; 0 in a 1.0 file
}

// appendFooter appends crypto section and trailer for a meta index of indexBytes at metaIndex.
func appendFooter(dst []byte, v Version, metaIndex, indexBytes int64) []byte {
	if v == V3 {
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(plainCrypto)))
		dst = append(dst, plainCrypto...)
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(metaIndex))
	if v == V3 {
		dst = binary.BigEndian.AppendUint64(dst, uint64(metaIndex+indexBytes))
	}
	dst = binary.BigEndian.AppendUint16(dst, v.Major)
	dst = binary.BigEndian.AppendUint16(dst, v.Minor)
	return append(dst, magic...)
}

// errVersion marks a version that is not handled here.
var errVersion = errors.New("BCFile version")

// parseTrailer decodes the trailer from the last bytes of a file of size bytes, of which it needs trailer3Bytes, or all.
func parseTrailer(last []byte, size int64) (footer, error) {
	v := Version{binary.BigEndian.Uint16(last[len(last)-magicBytes-4:]), binary.BigEndian.Uint16(last[len(last)-magicBytes-2:])}
	f := footer{version: v}
	switch v {
	case V1:
		f.metaIndex = int64(binary.BigEndian.Uint64(last[len(last)-trailer1Bytes:]))
		if f.metaIndex < firstBlock || f.metaIndex > size-trailer1Bytes {
			return f, fmt.Errorf("meta index offset %d of a file of %d bytes", f.metaIndex, size)
		}
		return f, nil
	case V3:
		if len(last) < trailer3Bytes {
			return f, errors.New("file is too short for its version")
		}
		f.metaIndex = int64(binary.BigEndian.Uint64(last[len(last)-trailer3Bytes:]))
		f.crypto = int64(binary.BigEndian.Uint64(last[len(last)-trailer3Bytes+8:]))
		if f.metaIndex < firstBlock || f.crypto < f.metaIndex || f.crypto > size-trailer3Bytes-4 {
			return f, fmt.Errorf("meta index offset %d, crypto section offset %d of a file of %d bytes", f.metaIndex, f.crypto, size)
		}
		return f, nil
	}
	return f, fmt.Errorf("%w %d.%d", errVersion, v.Major, v.Minor)
}

// trailerBytes is the trailer's size in a version that parseTrailer accepted.
func (v Version) trailerBytes() int64 {
	if v == V3 {
		return trailer3Bytes
	}
	return trailer1Bytes
}

package rfile

import (
	"fmt"

	"millrace/internal/wire"
	"millrace/tablet"
)

// The block named acu_bloom:
//
//	JUTF functor class, Header, i32 nr, i32 records in the last row, i32 rows, rows × { Header, bits }
//
//	Header   version −2 and −1: i32 version, i32 hashes, i8 hash type, i32 vector bits
//	         older: i32 hashes (above 0), i32 vector bits; the hash is Jenkins'
//	bits     version −2: a serialised java.util.BitSet, its words big-endian, perhaps fewer than the vector has
//	         else: ⌈vector/8⌉ bytes, bit i in byte i/8 from the low end
const (
	bloomName = "acu_bloom"

	bloomVersion    = -2
	bloomVersionOld = -1
	bloomHashes     = 5

	// maxBloomHashes bounds the work of a look-up; Accumulo's filters have 5.
	maxBloomHashes = 64
)

const (
	bitSetHead = "\xac\xed\x00\x05sr\x00\x10java.util.BitSet\x6e\xfd\x88\x7e\x39\x34\xab\x21\x03\x00\x01[\x00\x04bitst\x00\x02[Jxp" +
		"ur\x00\x02[J\x78\x20\x04\xb5\x12\xb1\x75\x93\x02\x00\x00xp"
	bitSetTail = "x"
)

// Bloom is a file's filter: it may say that no key of a certain row, or column of a row, is in the file. It is immutable
// and safe for concurrent use. Its bits stay where they were read.
type Bloom struct {
	functor functor
	header  bloomHeader
	keys    int // of a row
	rows    []bloomBits
}

type bloomHeader struct {
	version int
	hashes  int
	hash    hashType
	vector  int // bits
}

type bloomBits struct {
	b         []byte
	bigEndian bool // words of eight bytes, the highest first
}

// Functor is the class that says which fields of a key the filter is about.
func (b *Bloom) Functor() string { return b.functor.class() }

// MayContain is false if no key of the range is in the file. It is true where the filter cannot tell, as for all ranges
// that are not within one row, or as many fields as the filter is about.
func (b *Bloom) MayContain(r *tablet.Range) bool {
	prefix, ok := b.functor.covers(r)
	return !ok || b.mayContain(prefix)
}

// mayContain looks for a prefix. The empty one is in no filter.
func (b *Bloom) mayContain(prefix []byte) bool {
	if len(prefix) == 0 {
		return true
	}
	var at [maxBloomHashes]int
	b.header.positions(prefix, at[:b.header.hashes])
	for i := range b.rows {
		if b.rows[i].all(at[:b.header.hashes]) {
			return true
		}
	}
	return false
}

// positions computes the bits of a key: each hash is the seed of the next.
func (h *bloomHeader) positions(key []byte, at []int) {
	sum := uint32(0)
	for i := range at {
		sum = h.hash.sum(key, sum)
		at[i] = int(int32(sum)) % h.vector
		if at[i] < 0 {
			at[i] = -at[i]
		}
	}
}

func (r *bloomBits) all(at []int) bool {
	for _, i := range at {
		if !r.has(i) {
			return false
		}
	}
	return true
}

func (r *bloomBits) has(i int) bool {
	at := i / 8
	if r.bigEndian {
		at ^= 7
	}
	return at < len(r.b) && r.b[at]&(1<<(i%8)) != 0
}

// parseBloom reads the block, which the filter goes on using. A filter about fields that are not known here is nil: it is
// of no use, and no damage.
func parseBloom(block []byte) (*Bloom, error) {
	f := &fields{b: block}
	class := f.string("key functor")
	b := &Bloom{functor: functorOf(class)}
	if f.err == nil && b.functor == 0 {
		return nil, nil
	}
	b.header = parseBloomHeader(f)
	b.keys = f.int32("keys of a row")
	f.int32("keys of the last row")
	const rowBytes = 8
	for i := range f.count("number of rows", rowBytes) {
		if h := parseBloomHeader(f); f.err == nil && h != b.header {
			f.fail(fmt.Sprintf("header %+v of row %d, where the filter's is %+v", h, i, b.header), wire.ErrMalformed)
		}
		if b.header.version == bloomVersion {
			b.rows = append(b.rows, parseBitSet(f, b.header.vector))
		} else {
			b.rows = append(b.rows, bloomBits{b: f.take("bits", (b.header.vector+7)/8)})
		}
		if f.err != nil {
			break
		}
	}
	if f.err == nil && f.at != len(block) {
		f.fail(fmt.Sprintf("%d bytes too many", len(block)-f.at), wire.ErrMalformed)
	}
	return b, f.err
}

func parseBloomHeader(f *fields) bloomHeader {
	h := bloomHeader{version: f.int32("filter's version")}
	switch {
	case h.version > 0:
		h.hashes, h.version = h.version, 0
	case h.version == bloomVersion || h.version == bloomVersionOld:
		h.hashes = f.int32("number of hashes")
		if b := f.take("hash type", 1); b != nil {
			h.hash = hashType(b[0])
		}
	case f.err == nil:
		f.fail(fmt.Sprintf("filter's version is %d", h.version), wire.ErrMalformed)
	}
	h.vector = f.int32("bits of a row")
	if f.err == nil && (h.hashes < 1 || h.hashes > maxBloomHashes || h.vector < 1 || h.hash > hashMurmur) {
		f.fail(fmt.Sprintf("filter of %d hashes, type %d, %d bits", h.hashes, h.hash, h.vector), wire.ErrMalformed)
	}
	return h
}

// parseBitSet reads the bits of a row as Java serialises them.
func parseBitSet(f *fields, vector int) bloomBits {
	if head := f.take("bit set", len(bitSetHead)); f.err == nil && string(head) != bitSetHead {
		f.fail("bit set's class description", wire.ErrMalformed)
	}
	words := f.count("number of words", 8)
	if f.err == nil && words > (vector+63)/64 {
		f.fail(fmt.Sprintf("%d words for %d bits", words, vector), wire.ErrMalformed)
	}
	bits := bloomBits{b: f.take("words", 8*words), bigEndian: true}
	if tail := f.take("bit set's end", len(bitSetTail)); f.err == nil && string(tail) != bitSetTail {
		f.fail("bit set's end", wire.ErrMalformed)
	}
	return bits
}

// Bloom is the file's Bloom filter, nil if it has none, or one about fields that are not known here. It is read when it
// is asked for first.
func (r *Reader) Bloom() (*Bloom, error) {
	r.bloom.Do(func() { r.bloom.filter, r.bloom.err = r.loadBloom() })
	return r.bloom.filter, r.bloom.err
}

func (r *Reader) loadBloom() (*Bloom, error) {
	meta, ok := r.bc.Meta(bloomName)
	if !ok {
		return nil, nil
	}
	block, err := r.bc.ReadMeta(meta)
	if err != nil {
		return nil, err
	}
	b, err := parseBloom(block)
	if err != nil {
		return nil, tablet.Corruptf(r.Name(), meta.Region.Offset, "%s: %v", bloomName, err)
	}
	return b, nil
}
